package validate

import (
	"github.com/dop251/goja/ast"

	"github.com/koan-go/koan/codemode/wire"
)

// checker walks one program.
type checker struct {
	bindings    wire.Bindings
	byName      map[string]*wire.Entity
	entityNames []string
	root        *scope
	found       []finding
	tested      map[string]bool // subjects whose existence the script asks for itself
}

func newChecker(b wire.Bindings) *checker {
	c := &checker{bindings: b, byName: map[string]*wire.Entity{}, root: &scope{}, tested: map[string]bool{}}
	for i := range b.Entities {
		e := &b.Entities[i]
		c.byName[e.Name] = e
		c.entityNames = append(c.entityNames, e.Name)
	}
	return c
}

// scope is what names mean in a function or block. Only constants keep a known
// value; every other declared name hides what is outside it.
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

// lookup gives what a name means; free tells that the script declares it
// nowhere around.
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

// hide declares the names of a binding target without a known value.
func (s *scope) hide(target ast.Expression) {
	switch t := target.(type) {
	case *ast.Identifier:
		s.declare(t.Name.String(), value{})
	case *ast.ObjectPattern:
		for _, p := range t.Properties {
			switch p := p.(type) {
			case *ast.PropertyShort:
				s.declare(p.Name.Name.String(), value{})
			case *ast.PropertyKeyed:
				s.hide(p.Value)
			}
		}
		s.hide(t.Rest)
	case *ast.ArrayPattern:
		for _, e := range t.Elements {
			s.hide(e)
		}
		s.hide(t.Rest)
	case *ast.AssignExpression:
		s.hide(t.Left)
	case *ast.Binding:
		s.hide(t.Target)
	case *ast.SpreadElement:
		s.hide(t.Expression)
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
