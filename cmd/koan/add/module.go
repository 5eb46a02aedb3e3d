package add

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	gomodule "golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// goVersion is the oldest Go that Koan is built with, as its go.mod says.
const goVersion = "1.26.0"

// entVersion is the oldest ent that Koan is built with, as its go.mod says. What an older one generates
// does not compile with it.
const entVersion = "v0.14.6"

// module is a Go module as it lies on the disk.
type module struct {
	root     string // absolute
	path     string
	file     *modfile.File
	vendored bool
	sources  []source // that have to do with ent
	serving  []string // files that use Koan's framework
}

// source is a Go file that generates ent's code, or says how.
type source struct {
	path       string
	text       []byte
	directives []directive
	program    bool // it calls package entc
}

// readModule finds the module of a folder, and its files that are about ent.
func readModule(dir string) (*module, error) {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder; name the one of ent's code or schemas: koan add ./ent", dir)
	}
	root := dir
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(root)
		if parent == root {
			return nil, fmt.Errorf("%s is not in a Go module: there is no go.mod in it or above it", dir)
		}
		root = parent
	}
	path := filepath.Join(root, "go.mod")
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := modfile.Parse(path, raw, nil)
	if err != nil {
		return nil, err
	}
	if f.Module == nil {
		return nil, fmt.Errorf("%s does not name a module", path)
	}
	m := &module{root: root, path: f.Module.Mod.Path, file: f}
	_, err = os.Stat(filepath.Join(root, "vendor", "modules.txt"))
	m.vendored = err == nil
	return m, m.walk()
}

// walk reads the Go files of the module.
func (m *module) walk() error {
	return filepath.WalkDir(m.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return m.skip(path, d.Name())
		}
		if !strings.HasSuffix(path, ".go") || !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Contains(text, []byte(`"`+koanModule+`/framework"`)) && !strings.HasSuffix(path, "_test.go") {
			m.serving = append(m.serving, path)
		}
		s := source{path: path, text: text, program: bytes.Contains(text, []byte(`"`+entcImport+`"`)) && calls(path, text)}
		if bytes.Contains(text, []byte("//go:generate")) {
			s.directives = readDirectives(path, text)
		}
		if s.program || len(s.directives) > 0 {
			m.sources = append(m.sources, s)
		}
		return nil
	})
}

// skip skips folders that have no packages of the module.
func (m *module) skip(path, name string) error {
	if path == m.root {
		return nil
	}
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || slices.Contains([]string{"vendor", "testdata", "node_modules"}, name) {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

// calls reports whether a file calls entc.Generate.
func calls(path string, text []byte) bool {
	f, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	return err == nil && generateCall(f) != nil
}

// importPath is the path by which a folder of the module is imported.
func (m *module) importPath(dir string) string {
	rel, err := filepath.Rel(m.root, dir)
	if err != nil || rel == "." {
		return m.path
	}
	return m.path + "/" + filepath.ToSlash(rel)
}

// resolve returns the folder that a path in a program or on a command line means, for a
// program that runs in a folder.
func (m *module) resolve(in, path string) string {
	if rest, ok := strings.CutPrefix(path, m.path); ok && (rest == "" || rest[0] == '/') {
		return filepath.Join(m.root, filepath.FromSlash(rest))
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(in, filepath.FromSlash(path))
}

// schemaFolder returns the folder of the schemas: the folder itself, or `schema` in it.
func schemaFolder(m *module, dir, shown string) (string, error) {
	for _, at := range []string{dir, filepath.Join(dir, "schema")} {
		found, err := hasSchemas(at)
		if err != nil {
			return "", err
		}
		if found {
			return at, nil
		}
	}
	message := fmt.Sprintf("there are no ent schemas in %s or %s", shown, filepath.Join(shown, "schema"))
	var others []string
	for _, s := range m.sources {
		for _, d := range s.directives {
			if d.ent != nil {
				others = append(others, d.ent.path)
			}
		}
	}
	if len(others) > 0 {
		message += "; this module generates from " + strings.Join(others, ", ")
	}
	return "", errors.New(message)
}

func hasSchemas(dir string) (bool, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return false, err
	}
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		if name := importedAs(f, entImport); name != "" && embeds(f, name, "Schema", "View") {
			return true, nil
		}
	}
	return false, nil
}

// require puts Koan into go.mod.
func (p *plan) require() error {
	f, err := p.open(filepath.Join(p.mod.root, "go.mod"))
	if err != nil || p.mod.path == koanModule {
		return err
	}
	mod := p.mod.file
	required := slices.IndexFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == koanModule })
	replaced := slices.IndexFunc(mod.Replace, func(r *modfile.Replace) bool { return r.Old.Path == koanModule })
	if required < 0 {
		version := p.Version
		if p.Source != "" {
			version = "v0.0.0"
		}
		if version == "" {
			return errors.New("this koan was built from a checkout, so there is no released version to require; say where the checkout is with --koan-src PATH")
		}
		mod.SetRequireSeparateIndirect(append(slices.Clone(mod.Require), &modfile.Require{Mod: gomodule.Version{Path: koanModule, Version: version}}))
	}
	if source := p.replacement(); source != "" {
		if replaced < 0 || mod.Replace[replaced].New.Path != source {
			if err := mod.AddReplace(koanModule, "", source, ""); err != nil {
				return err
			}
		}
		p.notes = append(p.notes, fmt.Sprintf(CheckoutNote, source))
	}
	if mod.Go == nil || semver.Compare("v"+mod.Go.Version, "v"+goVersion) < 0 {
		if err := mod.AddGoStmt(goVersion); err != nil {
			return err
		}
		mod.DropToolchainStmt()
	}
	if i := slices.IndexFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == entImport }); i >= 0 && semver.Compare(mod.Require[i].Mod.Version, entVersion) < 0 {
		was := mod.Require[i].Mod.Version
		if err := mod.AddRequire(entImport, entVersion); err != nil {
			return err
		}
		p.notes = append(p.notes, fmt.Sprintf("go.mod requires ent %s in place of %s: Koan needs that one or a later one.", entVersion, was))
	}
	if slices.ContainsFunc(mod.Replace, func(r *modfile.Replace) bool { return r.Old.Path == entImport }) {
		p.notes = append(p.notes, fmt.Sprintf("go.mod replaces ent by another copy, which must be %s or a later one.", entVersion))
	}
	mod.Cleanup()
	f.now, err = mod.Format()
	return err
}

