package add

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
)

// schemaPackage is the syntax of the package of schemas.
type schemaPackage struct {
	files []*schemaFile
}

type schemaFile struct {
	*file
	ast   *ast.File
	tf    *token.File
	edits []edit
}

// declared is a type of the package.
type declared struct {
	in      *schemaFile
	decl    *ast.GenDecl
	spec    *ast.TypeSpec
	methods map[string]method
}

type method struct {
	in   *schemaFile
	decl *ast.FuncDecl
}

// annotate exposes the schemas that were named.
func (p *plan) annotate() error {
	names, err := p.graph.choose(p.Expose)
	if err != nil || len(names) == 0 {
		return err
	}
	pkg, err := p.parse()
	if err != nil {
		return err
	}
	for _, name := range names {
		byHand, err := pkg.expose(name)
		if err != nil {
			return err
		}
		if byHand != "" {
			p.manual = append(p.manual, byHand)
			continue
		}
		p.graph.exposed = append(p.graph.exposed, name)
		p.graph.exposable = slices.DeleteFunc(p.graph.exposable, func(o string) bool { return o == name })
	}
	sorted(p.graph.exposed)
	for _, f := range pkg.files {
		if f.now, err = apply(f.was, f.edits); err != nil {
			return fmt.Errorf("%s: %w", p.rel(f.path), err)
		}
	}
	return nil
}

func (p *plan) parse() (*schemaPackage, error) {
	paths, err := filepath.Glob(filepath.Join(p.schemas, "*.go"))
	if err != nil {
		return nil, err
	}
	pkg := &schemaPackage{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := p.open(path)
		if err != nil {
			return nil, err
		}
		if err := pkg.add(f); err != nil {
			return nil, err
		}
	}
	return pkg, nil
}

// add parses one more file of the package.
func (pkg *schemaPackage) add(f *file) error {
	fset := token.NewFileSet()
	parsed, err := parser.ParseFile(fset, f.path, f.was, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	pkg.files = append(pkg.files, &schemaFile{file: f, ast: parsed, tf: fset.File(parsed.Pos())})
	return nil
}

// find returns a struct of the package with its methods, nil if there is none of that
// name.
func (pkg *schemaPackage) find(name string) *declared {
	var out *declared
	for _, f := range pkg.files {
		for _, d := range f.ast.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && t.Name.Name == name {
					out = &declared{in: f, decl: g, spec: t, methods: map[string]method{}}
				}
			}
		}
	}
	if out == nil {
		return nil
	}
	for _, f := range pkg.files {
		for _, d := range f.ast.Decls {
			if m, ok := d.(*ast.FuncDecl); ok && receiver(m) == name {
				out.methods[m.Name.Name] = method{f, m}
			}
		}
	}
	return out
}

// receiver is the name of the type that a method belongs to, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) != 1 {
		return ""
	}
	t := d.Recv.List[0].Type
	if s, ok := t.(*ast.StarExpr); ok {
		t = s.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// free reports whether no file of the package declares a name that a file could
// import something under.
func (pkg *schemaPackage) free(in *schemaFile) func(string) bool {
	return func(name string) bool {
		for _, f := range pkg.files {
			if f == in && declares(f.ast, name) || declares(&ast.File{Decls: f.ast.Decls}, name) {
				return false
			}
		}
		return true
	}
}

// expose plans the annotation of a schema. If its source cannot be edited safely, it
// returns what to do by hand.
func (pkg *schemaPackage) expose(name string) (byHand string, err error) {
	t := pkg.find(name)
	if t == nil {
		return "", fmt.Errorf("the schema %s is not declared in any file of its package", name)
	}
	if m, ok := t.methods["Annotations"]; ok {
		return pkg.extend(name, m), nil
	}
	pkg.declare(name, t)
	return "", nil
}

// use makes a file import a package once, and returns its name there.
func (pkg *schemaPackage) use(f *schemaFile, path string) string {
	name, edits := imported(f.tf, f.was, f.ast, path, entImport, pkg.free(f))
	for _, e := range edits {
		if !slices.Contains(f.edits, e) {
			f.edits = append(f.edits, e)
		}
	}
	return name
}

// declare adds a method Annotations to a schema that has none of its own.
func (pkg *schemaPackage) declare(name string, t *declared) {
	schema, expose := pkg.use(t.in, schemaImport), pkg.use(t.in, exposeImport)
	value := fmt.Sprintf("[]%s.Annotation{%s.Entity{}}", schema, expose)
	if base := pkg.inherited(t, 0); base != "" {
		value = fmt.Sprintf("append(%s{}.Annotations(), %s.Entity{})", base, expose)
	}
	text := fmt.Sprintf("\n// Annotations of the %s.\nfunc (%s) Annotations() []%s.Annotation {\n\treturn %s\n}\n", name, name, schema, value)
	t.in.edits = append(t.in.edits, linesBelow(t.in.was, t.in.tf.Offset(t.decl.End()), text))
}

// maxDepth is how deep types embed each other, in code that compiles.
const maxDepth = 20

// inherited is the type whose method Annotations a schema has by embedding it, as the
// schema's file writes it; "" where that is ent's own, which returns nothing.
func (pkg *schemaPackage) inherited(t *declared, depth int) string {
	s, ok := t.spec.Type.(*ast.StructType)
	if !ok || depth > maxDepth {
		return ""
	}
	for _, f := range s.Fields.List {
		if len(f.Names) > 0 {
			continue
		}
		switch e := f.Type.(type) {
		case *ast.Ident:
			base := pkg.find(e.Name)
			if base == nil {
				continue
			}
			if _, ok := base.methods["Annotations"]; ok {
				return e.Name
			}
			if pkg.inherited(base, depth+1) != "" {
				return e.Name
			}
		case *ast.SelectorExpr:
			if x, ok := e.X.(*ast.Ident); ok && x.Name != importedAs(t.in.ast, entImport) {
				return x.Name + "." + e.Sel.Name
			}
		}
	}
	return ""
}

// extend adds the annotation to what a method Annotations returns.
func (pkg *schemaPackage) extend(name string, m method) (byHand string) {
	f, d := m.in, m.decl
	byHand = fmt.Sprintf("%s:%d: let the annotations of %s include expose.Entity{}, and import %q",
		filepath.Base(f.path), f.tf.Line(d.Pos()), name, exposeImport)
	if d.Body == nil || len(d.Body.List) != 1 || d.Type.Results == nil {
		return byHand
	}
	r, ok := d.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(r.Results) != 1 {
		return byHand
	}
	value := func() string { return pkg.use(f, exposeImport) + ".Entity{}" }
	switch e := r.Results[0].(type) {
	case *ast.CompositeLit:
		f.edits = append(f.edits, appended(f.tf, f.was, e.Elts, e.Lbrace, e.Rbrace, value()))
	case *ast.CallExpr:
		if id, ok := e.Fun.(*ast.Ident); !ok || id.Name != "append" || e.Ellipsis.IsValid() {
			return byHand
		}
		f.edits = append(f.edits, appended(f.tf, f.was, e.Args, e.Lparen, e.Rparen, value()))
	case *ast.Ident:
		if e.Name != "nil" {
			return byHand
		}
		result := d.Type.Results.List[0].Type
		typ := string(f.was[f.tf.Offset(result.Pos()):f.tf.Offset(result.End())])
		f.edits = append(f.edits, edit{at: f.tf.Offset(e.Pos()), length: len("nil"), text: typ + "{" + value() + "}"})
	default:
		return byHand
	}
	return ""
}
