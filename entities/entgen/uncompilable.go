package entgen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"entgo.io/ent/entc/gen"
)

// checkGenerated reports names in schemas for which ent has generated code that declares something
// twice: a field `and` makes a predicate And, which every entity has already. Go would name the
// generated lines, and not the field.
func checkGenerated(g *gen.Graph) error {
	all, err := declaredTwice(g.Target)
	if err != nil {
		return err
	}
	var problems []string
	for _, n := range g.Nodes {
		twice, err := declaredTwice(filepath.Join(g.Target, n.PackageDir()))
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(twice)) {
			problems = append(problems, uncompilable(n, name, n.PackageDir()+"/"+twice[name]))
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if member, ok := strings.CutPrefix(name, n.Name+"."); ok {
				problems = append(problems, uncompilable(n, member, all[name]))
			}
		}
	}
	return problemList(problems)
}

// uncompilable is the problem of a name that is declared twice.
func uncompilable(n *gen.Type, name, file string) string {
	for _, of := range []func(field string) bool{
		func(field string) bool { return name == field },
		func(field string) bool { return name == "By"+field },
		func(field string) bool { return strings.HasPrefix(name, field) || strings.HasPrefix(name, "By"+field) },
	} {
		for _, f := range n.Fields {
			if of(f.StructField()) {
				return fmt.Sprintf("%s.%s: ent cannot generate code for this name, as %s would declare %s twice: rename the field; its column can keep its name with StorageKey(%q)", n.Name, f.Name, file, name, f.StorageKey())
			}
		}
		for _, e := range n.Edges {
			if of(e.StructField()) || of("Has"+e.StructField()) {
				return fmt.Sprintf("%s.%s: ent cannot generate code for this name, as %s would declare %s twice: rename the edge", n.Name, e.Name, file, name)
			}
		}
	}
	return fmt.Sprintf("%s: ent cannot generate code for it, as %s would declare %s twice: rename the field or edge that the name comes from", n.Name, file, name)
}

// declaredTwice returns what the files of a Go package declare more than once, and the file of the
// second declaration: names, and members of types as Type.Member.
func declaredTwice(dir string) (map[string]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	known, twice := map[string]bool{}, map[string]string{}
	for _, path := range paths {
		name := filepath.Base(path)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("koan: %w", err)
		}
		if f.Name.Name == "main" { // entc.go
			continue
		}
		for _, declared := range append(declaredBy(f), membersIn(f)...) {
			if known[declared] && declared != "_" && declared != "init" {
				twice[declared] = name
			}
			known[declared] = true
		}
	}
	return twice, nil
}

// membersIn are the methods, and the fields of structs, that a file declares.
func membersIn(f *ast.File) (out []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				continue
			}
			of := d.Recv.List[0].Type
			if pointer, ok := of.(*ast.StarExpr); ok {
				of = pointer.X
			}
			if named, ok := of.(*ast.Ident); ok {
				out = append(out, named.Name+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				t, ok := s.(*ast.TypeSpec)
				if !ok {
					continue
				}
				of, ok := t.Type.(*ast.StructType)
				if !ok {
					continue
				}
				for _, field := range of.Fields.List {
					for _, name := range field.Names {
						out = append(out, t.Name.Name+"."+name.Name)
					}
				}
			}
		}
	}
	return out
}