// CheckoutNote is what users of a checkout are told, where %s is its path in go.mod.
const CheckoutNote = "go.mod uses the checkout of Koan at %s. A build in a container needs both folders, placed as they are\nhere, or a copy of all dependencies in the module: go mod vendor"

// ReplacePath is the path by which the go.mod of a folder names another one, both of them absolute. It is
// relative, so that both can be moved or copied into a container together. Where a symbolic link is
// between them, or they are on different volumes of Windows, no relative path is right from everywhere.
func ReplacePath(root, source string) string {
	rel, err := filepath.Rel(root, source)
	if err != nil {
		return source
	}
	if resolved, err := filepath.Rel(resolveLinks(root), resolveLinks(source)); err != nil || resolved != rel {
		return source
	}
	if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, "../") && rel != ".." {
		rel = "./" + rel // without it, the path would be that of a module
	}
	return rel
}

// resolveLinks returns a path without symbolic links. Its end need not exist yet.
func resolveLinks(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolveLinks(parent), filepath.Base(path))
}

// replacement is the path by which go.mod names the checkout, "" for a released version.
func (p *plan) replacement() string {
	if p.Source == "" {
		return ""
	}
	return ReplacePath(p.mod.root, p.Source)
}

// keepInModule makes `go mod tidy` keep the dependencies of the generating program, whose
// imports it does not see because of a build tag.
func (p *plan) keepInModule() error {
	if !p.gen.tagged {
		return nil
	}
	dir := filepath.Dir(p.gen.file)
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	name := ""
	for _, path := range paths {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		if f.Name.Name == "main" || strings.HasSuffix(path, "_test.go") {
			continue
		}
		if importedAs(f, entgenImport) != "" {
			return nil
		}
		name = f.Name.Name
	}
	if name == "" {
		name = packageName(filepath.Base(dir))
	}
	path := filepath.Join(dir, "tools.go")
	if slices.Contains(paths, path) {
		path = filepath.Join(dir, "koan_tools.go")
	}
	f, err := p.open(path)
	if err != nil {
		return err
	}
	f.now = []byte("//go:build tools\n\npackage " + name + "\n\nimport _ " + strconv.Quote(entgenImport) + " // keeps what " + filepath.Base(p.gen.file) + " needs in go.mod\n")
	return nil
}

// packageName is a folder's name as that of a package.
func packageName(dir string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(dir) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' && b.Len() > 0 {
			b.WriteRune(r)
		}
	}
	if b.Len() == 0 {
		return "ent"
	}
	return b.String()
}
