package validate

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// statements walks statements, and declares the names in them.
type statements struct{ *expressions }

// function walks a function's body, or the program's.
func (w *statements) function(outer *scope, params *ast.ParameterList, vars []*ast.VariableDeclaration, body []ast.Statement) {
	s := outer.inner()
	given := w.given
	w.given = nil
	if params != nil {
		for _, p := range params.List {
			s.hide(p.Target)
		}
		s.hide(params.Rest)
		s.declare("arguments", value{})
		w.parameters(s, params.List, given)
	}
	s.hoistVars(vars)
	w.block(s, body)
}

func (w *statements) block(s *scope, list []ast.Statement) {
	s.hoist(list)
	for _, st := range list {
		w.statement(s, st)
	}
}

func (w *statements) statement(s *scope, st ast.Statement) {
	switch st := st.(type) {
	case *ast.BlockStatement:
		if st != nil {
			w.block(s.inner(), st.List)
		}
	case *ast.ExpressionStatement:
		w.expr(s, st.Expression)
	case *ast.VariableStatement:
		w.declarations(s, st.List, token.VAR)
	case *ast.LexicalDeclaration:
		w.declarations(s, st.List, st.Token)
	case *ast.FunctionDeclaration:
		w.expr(s, st.Function)
	case *ast.ClassDeclaration:
		w.class(s, st.Class)
	case *ast.IfStatement:
		w.truth(s, st.Test)
		w.statement(s, st.Consequent)
		w.statement(s, st.Alternate)
	case *ast.ReturnStatement:
		w.expr(s, st.Argument)
	case *ast.ThrowStatement:
		w.expr(s, st.Argument)
	case *ast.LabelledStatement:
		w.statement(s, st.Statement)
	case *ast.TryStatement:
		w.try(s, st)
	case *ast.SwitchStatement:
		w.switches(s, st)
	case *ast.WithStatement:
		w.expr(s, st.Object)
		w.statement(&scope{outer: s, opaque: true}, st.Body)
	default:
		w.loop(s, st)
	}
}

func (w *statements) loop(s *scope, st ast.Statement) {
	switch st := st.(type) {
	case *ast.WhileStatement:
		w.truth(s, st.Test)
		w.statement(s, st.Body)
	case *ast.DoWhileStatement:
		w.statement(s, st.Body)
		w.truth(s, st.Test)
	case *ast.ForStatement:
		inner := s.inner()
		switch init := st.Initializer.(type) {
		case *ast.ForLoopInitializerExpression:
			w.expr(inner, init.Expression)
		case *ast.ForLoopInitializerVarDeclList:
			w.declarations(inner, init.List, token.VAR)
		case *ast.ForLoopInitializerLexicalDecl:
			inner.hoist([]ast.Statement{&init.LexicalDeclaration})
			w.declarations(inner, init.LexicalDeclaration.List, init.LexicalDeclaration.Token)
		}
		w.truth(inner, st.Test)
		w.expr(inner, st.Update)
		w.statement(inner, st.Body)
	case *ast.ForInStatement:
		w.expr(s, st.Source)
		w.each(s, st.Into, value{}, st.Body)
	case *ast.ForOfStatement:
		w.each(s, st.Into, w.iterated(s, st.Source), st.Body)
	}
}

func (w *statements) each(s *scope, into ast.ForInto, element value, body ast.Statement) {
	inner := s.inner()
	switch into := into.(type) {
	case *ast.ForIntoVar:
		w.names.assigns(into.Binding.Target)
		w.target(inner, into.Binding.Target, value{}, 0)
	case *ast.ForDeclaration:
		inner.hide(into.Target)
		w.target(inner, into.Target, element, token.LET)
	case *ast.ForIntoExpression:
		w.assigned(inner, into.Expression)
	}
	w.statement(inner, body)
}

func (w *statements) try(s *scope, st *ast.TryStatement) {
	if st.Catch == nil {
		w.statement(s, st.Body)
	} else {
		w.handlers++
		w.statement(s, st.Body)
		w.handlers--
		inner := s.inner()
		if st.Catch.Parameter != nil {
			inner.hide(st.Catch.Parameter)
			w.target(inner, st.Catch.Parameter, value{}, 0)
		}
		w.statement(inner, st.Catch.Body)
	}
	w.statement(s, st.Finally)
}

func (w *statements) switches(s *scope, st *ast.SwitchStatement) {
	w.expr(s, st.Discriminant)
	inner := s.inner()
	for _, k := range st.Body {
		inner.hoist(k.Consequent)
	}
	for _, k := range st.Body {
		w.expr(inner, k.Test)
		for _, one := range k.Consequent {
			w.statement(inner, one)
		}
	}
}

func (w *statements) declarations(s *scope, list []*ast.Binding, how token.Token) {
	for _, b := range list {
		if w.collecting && how == token.VAR {
			eachName(b.Target, func(name string) { w.names.vars[name]++ })
		}
		v := w.expr(s, b.Initializer)
		if v.kind == other && isLiteral(b.Initializer) {
			v.literal = term{b.Initializer, s}
		}
		w.target(s, b.Target, v, how)
	}
}

// target destructures a value as a declaration does. Names that are never assigned keep
// what is known about them.
func (w *statements) target(s *scope, target ast.Expression, v value, how token.Token) {
	switch t := target.(type) {
	case *ast.Identifier:
		name := t.Name.String()
		if w.names.shrunk[name] {
			v.literal = term{}
		}
		if how != 0 && !w.collecting && w.names.keeps(name, how) {
			s.declare(name, v)
		}
	case *ast.ObjectPattern:
		w.pattern(s, t, v, how)
	case *ast.ArrayPattern:
		for _, e := range t.Elements {
			w.target(s, e, value{}, 0)
		}
	case *ast.AssignExpression: // a default
		w.target(s, t.Left, value{}, 0)
		w.expr(s, t.Right)
	case *ast.Binding:
		w.target(s, t.Target, value{}, 0)
		w.expr(s, t.Initializer)
	case *ast.DotExpression, *ast.BracketExpression:
		w.assigned(s, t)
	}
}

func (w *statements) pattern(s *scope, t *ast.ObjectPattern, v value, how token.Token) {
	for _, p := range t.Properties {
		switch p := p.(type) {
		case *ast.PropertyShort:
			m := w.member(v, p.Name.Name.String(), p.Name.Idx, p.Initializer != nil)
			if p.Initializer == nil {
				w.target(s, &p.Name, m, how)
			}
			w.expr(s, p.Initializer)
		case *ast.PropertyKeyed:
			name, ok := literalKey(p)
			if !ok {
				w.expr(s, p.Key)
				w.target(s, p.Value, value{}, 0)
				continue
			}
			_, defaulted := p.Value.(*ast.AssignExpression)
			w.target(s, p.Value, w.member(v, name, p.Key.Idx0(), defaulted), how)
		}
	}
}
