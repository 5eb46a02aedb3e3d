package add

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// generator generates ent's code from the schemas: a program of the module, or ent's
// command with the flags of a //go:generate line.
type generator struct {
	file      string      // the program, which may not be there yet
	runsIn    string      // the folder where it is run
	directive *directive  // nil where none runs it
	from      string      // the file of the directive
	command   *entCommand // nil where there is a program
	tagged    bool        // the program has a build tag, so that go passes over it
	target    string      // the folder of the generated code
	pkg       string      // its import path
}

// hasCode reports whether the code is there, and not left out of the repository.
func (g *generator) hasCode() bool {
	_, err := os.Stat(filepath.Join(g.target, "client.go"))
	return err == nil
}

// findGenerator finds the generator of the plan's schemas.
func (p *plan) findGenerator() (*generator, error) {
	var found []*generator
	for _, s := range p.mod.sources {
		dir := filepath.Dir(s.path)
		for i := range s.directives {
			d := &s.directives[i]
			if d.wrong != nil {
				return nil, d.wrong
			}
			if d.ent != nil && p.mod.resolve(dir, d.ent.path) == p.schemas {
				g := &generator{file: filepath.Join(dir, "entc.go"), runsIn: dir, directive: d, from: s.path, command: d.ent, tagged: true}
				p.place(g, d.ent.target, "")
				found = append(found, g)
			}
		}
		if s.program {
			g, err := p.program(s)
			if err != nil {
				return nil, err
			}
			if g != nil {
				found = append(found, g)
			}
		}
	}
	switch len(found) {
	case 0:
		return p.newGenerator()
	case 1:
		return found[0], nil
	}
	var places []string
	for _, g := range found {
		places = append(places, g.place(p))
	}
	return nil, fmt.Errorf("the schemas in %s are generated from more than once: %s; leave one of them", p.rel(p.schemas), strings.Join(places, ", "))
}

// place is the position of a generator in the module, for messages.
func (g *generator) place(p *plan) string {
	if g.command != nil && g.directive != nil {
		return fmt.Sprintf("%s:%d", p.rel(g.from), g.directive.line)
	}
	return p.rel(g.file)
}

// place sets where a generator writes its code.
func (p *plan) place(g *generator, target, pkg string) {
	g.target = filepath.Dir(p.schemas)
	if target != "" {
		g.target = p.mod.resolve(g.runsIn, target)
	}
	g.pkg = pkg
	if pkg == "" {
		g.pkg = p.mod.importPath(g.target)
	}
}

// newGenerator makes a generator for schemas that have none in the module.
func (p *plan) newGenerator() (*generator, error) {
	ent := filepath.Dir(p.schemas)
	generated, err := filepath.Glob(filepath.Join(ent, "client.go"))
	if err != nil {
		return nil, err
	}
	if len(generated) > 0 && !p.FlagsGiven {
		return nil, fmt.Errorf("nothing in this module says how the code in %s was generated: no //go:generate line runs ent's command on it, and no program calls entc.Generate\n"+
			"say with which flags of `ent generate` it was, after two dashes: koan add %s -- --feature intercept, or with none: koan add %s --", p.rel(ent), p.Dir, p.Dir)
	}
	c, err := readFlags(p.Flags)
	if err != nil {
		return nil, err
	}
	if c.path != "" && p.mod.resolve(ent, c.path) != p.schemas {
		return nil, fmt.Errorf("-- %s is not the folder of the schemas, %s; leave it out", c.path, p.rel(p.schemas))
	}
	c.before = []string{"go", "run", "-mod=mod"}
	c.path = "./" + filepath.Base(p.schemas)
	g := &generator{file: filepath.Join(ent, "entc.go"), runsIn: ent, from: filepath.Join(ent, "generate.go"), command: c, tagged: true}
	p.place(g, c.target, "")
	return g, nil
}

