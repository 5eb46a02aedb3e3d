package architecture

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// foreignMethods are names of methods that packages outside of this repository call.
var foreignMethods = map[string]bool{"GoString": true}

// exportedName is a name that an internal package exports: one of its own, or a method of a type.
type exportedName struct {
	pkg, name string // a folder, and "Name" or "Type.Name"
}

// TestInternalPackagesExportWhatIsUsed: what an internal package exports is used in another package, in a test, or as the
// type of something that it exports. It works on names alone, to take no time: a method counts as used where one of
// its name is.
func TestInternalPackagesExportWhatIsUsed(t *testing.T) {
	t.Parallel()
	u := uses{names: map[exportedName]bool{}, selected: map[string]map[string]bool{}, declared: map[string]bool{}}
	var exported []exportedName
	for _, s := range sources(t) {
		u.add(s)
		if !s.test && strings.Contains(s.pkg+"/", "/internal/") && !ast.IsGenerated(s.file) && s.file.Name.Name != "main" {
			exported = append(exported, exportedNames(s)...)
		}
	}
	for _, e := range exported {
		if !u.has(e) {
			t.Errorf("%s exports %s, which no other package and no test uses", e.pkg, e.name)
		}
	}
}

// exportedNames are the names that a file declares for other packages, and the methods of its types.
func exportedNames(s source) (out []exportedName) {
	add := func(name *ast.Ident, of string) {
		if name.IsExported() {
			out = append(out, exportedName{s.pkg, strings.TrimPrefix(of+"."+name.Name, ".")})
		}
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if of := receiverOf(d); of == "" || token.IsExported(of) {
				add(d.Name, of)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					add(spec.Name, "")
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						add(name, "")
					}
				}
			}
		}
	}
	return out
}

// uses are the names that files use of other packages.
type uses struct {
	names    map[exportedName]bool      // of packages, and in tests also of their own
	selected map[string]map[string]bool // x.name for a value x, by the name: the packages where that stands, "" for a test
	declared map[string]bool            // methods of interfaces
}

func (u uses) has(e exportedName) bool {
	if u.names[e] {
		return true
	}
	_, method, ok := strings.Cut(e.name, ".")
	if !ok {
		return false
	}
	if u.declared[method] || foreignMethods[method] {
		return true
	}
	for pkg := range u.selected[method] {
		if pkg != e.pkg {
			return true
		}
	}
	return false
}

// addTypes adds the types that the package's own exported names have.
func (u uses) addTypes(s source) {
	var note func(n ast.Node)
	note = func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				u.names[exportedName{s.pkg, n.Name}] = true
			case *ast.StructType:
				for _, f := range n.Fields.List {
					if exportedField(f) {
						note(f.Type)
					}
				}
				return false
			case *ast.Field: // a parameter, or a method of an interface
				note(n.Type)
				return false
			}
			return true
		})
	}
	for _, d := range s.file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if of := receiverOf(d); d.Name.IsExported() && (of == "" || token.IsExported(of)) {
				note(d.Type)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						note(spec.Type)
					}
				case *ast.ValueSpec:
					if spec.Type != nil && slices.ContainsFunc(spec.Names, (*ast.Ident).IsExported) {
						note(spec.Type)
					}
				}
			}
		}
	}
}

func (u uses) add(s source) {
	u.addTypes(s)
	packages := map[string]string{} // folders by the names that the file has for them
	for _, i := range s.file.Imports {
		folder := own(strings.Trim(i.Path.Value, `"`))
		if folder == "" {
			continue
		}
		name := path.Base(folder)
		if i.Name != nil {
			name = i.Name.Name
		}
		packages[name] = folder
	}
	where := s.pkg
	if s.test {
		where = ""
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && packages[x.Name] != "" {
				u.names[exportedName{packages[x.Name], n.Sel.Name}] = true
			}
			if u.selected[n.Sel.Name] == nil {
				u.selected[n.Sel.Name] = map[string]bool{}
			}
			u.selected[n.Sel.Name][where] = true
		case *ast.InterfaceType:
			for _, m := range n.Methods.List {
				for _, name := range m.Names {
					u.declared[name.Name] = true
				}
			}
		case *ast.Ident:
			if s.test {
				u.names[exportedName{s.pkg, n.Name}] = true
			}
		}
		return true
	})
}
