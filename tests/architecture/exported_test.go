package architecture

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// between are uses in what a public package exports to the internal packages of its own wing alone:
// programs that are workers only import codemode/languages.
var between = []string{
	"codemode/worker: Run uses language.Language", "codemode/worker: Run uses language.Port", "codemode/worker: Run uses wire.Job", "codemode/worker: Run uses wire.Result",
	"codemode/worker: Main uses language.Language", "codemode/languages: All uses language.Language",
}

// TestPublicPackagesExportNoInternalTypes: what a public package exports is declared where its
// readers can read about it and name it, not an alias of a type in an internal package, nor a
// function, method, field or variable of such a type.
func TestPublicPackagesExportNoInternalTypes(t *testing.T) {
	t.Parallel()
	var found []string
	for _, s := range sources(t) {
		if _, ok := public[s.pkg]; !ok || s.test {
			continue
		}
		for _, use := range internalUses(s.file) {
			if !slices.Contains(between, s.pkg+": "+use) {
				found = append(found, s.path+": "+use)
			}
		}
	}
	require.Empty(t, found, "declare the type in the package, and convert it")
}

// internalUses names what a file exports of the types of internal packages: "HTTP uses
// mcpserver.HTTP".
func internalUses(file *ast.File) (out []string) {
	internal := internalImports(file)
	note := func(name string, parts ...ast.Node) {
		for _, part := range parts {
			ast.Inspect(part, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.StructType:
					for _, f := range n.Fields.List {
						if exportedField(f) {
							out = append(out, usesOf(name, f.Type, internal)...)
						}
					}
					return false
				case *ast.SelectorExpr:
					out = append(out, usesOf(name, n, internal)...)
					return false
				}
				return true
			})
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if receiver := receiverOf(d); d.Name.IsExported() && (d.Recv == nil || token.IsExported(receiver)) {
				note(strings.TrimPrefix(receiver+"."+d.Name.Name, "."), d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						note(spec.Name.Name, spec.Type)
					}
				case *ast.ValueSpec:
					if spec.Type != nil && slices.ContainsFunc(spec.Names, (*ast.Ident).IsExported) {
						note(spec.Names[0].Name, spec.Type)
					}
				}
			}
		}
	}
	return out
}

// internalImports are the names in a file of the internal packages that it imports.
func internalImports(file *ast.File) map[string]bool {
	out := map[string]bool{}
	for _, i := range file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		if !strings.Contains(own(p)+"/", "/internal/") {
			continue
		}
		name := path.Base(p)
		if i.Name != nil {
			name = i.Name.Name
		}
		out[name] = true
	}
	return out
}

func usesOf(name string, part ast.Node, internal map[string]bool) (out []string) {
	ast.Inspect(part, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && internal[x.Name] {
				out = append(out, name+" uses "+x.Name+"."+s.Sel.Name)
			}
		}
		return true
	})
	return out
}

// exportedField reports whether a field is seen from outside; an embedded one by its type's name.
func exportedField(f *ast.Field) bool {
	if len(f.Names) > 0 {
		return slices.ContainsFunc(f.Names, (*ast.Ident).IsExported)
	}
	return token.IsExported(typeName(f.Type))
}

// receiverOf is the name of the type that a method is of, "" for a function.
func receiverOf(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	return typeName(d.Recv.List[0].Type)
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return typeName(e.X)
	case *ast.SelectorExpr:
		return e.Sel.Name
	case *ast.IndexExpr:
		return typeName(e.X)
	case *ast.IndexListExpr:
		return typeName(e.X)
	}
	return ""
}
