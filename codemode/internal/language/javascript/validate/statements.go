package validate

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// function walks a function's body, or the program's.
func (c *checker) function(outer *scope, params *ast.ParameterList, vars []*ast.VariableDeclaration, body []ast.Statement) {
	s := outer.inner()
	given := c.given
	c.given = nil
	if params != nil {
		for _, p := range params.List {
			s.hide(p.Target)
		}
		s.hide(params.Rest)
		s.declare("arguments", value{})
		c.parameters(s, params.List, given)
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
		c.declarations(s, st.List, token.VAR)
	case *ast.LexicalDeclaration:
		c.declarations(s, st.List, st.Token)
	case *ast.FunctionDeclaration:
		c.expr(s, st.Function)
	case *ast.ClassDeclaration:
		c.class(s, st.Class)
	case *ast.IfStatement:
		c.truth(s, st.Test)
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
		c.truth(s, st.Test)
		c.statement(s, st.Body)
	case *ast.DoWhileStatement:
		c.statement(s, st.Body)
		c.truth(s, st.Test)
	case *ast.ForStatement:
		inner := s.inner()
		switch init := st.Initializer.(type) {
		case *ast.ForLoopInitializerExpression:
			c.expr(inner, init.Expression)
		case *ast.ForLoopInitializerVarDeclList:
			c.declarations(inner, init.List, token.VAR)
		case *ast.ForLoopInitializerLexicalDecl:
			inner.hoist([]ast.Statement{&init.LexicalDeclaration})
			c.declarations(inner, init.LexicalDeclaration.List, init.LexicalDeclaration.Token)
		}
		c.truth(inner, st.Test)
		c.expr(inner, st.Update)
		c.statement(inner, st.Body)
	case *ast.ForInStatement:
		c.expr(s, st.Source)
		c.each(s, st.Into, value{}, st.Body)
	case *ast.ForOfStatement:
		c.each(s, st.Into, c.iterated(s, st.Source), st.Body)
	}
}

func (c *checker) each(s *scope, into ast.ForInto, element value, body ast.Statement) {
	inner := s.inner()
	switch into := into.(type) {
	case *ast.ForIntoVar:
		c.assigns(into.Binding.Target)
		c.target(inner, into.Binding.Target, value{}, 0)
	case *ast.ForDeclaration:
		inner.hide(into.Target)
		c.target(inner, into.Target, element, token.LET)
	case *ast.ForIntoExpression:
		c.assigned(inner, into.Expression)
	}
	c.statement(inner, body)
}

func (c *checker) try(s *scope, st *ast.TryStatement) {
	if st.Catch == nil {
		c.statement(s, st.Body)
	} else {
		c.handlers++
		c.statement(s, st.Body)
		c.handlers--
		inner := s.inner()
		if st.Catch.Parameter != nil {
			inner.hide(st.Catch.Parameter)
			c.target(inner, st.Catch.Parameter, value{}, 0)
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

func (c *checker) declarations(s *scope, list []*ast.Binding, how token.Token) {
	for _, b := range list {
		if c.collecting && how == token.VAR {
			eachName(b.Target, func(name string) { c.names.vars[name]++ })
		}
		v := c.expr(s, b.Initializer)
		if v.kind == other && isLiteral(b.Initializer) {
			v.literal = term{b.Initializer, s}
		}
		c.target(s, b.Target, v, how)
	}
}

// assigns records that the names of a target get other values.
func (c *checker) assigns(target ast.Expression) {
	eachName(target, func(name string) { c.names.assigned[name] = true })
}

// target destructures a value as a declaration does. Names that are never assigned keep
// what is known about them.
func (c *checker) target(s *scope, target ast.Expression, v value, how token.Token) {
	switch t := target.(type) {
	case *ast.Identifier:
		name := t.Name.String()
		if c.names.shrunk[name] {
			v.literal = term{}
		}
		if how != 0 && !c.collecting && c.names.keeps(name, how) {
			s.declare(name, v)
		}
	case *ast.ObjectPattern:
		c.pattern(s, t, v, how)
	case *ast.ArrayPattern:
		for _, e := range t.Elements {
			c.target(s, e, value{}, 0)
		}
	case *ast.AssignExpression: // a default
		c.target(s, t.Left, value{}, 0)
		c.expr(s, t.Right)
	case *ast.Binding:
		c.target(s, t.Target, value{}, 0)
		c.expr(s, t.Initializer)
	case *ast.DotExpression, *ast.BracketExpression:
		c.assigned(s, t)
	}
}

func (c *checker) pattern(s *scope, t *ast.ObjectPattern, v value, how token.Token) {
	for _, p := range t.Properties {
		switch p := p.(type) {
		case *ast.PropertyShort:
			m := c.member(v, p.Name.Name.String(), p.Name.Idx, p.Initializer != nil)
			if p.Initializer == nil {
				c.target(s, &p.Name, m, how)
			}
			c.expr(s, p.Initializer)
		case *ast.PropertyKeyed:
			name, ok := literalKey(p)
			if !ok {
				c.expr(s, p.Key)
				c.target(s, p.Value, value{}, 0)
				continue
			}
			_, defaulted := p.Value.(*ast.AssignExpression)
			c.target(s, p.Value, c.member(v, name, p.Key.Idx0(), defaulted), how)
		}
	}
}