// program returns the generator of a program of the module, nil if it generates from other
// schemas.
func (p *plan) program(s source) (*generator, error) {
	f, err := parser.ParseFile(token.NewFileSet(), s.path, s.text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(s.path)
	g := &generator{file: s.path, runsIn: dir, tagged: ignored(f)}
	for _, o := range p.mod.sources {
		for i := range o.directives {
			if in := filepath.Dir(o.path); o.directives[i].runs(in, s.path) {
				g.directive, g.from, g.runsIn = &o.directives[i], o.path, in
			}
		}
	}
	call := generateCall(f)
	if len(call.Args) < 2 {
		return nil, nil
	}
	at, literal := text(call.Args[0])
	mine := false
	for _, in := range []string{g.runsIn, dir, p.mod.root} {
		if literal && p.mod.resolve(in, at) == p.schemas {
			g.runsIn, mine = in, true
			break
		}
	}
	if !literal { // it is said at run time
		mine = dir == p.schemas || dir == filepath.Dir(p.schemas)
	}
	if !mine {
		return nil, nil
	}
	target, pkg := targetAndPackage(call.Args[1])
	p.place(g, target, pkg)
	return g, nil
}

// targetAndPackage are Target and Package of a literal gen.Config.
func targetAndPackage(e ast.Expr) (target, pkg string) {
	if u, ok := e.(*ast.UnaryExpr); ok {
		e = u.X
	}
	c, ok := e.(*ast.CompositeLit)
	if !ok {
		return "", ""
	}
	for _, e := range c.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, _ := kv.Key.(*ast.Ident)
		value, literal := text(kv.Value)
		switch {
		case key == nil || !literal:
		case key.Name == "Target":
			target = value
		case key.Name == "Package":
			pkg = value
		}
	}
	return target, pkg
}

// text is the value of a string literal.
func text(e ast.Expr) (string, bool) {
	l, ok := e.(*ast.BasicLit)
	if !ok || l.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(l.Value)
	return s, err == nil
}

// ignored reports whether a file has a build tag that keeps it out of packages.
func ignored(f *ast.File) bool {
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() < f.Package && (strings.HasPrefix(c.Text, "//go:build ") || strings.HasPrefix(c.Text, "// +build ")) {
				return true
			}
		}
	}
	return false
}

// commandLine is the line that generates.
func (g *generator) commandLine() []string {
	return append(slices.Clone(g.command.before), filepath.Base(g.file))
}

// extend makes the generator run Koan's extension.
func (p *plan) extend() error {
	if p.gen.command != nil {
		return p.replaceCommand()
	}
	f, err := p.open(p.gen.file)
	if err != nil {
		return err
	}
	next, err := addExtension(p.rel(p.gen.file), f.now)
	if err != nil {
		return err
	}
	if next == nil {
		p.manual = append(p.manual, fmt.Sprintf("%s: add the option entc.Extensions(entgen.New()) to entc.Generate, and import %q", p.rel(p.gen.file), entgenImport))
		return nil
	}
	f.now = next
	return nil
}

// replaceCommand writes a program that does what ent's command did, and runs it
// instead.
func (p *plan) replaceCommand() error {
	g := p.gen
	program, err := p.open(g.file)
	if err != nil {
		return err
	}
	if program.was != nil {
		return fmt.Errorf("%s runs ent's command, and %s is another program; let it call entc.Generate(%q, ...), or move it", g.place(p), p.rel(g.file), g.command.path)
	}
	if program.now, err = newProgram(g, p.mod); err != nil {
		return err
	}
	lines, err := p.open(g.from)
	if err != nil {
		return err
	}
	line := generateMark + " " + join(g.commandLine())
	switch {
	case g.directive != nil:
		lines.now = slices.Concat(lines.was[:g.directive.at], []byte(line), lines.was[g.directive.at+g.directive.length:])
	case lines.was == nil:
		lines.now = []byte("package " + packageName(filepath.Base(g.runsIn)) + "\n\n" + line + "\n")
	default:
		lines.now = slices.Concat(lines.was, []byte("\n"+line+"\n"))
	}
	return nil
}

// userCommand is the command that generates, for people.
func (g *generator) userCommand(p *plan) string {
	if g.directive == nil && g.command == nil {
		rel, err := filepath.Rel(g.runsIn, g.file)
		if err != nil {
			rel = g.file
		}
		command := "go run -mod=mod ./" + filepath.ToSlash(rel)
		if g.runsIn != p.mod.root {
			command = "cd " + p.inModule(g.runsIn) + " && " + command
		}
		return command
	}
	return "go generate ./" + p.inModule(g.from)
}
