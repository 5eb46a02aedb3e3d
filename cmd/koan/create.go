package main

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/koan-go/koan/cmd/koan/add"
)

//go:embed all:template
var templates embed.FS

// options are the options of `koan new`.
type options struct {
	dir    string
	module string
	source string
}

// names are what the templates may use.
type names struct {
	Name    string // of the app: binary, data folder, server
	Module  string
	Version string // of Koan
	Source  string // the checkout as go.mod names it, "" for a released version
}

var (
	notInName = regexp.MustCompile(`[^a-z0-9-]+`)
	plainWord = regexp.MustCompile(`^[\pL\pN%+,./:=@_-]+$`)
)

// create writes a new app. It changes nothing if the folder is not empty.
func create(o options, out io.Writer) error {
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	n, err := named(dir, o)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty; choose a new folder", o.dir)
	}
	files, err := render(n)
	if err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.text, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(out, "  %s\n", filepath.Join(o.dir, filepath.FromSlash(f.path)))
	}
	fmt.Fprintf(out, "\n%s is ready. Next:\n  cd %s\n  make test     # generates code from ent/schema, then runs the test of a script\n  make serve    # MCP over stdio, for your client\n", n.Name, shellQuoted(o.dir))
	if n.Source != "" {
		fmt.Fprintf(out, "\n"+add.CheckoutNote+"\n", n.Source)
	}
	return nil
}

// shellQuoted returns a word as a shell reads it.
func shellQuoted(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// appName returns the name of an app in a folder, "" if the folder's name cannot be one:
// letters and digits of other alphabets would be lost.
func appName(dir string) string {
	base := strings.ToLower(filepath.Base(dir))
	lost := func(r rune) bool {
		return r > unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
	}
	if strings.ContainsFunc(base, lost) {
		return ""
	}
	return strings.Trim(notInName.ReplaceAllString(base, "-"), "-")
}

// checkDir rejects a folder whose name cannot name an app.
func checkDir(given string) error {
	const rule = "the app is named after its folder, whose name may have the letters a to z, digits and hyphens"
	if strings.TrimSpace(given) == "" {
		return errors.New("the folder's name is empty; " + rule)
	}
	dir, err := filepath.Abs(given)
	if err == nil && appName(dir) == "" {
		err = fmt.Errorf("%q cannot name an app; %s", filepath.Base(dir), rule)
	}
	return err
}

// ownOfGo are module paths by which the go command means something else: packages of its
// library, programs, and its patterns.
var ownOfGo = strings.Fields(`all archive bufio builtin bytes cmd cmp compress container context crypto database debug embed encoding errors expvar flag fmt go
	hash html image index internal io iter log main maps math mime net os path plugin reflect regexp runtime slices sort std strconv strings structs sync
	syscall testing text time tool toolchain unicode unique unsafe vendor weak work`)

func named(dir string, o options) (names, error) {
	n := names{Name: appName(dir), Module: o.module, Version: released()}
	if n.Module == "" {
		n.Module = n.Name
		if slices.Contains(ownOfGo, n.Module) {
			n.Module = "example.com/" + n.Name
		}
	}
	if why := unfitModule(n.Module); why != "" {
		return n, fmt.Errorf("%q is not a module path%s; name another one with --module, such as example.com/%s", n.Module, why, n.Name)
	}
	if o.source != "" {
		source, err := checkout(o.source)
		if err != nil {
			return n, err
		}
		n.Source, n.Version = modfile.AutoQuote(add.ReplacePath(dir, source)), "v0.0.0"
	}
	if n.Version == "" {
		return n, errors.New("this koan was built from a checkout, so there is no released version to require; say where the checkout is with --koan-src PATH")
	}
	return n, nil
}

// koanModule is Koan's own module.
const koanModule = "github.com/koan-go/koan"

// unfitModule says why an app's module cannot have a path, as what follows a sentence about
// it; "" where it can.
func unfitModule(path string) string {
	if err := module.CheckImportPath(path); err != nil {
		var invalid *module.InvalidPathError
		if errors.As(err, &invalid) {
			err = invalid.Err
		}
		return " (" + err.Error() + ")"
	}
	first, _, _ := strings.Cut(path, "/")
	switch {
	case slices.Contains(ownOfGo, first):
		return ": paths that begin with " + first + " are Go's own"
	case path == koanModule, strings.HasPrefix(path, koanModule+"/"):
		return " of an app: it is Koan's own"
	}
	return ""
}

// checkout is the absolute path of a checkout of Koan.
func checkout(dir string) (string, error) {
	source, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	mod, err := os.ReadFile(filepath.Join(source, "go.mod"))
	if err != nil || !strings.Contains(string(mod), "module "+koanModule+"\n") {
		return "", fmt.Errorf("%s is not a checkout of %s", dir, koanModule)
	}
	return source, nil
}

type file struct {
	path string
	text []byte
}

// render executes the templates. In their names "dot-" becomes a dot, and ".tmpl" is
// removed.
func render(n names) ([]file, error) {
	var out []file
	err := fs.WalkDir(templates, "template", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := templates.ReadFile(path)
		if err != nil {
			return err
		}
		t, err := template.New(path).Option("missingkey=error").Parse(string(raw))
		if err != nil {
			return err
		}
		var b strings.Builder
		if err := t.Execute(&b, n); err != nil {
			return err
		}
		rel := strings.TrimSuffix(strings.TrimPrefix(path, "template/"), ".tmpl")
		out = append(out, file{strings.ReplaceAll(rel, "dot-", "."), []byte(b.String())})
		return nil
	})
	return out, err
}
