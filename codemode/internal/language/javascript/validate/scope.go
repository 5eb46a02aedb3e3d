package validate

import (
	"maps"
	"slices"

	"github.com/dop251/goja/ast"
)

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
