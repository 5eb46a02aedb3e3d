package validate

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// function walks a function's body, or the program's.
func (c *checker) function(outer *scope, params *ast.ParameterList, vars []*ast.VariableDeclaration, body []ast.Statement) {
	s := outer.inner()
	if params != nil {
		for _, p := range params.List {
			s.hide(p.Target)
		}
		s.hide(params.Rest)
		s.declare("arguments", value{})
		for _, p := range params.List {
			c.target(s, p.Target, value{}, false)
			c.expr(s, p.Initializer)
		}
	}
	s.hoistVars(vars)
	c.block(s, body)
}

func (c *checker) block(s *scope, list []ast.Statement) {
	s.hoist(list)
	for _, st := range list {
		c.statement(s, st)
	}
}

func (c *checker) statement(s *scope, st ast.Statement) {
	switch st := st.(type) {
	case *ast.BlockStatement:
		if st != nil {
			c.block(s.inner(), st.List)
		}
	case *ast.ExpressionStatement:
		c.expr(s, st.Expression)
	case *ast.VariableStatement:
		c.declarations(s, st.List, false)
	case *ast.LexicalDeclaration:
		c.declarations(s, st.List, st.Token == token.CONST)
	case *ast.FunctionDeclaration:
		c.expr(s, st.Function)
	case *ast.ClassDeclaration:
		c.class(s, st.Class)
	case *ast.IfStatement:
		c.test(s, st.Test)
		c.statement(s, st.Consequent)
		c.statement(s, st.Alternate)
	case *ast.ReturnStatement:
		c.expr(s, st.Argument)
	case *ast.ThrowStatement:
		c.expr(s, st.Argument)
	case *ast.LabelledStatement:
		c.statement(s, st.Statement)
	case *ast.TryStatement:
		c.try(s, st)
	case *ast.SwitchStatement:
		c.switches(s, st)
	case *ast.WithStatement:
		c.expr(s, st.Object)
		c.statement(&scope{outer: s, opaque: true}, st.Body)
	default:
		c.loop(s, st)
	}
}

func (c *checker) loop(s *scope, st ast.Statement) {
	switch st := st.(type) {
	case *ast.WhileStatement:
		c.test(s, st.Test)
		c.statement(s, st.Body)
	case *ast.DoWhileStatement:
		c.statement(s, st.Body)
		c.test(s, st.Test)
	case *ast.ForStatement:
		inner := s.inner()
		switch init := st.Initializer.(type) {
		case *ast.ForLoopInitializerExpression:
			c.expr(inner, init.Expression)
		case *ast.ForLoopInitializerVarDeclList:
			c.declarations(inner, init.List, false)
		case *ast.ForLoopInitializerLexicalDecl:
			inner.hoist([]ast.Statement{&init.LexicalDeclaration})
			c.declarations(inner, init.LexicalDeclaration.List, false)
		}
		c.test(inner, st.Test)
		c.expr(inner, st.Update)
		c.statement(inner, st.Body)
	case *ast.ForInStatement:
		c.each(s, st.Into, st.Source, st.Body)
	case *ast.ForOfStatement:
		c.each(s, st.Into, st.Source, st.Body)
	}
}

func (c *checker) each(s *scope, into ast.ForInto, source ast.Expression, body ast.Statement) {
	c.expr(s, source)
	inner := s.inner()
	switch into := into.(type) {
	case *ast.ForIntoVar:
		c.target(inner, into.Binding.Target, value{}, false)
	case *ast.ForDeclaration:
		inner.hide(into.Target)
		c.target(inner, into.Target, value{}, false)
	case *ast.ForIntoExpression:
		c.assigned(inner, into.Expression)
	}
	c.statement(inner, body)
}

func (c *checker) try(s *scope, st *ast.TryStatement) {
	c.statement(s, st.Body)
	if st.Catch != nil {
		inner := s.inner()
		if st.Catch.Parameter != nil {
			inner.hide(st.Catch.Parameter)
			c.target(inner, st.Catch.Parameter, value{}, false)
		}
		c.statement(inner, st.Catch.Body)
	}
	c.statement(s, st.Finally)
}

func (c *checker) switches(s *scope, st *ast.SwitchStatement) {
	c.expr(s, st.Discriminant)
	inner := s.inner()
	for _, k := range st.Body {
		inner.hoist(k.Consequent)
	}
	for _, k := range st.Body {
		c.expr(inner, k.Test)
		for _, one := range k.Consequent {
			c.statement(inner, one)
		}
	}
}

func (c *checker) declarations(s *scope, list []*ast.Binding, constant bool) {
	for _, b := range list {
		c.target(s, b.Target, c.expr(s, b.Initializer), constant)
	}
}

// target takes a value apart as a declaration does. Constants keep what is known
// of them.
func (c *checker) target(s *scope, target ast.Expression, v value, constant bool) {
	switch t := target.(type) {
	case *ast.Identifier:
		if constant {
			s.declare(t.Name.String(), v)
		}
	case *ast.ObjectPattern:
		c.pattern(s, t, v, constant)
	case *ast.ArrayPattern:
		for _, e := range t.Elements {
			c.target(s, e, value{}, false)
		}
	case *ast.AssignExpression: // a default
		c.target(s, t.Left, value{}, false)
		c.expr(s, t.Right)
	case *ast.Binding:
		c.target(s, t.Target, value{}, false)
		c.expr(s, t.Initializer)
	case *ast.DotExpression, *ast.BracketExpression:
		c.assigned(s, t)
	}
}

func (c *checker) pattern(s *scope, t *ast.ObjectPattern, v value, constant bool) {
	for _, p := range t.Properties {
		switch p := p.(type) {
		case *ast.PropertyShort:
			m := c.member(v, p.Name.Name.String(), p.Name.Idx, p.Initializer != nil)
			if constant && p.Initializer == nil {
				s.declare(p.Name.Name.String(), m)
			}
			c.expr(s, p.Initializer)
		case *ast.PropertyKeyed:
			name, ok := literalKey(p)
			if !ok {
				c.expr(s, p.Key)
				c.target(s, p.Value, value{}, false)
				continue
			}
			_, defaulted := p.Value.(*ast.AssignExpression)
			c.target(s, p.Value, c.member(v, name, p.Key.Idx0(), defaulted), constant)
		}
	}
}
