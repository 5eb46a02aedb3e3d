package manage

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

//go:embed all:template
var templates embed.FS

// language is one that plugins are written in.
type language struct {
	folder string // of its templates
	// next says what to do with a new plugin that lies in a folder.
	next func(name, folder string) string
}

// languages by the value of --lang.
var languages = map[string]language{
	"go": {folder: "template/go", next: func(name, folder string) string {
		return fmt.Sprintf("  go mod tidy && go build -o bin/plugins/%[1]s ./%[2]s     # or: make build\n  koan plugin check bin/plugins/%[1]s\n  koan plugin run bin/plugins/%[1]s greet --input '{\"name\": \"Ada\"}'\n", name, filepath.ToSlash(folder))
	}},
}

// newCommand is `plugin new`.
func newCommand() *catalog.Command {
	known := strings.Join(slices.Sorted(maps.Keys(languages)), ", ")
	return &catalog.Command{
		Name: "new", Args: []string{"NAME"}, Short: "Write a small complete plugin",
		Long:    "Writes the source of a plugin with one function and a setting into plugins/NAME, or below another folder (--in).",
		Example: "plugin new weather --lang go",
		Flags: []catalog.CommandFlag{
			{Name: "lang", Default: "go", Help: "its language: " + known},
			{Name: "in", Default: "plugins", Help: "the folder that its folder is made in"},
		},
		Run: begin,
	}
}

// begin is `plugin new`.
func begin(_ context.Context, _ catalog.Host, in *catalog.Invocation) error {
	name := in.Args[0]
	if err := checkName(name, name); err != nil {
		return fault.Newf(fault.InvalidPayload, "%q cannot name a plugin", name).WithHint("Its name is its domain: lower-case kebab, such as weather or food-lookup.")
	}
	lang, ok := languages[in.Strings["lang"]]
	if !ok {
		known := slices.Sorted(maps.Keys(languages))
		return fault.Newf(fault.InvalidPayload, "there is no language %q%s", in.Strings["lang"], fault.DidYouMean(in.Strings["lang"], known)).WithHint("Those that there are: %s.", strings.Join(known, ", "))
	}
	folder := filepath.Join(in.Strings["in"], name)
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return fault.Newf(fault.Conflict, "%s is not empty", folder).WithHint("Choose another name, or another --in.")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	files, err := render(lang, name)
	if err != nil {
		return err
	}
	for _, f := range files {
		to := filepath.Join(folder, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, f.text, f.mode); err != nil {
			return err
		}
		in.Out.Printf("  %s\n", to)
	}
	in.Out.Printf("\n%s is ready. Next:\n%s", name, lang.next(name, folder))
	return nil
}

// source is one file of a new plugin.
type source struct {
	path string
	text []byte
	mode fs.FileMode
}

// render executes the templates of a language. In their names "NAME" becomes the plugin's name, "dot-" a dot, and
// ".tmpl" is removed; a file that begins with "#!" is executable.
func render(lang language, name string) (out []source, err error) {
	values := map[string]string{"Name": name, "Member": member(name)}
	err = fs.WalkDir(templates, lang.folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := templates.ReadFile(file)
		if err != nil {
			return err
		}
		t, err := template.New(file).Option("missingkey=error").Parse(string(raw))
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := t.Execute(&text, values); err != nil {
			return err
		}
		to := strings.TrimSuffix(strings.TrimPrefix(file, lang.folder+"/"), ".tmpl")
		to = path.Clean(strings.NewReplacer("dot-", ".", "NAME", name).Replace(to))
		mode := fs.FileMode(0o644)
		if bytes.HasPrefix(text.Bytes(), []byte("#!")) {
			mode = 0o755
		}
		out = append(out, source{to, text.Bytes(), mode})
		return nil
	})
	return out, err
}

// member is the plugin's member of SDK in scripts.
func member(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "-") {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}
