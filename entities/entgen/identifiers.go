package entgen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"entgo.io/ent/entc/gen"
)

// API are the exported names of the generated file.
type API struct{ Entities, Option, OnClient, OnCreateSet, OnUpgradeSet, ClientOf string }

// apiOf returns the names of the API, with a prefix where the ent package has one of
// them already: ent makes `type Entities []*Entity` of a schema Entity.
func apiOf(declared func(string) bool) API {
	plain := API{"Entities", "EntitiesOption", "OnClient", "OnCreateSet", "OnUpgradeSet", "ClientOf"}
	for _, name := range plain.names() {
		if declared(name) {
			return API{"KoanEntities", "KoanEntitiesOption", "KoanOnClient", "KoanOnCreateSet", "KoanOnUpgradeSet", "KoanClientOf"}
		}
	}
	return plain
}

func (a API) names() []string {
	return []string{a.Entities, a.Option, a.OnClient, a.OnCreateSet, a.OnUpgradeSet, a.ClientOf}
}

// APIOf predicts the names of the API from the schemas of a graph.
func APIOf(g *gen.Graph) API {
	plural := gen.Funcs["plural"].(func(string) string)
	return apiOf(func(name string) bool {
		return slices.ContainsFunc(g.Nodes, func(n *gen.Type) bool {
			return n.Name == name || plural(n.Name) == name || n.ClientName() == name
		})
	})
}

// declarations are what the files of a Go package declare, but for one: names, and
// the file of each.
func declarations(dir, but string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, p := range paths {
		name := filepath.Base(p)
		if name == but || strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := os.ReadFile(p)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("koan: %w", err)
		}
		if f.Name.Name == "main" { // entc.go
			continue
		}
		for _, declared := range declaredBy(f) {
			out[declared] = name
		}
	}
	return out, nil
}

// declaredBy are the names that a file declares in its package.
func declaredBy(f *ast.File) (out []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				out = append(out, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					out = append(out, s.Name.Name)
				case *ast.ValueSpec:
					for _, name := range s.Names {
						out = append(out, name.Name)
					}
				}
			}
		}
	}
	return out
}

// checkNames reports names of the generated file that the rest of the package has
// already. Go would report them too, and not say what to do.
func checkNames(file string, src []byte, declared map[string]string) error {
	f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("koan: %w", err)
	}
	names := declaredBy(f)
	for _, i := range f.Imports {
		names = append(names, importName(i))
	}
	var problems []string
	for _, name := range names {
		if by := declared[name]; by != "" && name != "_" && name != "init" {
			problems = append(problems, fmt.Sprintf("%s: it declares %s, which the generated %s also declares; rename it", by, name, file))
		}
	}
	return problemList(problems)
}

func importName(i *ast.ImportSpec) string {
	if i.Name != nil {
		return i.Name.Name
	}
	p, _ := strconv.Unquote(i.Path.Value)
	return path.Base(p)
}

// imported are the names of the packages that the generated file imports always.
var imported = []string{"context", "json", "errors", "fmt", "strings", "stdent", "dialect", "sql", "migrate", "predicate", "descriptor", "shim", "catalog"}

// imports are the packages of types of ids, by path, and the names under which the
// generated file imports them.
type imports map[string]string

// typeName is a type as the generated file calls it, with its package among the
// imports.
func (im imports) typeName(t *gen.Field) string {
	text, from := t.Type.String(), t.Type.PkgPath
	if from == "" {
		return text
	}
	own := t.Type.PkgName
	if own == "" {
		own = path.Base(from)
	}
	name, ok := im[from]
	if !ok {
		for name = own; slices.Contains(imported, name) || slices.Contains(slices.Collect(maps.Values(im)), name); {
			name = "koan" + name
		}
		im[from] = name
	}
	if name == own {
		return text
	}
	return strings.Replace(text, own+".", name+".", 1)
}
