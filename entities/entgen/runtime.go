package entgen

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"entgo.io/ent/entc/gen"
	"golang.org/x/tools/go/packages"
)

// readRuntime finds out where ent put the code that gives schemas their defaults
// and hooks. Where that is the package ent/runtime, an app has to import it: the
// generated file does so for the app, unless the schemas import ent themselves,
// which would be a circle; then it checks that the app did.
func (m *model) readRuntime() error {
	generated, err := os.ReadFile(filepath.Join(m.graph.Target, "runtime.go"))
	if err != nil {
		return fmt.Errorf("koan: %w", err)
	}
	m.runtime = bytes.Contains(generated, []byte("stitching logic is generated in"))
	if !m.runtime {
		return nil
	}
	loaded, err := packages.Load(&packages.Config{Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps, Dir: m.graph.Target}, m.graph.Schema)
	if err != nil {
		return fmt.Errorf("koan: the imports of the schemas cannot be read: %w", err)
	}
	packages.Visit(loaded, func(p *packages.Package) bool {
		m.circle = m.circle || p.PkgPath == m.graph.Package
		return true
	}, nil)
	return nil
}

// breakCircle takes the import of ent/runtime out of a file of an earlier generation where it
// has become a circle, since the schemas import ent by now. ent compiles the schemas before
// it generates anything, and that would end in "import cycle not allowed". The file that is
// made then has no such import either, so nothing has to be put back if ent stops before.
func breakCircle(c *gen.Config) error {
	for _, name := range []string{File, otherFile} {
		path := filepath.Join(c.Target, name)
		src, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(src, []byte(header)) {
			continue
		}
		without, ent := withoutRuntime(src)
		if ent != "" && schemasImport(c, ent, map[string][]byte{path: without}) {
			return os.WriteFile(path, without, 0o644)
		}
	}
	return nil
}

// withoutRuntime returns a generated file without its import of ent/runtime, and the path of the
// ent package; that is "" where the file has no such import.
func withoutRuntime(src []byte) (without []byte, ent string) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, File, src, parser.ImportsOnly)
	if err != nil {
		return nil, ""
	}
	i := slices.IndexFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Name != nil && i.Name.Name == "_" })
	if i < 0 {
		return nil, ""
	}
	imported, _ := strconv.Unquote(f.Imports[i].Path.Value)
	ent, ok := strings.CutSuffix(imported, "/runtime")
	if !ok {
		return nil, ""
	}
	lines := bytes.SplitAfter(src, []byte("\n"))
	at := files.Position(f.Imports[i].Pos()).Line - 1
	return bytes.Join(slices.Delete(lines, at, at+1), nil), ent
}

// schemasImport reports whether ent/runtime, which imports nothing of the app but the schemas,
// leads back to the ent package. What go says of code that it cannot read, ent says as well.
func schemasImport(c *gen.Config, ent string, overlay map[string][]byte) (found bool) {
	loaded, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedImports | packages.NeedDeps, Dir: c.Target, BuildFlags: c.BuildFlags, Overlay: overlay,
	}, ent+"/runtime")
	if err != nil {
		return false
	}
	packages.Visit(loaded, func(p *packages.Package) bool {
		found = found || p.PkgPath == ent
		return true
	}, nil)
	return found
}
