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
	"github.com/koan-go/koan/plugins/python"
	"github.com/koan-go/koan/plugins/typescript"
)

//go:embed all:template
var templates embed.FS

// language is one that plugins are written in.
type language struct {
	folder string // of its templates
	kit    *vendored
	next   string // what to do with a new plugin: a template
}

// vendored is a kit of which a plugin gets a copy, since a confined one sees its own folder.
type vendored struct {
	files fs.FS
	from  string // the folder in files, "." for all
	to    string // the folder in the plugin's
}

// languages by the value of --lang.
var languages = map[string]language{
	"go": {folder: "template/go", next: `  go mod tidy && go test ./{{.Folder}}
  go build -o bin/plugins/{{.Name}} ./{{.Folder}}     # or: make build
  koan plugin check bin/plugins/{{.Name}}
  koan plugin run bin/plugins/{{.Name}} greet --input '{"name": "Ada"}'
`},
	"python": {folder: "template/python", kit: &vendored{python.Kit, "koan_plugin", "koan_plugin"}, next: `  (cd {{.Folder}} && python3 -m unittest)     # needs grpcio and protobuf: apt-get install python3-grpcio python3-protobuf
  koan plugin check {{.Folder}}
  koan plugin run {{.Folder}} greet --input '{"name": "Ada"}'
` + offer},
	"typescript": {folder: "template/typescript", kit: &vendored{typescript.Kit, ".", "koan-plugin"}, next: `  (cd {{.Folder}} && npm install && npm test)
  koan plugin check {{.Folder}}
  koan plugin run {{.Folder}} greet --input '{"name": "Ada"}'
` + offer},
}

// offer says how an app gets a plugin that needs no compiler's output elsewhere.
const offer = `
An app takes it from the folder of plugins.dir: link or copy it there, as in
  mkdir -p bin/plugins && ln -s "$PWD/{{.Folder}}" bin/plugins/{{.Name}}
`

// newCommand is `plugin new`.
func newCommand() *catalog.Command {
	known := strings.Join(slices.Sorted(maps.Keys(languages)), ", ")
	return &catalog.Command{
		Name: "new", Args: []string{"NAME"}, Short: "Write a small complete plugin",
		Long:    "Writes the source of a plugin with one function, a setting and a test into plugins/NAME, or below another folder (--in).",
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
		return fault.Newf(fault.Conflict, "%s is not empty", folder).WithRetry(fault.Fix).WithHint("Choose another name, or another --in.")
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	files, err := render(lang, name)
	if err != nil {
		return err
	}
	next, err := fill(lang.next, map[string]string{"Name": name, "Folder": filepath.ToSlash(folder)})
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
		if lang.kit == nil || !strings.HasPrefix(f.path, lang.kit.to+"/") {
			in.Out.Printf("  %s\n", to)
		}
	}
	if lang.kit != nil {
		in.Out.Printf("  %s\n", filepath.Join(folder, lang.kit.to)+string(filepath.Separator))
	}
	in.Out.Printf("\n%s is ready. Next:\n%s", name, next)
	return nil
}

// fill executes a template.
func fill(text string, values map[string]string) ([]byte, error) {
	t, err := template.New("").Option("missingkey=error").Parse(text)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, values)
	return out.Bytes(), err
}

// source is one file of a new plugin.
type source struct {
	path string
	text []byte
	mode fs.FileMode
}

// render executes the templates of a language. In their names "NAME" becomes the plugin's name, "dot-" a dot, and
// ".tmpl" is removed; a file that begins with "#!" is executable. The kit is copied as it is.
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
		text, err := fill(string(raw), values)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		to := strings.TrimSuffix(strings.TrimPrefix(file, lang.folder+"/"), ".tmpl")
		to = path.Clean(strings.NewReplacer("dot-", ".", "NAME", name).Replace(to))
		mode := fs.FileMode(0o644)
		if bytes.HasPrefix(text, []byte("#!")) {
			mode = 0o755
		}
		out = append(out, source{to, text, mode})
		return nil
	})
	if err != nil || lang.kit == nil {
		return out, err
	}
	copied, err := lang.kit.render()
	return append(out, copied...), err
}

// render returns the files of a kit.
func (v *vendored) render() (out []source, err error) {
	err = fs.WalkDir(v.files, v.from, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := fs.ReadFile(v.files, file)
		if err != nil {
			return err
		}
		out = append(out, source{path.Join(v.to, strings.TrimPrefix(file, v.from+"/")), raw, 0o644})
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
