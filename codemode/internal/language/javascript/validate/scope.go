package validate

import (
	"maps"
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// checker checks one program. It walks the program twice: first to collect how names are used, then
// to report findings.
type checker struct {
	bindings    wire.Bindings
	byName      map[string]*wire.Entity
	entityNames []string
	root        *scope
	found       []finding
	tested      map[string]bool // subjects whose existence the script tests itself
	names       usage
	visited     int  // how many literals were visited
	compiled    bool // the text is esbuild's output
	collecting  bool // this is the first walk, which reports nothing
	handlers    int  // how many handlers of failures enclose the code
	ask         Ask
	askedCalls  int     // how many inputs of calls were checked
	given       []value // what the function that is walked next gets
	memberName  string  // the member that follows the current identifier, "" if there is none
}

// usage is how a script uses its names, wherever they are declared: two variables of the
// same name count as one.
type usage struct {
	assigned map[string]bool // names assigned after their declaration
	shrunk   map[string]bool // names of values whose members are deleted
	vars     map[string]int  // how often `var` declares them
	uses     map[string]int  // how often they are mentioned except in declarations and assignments
	globals  map[string]bool // members that are added to the global object
	members  map[string]bool // members that are assigned, whatever to
	// anyMember says that members are added whose names are not known.
	anyMember bool
	dynamic   bool // globals with computed names are defined
}

// keeps reports whether a name always has the value of its declaration.
func (u usage) keeps(name string, how token.Token) bool {
	switch how {
	case token.CONST:
		return true
	case token.LET:
		return !u.assigned[name]
	case token.VAR:
		return !u.assigned[name] && u.vars[name] == 1
	}
	return false
}

func newChecker(b wire.Bindings) *checker {
	c := &checker{
		bindings: b, byName: map[string]*wire.Entity{}, root: &scope{}, tested: map[string]bool{}, collecting: true,
		names: usage{assigned: map[string]bool{}, shrunk: map[string]bool{}, vars: map[string]int{}, uses: map[string]int{}, globals: map[string]bool{}, members: map[string]bool{}},
	}
	for i := range b.Entities {
		e := &b.Entities[i]
		c.byName[e.Name] = e
		c.entityNames = append(c.entityNames, e.Name)
	}
	return c
}

// prepareReport prepares the second walk, which reports the findings.
func (c *checker) prepareReport() {
	c.root, c.found, c.tested, c.visited, c.collecting = &scope{}, nil, map[string]bool{}, 0, false
}

// scope holds the names of a function or block. Only names that are never assigned have a known
// value; every other one hides the name of the outer scope.
type scope struct {
	outer  *scope
	names  map[string]value
	opaque bool // the body of `with`, where any name may mean anything
}

func (s *scope) inner() *scope { return &scope{outer: s} }

func (s *scope) declare(name string, v value) {
	if s.names == nil {
		s.names = map[string]value{}
	}
	s.names[name] = v
}

// lookup returns the value of a name; free reports that no scope around declares it.
func (s *scope) lookup(name string) (v value, free bool) {
	for ; s != nil; s = s.outer {
		if v, ok := s.names[name]; ok {
			return v, false
		}
		if s.opaque {
			return value{}, false
		}
	}
	return value{}, true
}

// visible returns the names that the scopes declare, sorted.
func (s *scope) visible() []string {
	names := map[string]bool{}
	for ; s != nil; s = s.outer {
		for name := range s.names {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// hide declares the names of a binding target without a known value.
func (s *scope) hide(target ast.Expression) {
	eachName(target, func(name string) { s.declare(name, value{}) })
}

// eachName visits the names of a binding target.
func eachName(target ast.Expression, visit func(name string)) {
	switch t := target.(type) {
	case *ast.Identifier:
		visit(t.Name.String())
	case *ast.ObjectPattern:
		for _, p := range t.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				visit(p.Name.Name.String())
			case *ast.PropertyKeyed:
				eachName(p.Value, visit)
			}
		}
		eachName(t.Rest, visit)
	case *ast.ArrayPattern:
		for _, e := range t.Elements {
			eachName(e, visit)
		}
		eachName(t.Rest, visit)
	case *ast.AssignExpression:
		eachName(t.Left, visit)
	case *ast.Binding:
		eachName(t.Target, visit)
	case *ast.SpreadElement:
		eachName(t.Expression, visit)
	}
}

// hoist declares what a list of statements declares in its own block.
func (s *scope) hoist(list []ast.Statement) {
	for _, st := range list {
		switch st := st.(type) {
		case *ast.LexicalDeclaration:
			for _, b := range st.List {
				s.hide(b.Target)
			}
		case *ast.FunctionDeclaration:
			if st.Function.Name != nil {
				s.declare(st.Function.Name.Name.String(), value{})
			}
		case *ast.ClassDeclaration:
			if st.Class.Name != nil {
				s.declare(st.Class.Name.Name.String(), value{})
			}
		case *ast.LabelledStatement:
			s.hoist([]ast.Statement{st.Statement})
		}
	}
}

// hoistVars declares the `var` names of a function.
func (s *scope) hoistVars(list []*ast.VariableDeclaration) {
	for _, d := range list {
		for _, b := range d.List {
			s.hide(b.Target)
		}
	}
}
