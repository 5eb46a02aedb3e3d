package validate

import (
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// expressions walks expressions, and knows the values that they have.
type expressions struct {
	*members
	options    *options
	inputs     *inputs
	statements *statements // which walks the bodies of functions, and what is destructured
	root       *scope
	compiled   bool    // the text is esbuild's output
	given      []value // what the function that is walked next gets
}

// expr walks an expression and returns what is known about its value.
func (w *expressions) expr(s *scope, e ast.Expression) value {
	switch e := e.(type) {
	case nil:
	case *ast.Identifier:
		return w.identifier(s, e, "", false)
	case *ast.DotExpression:
		name := e.Identifier.Name.String()
		if id, ok := e.Left.(*ast.Identifier); ok {
			w.names.anyMember = w.names.anyMember || slices.Contains(reshape[id.Name.String()], name)
			return w.member(w.identifier(s, id, name, false), name, e.Identifier.Idx, false)
		}
		return w.member(w.expr(s, e.Left), name, e.Identifier.Idx, false)
	case *ast.BracketExpression:
		return w.bracket(s, e, false)
	case *ast.OptionalChain:
		return w.expr(s, e.Expression)
	case *ast.Optional:
		return w.test(s, e.Expression)
	case *ast.CallExpression:
		return w.call(s, e)
	case *ast.NewExpression:
		w.constructor(s, e)
	case *ast.AssignExpression:
		w.assigned(s, e.Left)
		w.expr(s, e.Right)
	case *ast.UnaryExpression:
		w.unary(s, e)
	case *ast.BinaryExpression:
		w.binary(s, e)
	case *ast.ConditionalExpression:
		w.truth(s, e.Test)
		w.expr(s, e.Consequent)
		w.expr(s, e.Alternate)
	case *ast.SequenceExpression:
		return w.lastExpr(s, e.Sequence)
	case *ast.FunctionLiteral:
		inner := s
		if e.Name != nil {
			inner = s.inner()
			inner.declare(e.Name.Name.String(), value{})
		}
		w.statements.function(inner, e.ParameterList, e.DeclarationList, e.Body.List)
	case *ast.ArrowFunctionLiteral:
		w.arrow(s, e)
	case *ast.AwaitExpression:
		switch v := w.expr(s, e.Argument); v.kind {
		case page, list, rows, row:
			return v
		case pending:
			return awaited(v)
		}
	case *ast.ClassLiteral:
		w.class(s, e)
	default:
		w.literal(s, e)
	}
	return value{}
}

// literal walks literals and other nodes with expressions in them whose own value is not
// tracked.
func (w *expressions) literal(s *scope, e ast.Expression) {
	switch e := e.(type) {
	case *ast.ArrayLiteral:
		w.lastExpr(s, e.Value)
	case *ast.ObjectLiteral:
		for _, p := range e.Value {
			w.property(s, p)
		}
	case *ast.TemplateLiteral:
		w.expr(s, e.Tag)
		for _, part := range e.Expressions {
			if v := w.expr(s, part); e.Tag == nil {
				w.unawaited(v, part, "is neither a text nor a number")
			}
		}
	case *ast.SpreadElement:
		w.iterated(s, e.Expression)
	case *ast.YieldExpression:
		w.expr(s, e.Argument)
	case *ast.PrivateDotExpression:
		w.expr(s, e.Left)
	}
}

func (w *expressions) lastExpr(s *scope, list []ast.Expression) (v value) {
	for _, e := range list {
		v = w.expr(s, e)
	}
	return v
}

func (w *expressions) property(s *scope, p ast.Property) {
	switch p := p.(type) {
	case *ast.PropertyShort:
		w.identifier(s, &p.Name, "", false)
		w.expr(s, p.Initializer)
	case *ast.PropertyKeyed:
		if p.Computed {
			w.expr(s, p.Key)
		}
		w.expr(s, p.Value)
	case *ast.SpreadElement:
		w.expr(s, p.Expression)
	}
}

// test walks an expression whose existence the script tests. A member that is tested anywhere is never
// reported.
func (w *expressions) test(s *scope, e ast.Expression) value {
	switch e := e.(type) {
	case *ast.Identifier:
		return w.identifier(s, e, "", true)
	case *ast.DotExpression:
		return w.member(w.expr(s, e.Left), e.Identifier.Name.String(), e.Identifier.Idx, true)
	case *ast.BracketExpression:
		return w.bracket(s, e, true)
	case *ast.OptionalChain:
		return w.test(s, e.Expression)
	}
	return w.expr(s, e)
}

// identifier walks a name; member is the one that follows it, "" if there is none.
func (w *expressions) identifier(s *scope, e *ast.Identifier, member string, test bool) value {
	name := e.Name.String()
	if w.collecting {
		w.names.uses[name]++
	}
	v, free := s.lookup(name)
	if !free {
		return v
	}
	switch name {
	case "SDK":
		return value{kind: sdk}
	case "globalThis":
		return value{kind: global}
	}
	w.global(s, name, member, e.Idx, test)
	return value{}
}

func (w *expressions) bracket(s *scope, e *ast.BracketExpression, test bool) value {
	owner := w.expr(s, e.Left)
	switch m := e.Member.(type) {
	case *ast.StringLiteral:
		return w.member(owner, m.Value.String(), m.Idx, test)
	case *ast.NumberLiteral:
		if one := rowsIn(owner); one.kind == row {
			return one
		}
		if owner.kind == page && !test {
			what := owner.entity.Name + "." + owner.method
			w.fail(m.Idx, "", wire.DiagnosticUnknownMethod, what+" returns a page, which has no element "+quote(m.Literal), UseItems)
		}
	default:
		w.expr(s, e.Member)
	}
	return value{}
}

func (w *expressions) unary(s *scope, e *ast.UnaryExpression) {
	switch e.Operator {
	case token.TYPEOF:
		w.test(s, e.Operand)
	case token.NOT:
		w.truth(s, e.Operand)
	case token.DELETE, token.INCREMENT, token.DECREMENT:
		if e.Operator == token.DELETE {
			w.names.shrinks(e.Operand)
		}
		w.assigned(s, e.Operand)
	default:
		w.expr(s, e.Operand)
	}
}

func (w *expressions) binary(s *scope, e *ast.BinaryExpression) {
	switch e.Operator {
	case token.LOGICAL_AND, token.LOGICAL_OR:
		w.truth(s, e.Left)
		w.test(s, e.Right)
	case token.COALESCE:
		w.unawaited(w.test(s, e.Left), e.Left, "is never null")
		w.test(s, e.Right)
	case token.EQUAL, token.NOT_EQUAL, token.STRICT_EQUAL, token.STRICT_NOT_EQUAL:
		left, right := w.test(s, e.Left), w.test(s, e.Right)
		if isConstant(e.Right) { // else it may be the promise itself
			w.unawaited(left, e.Left, "equals nothing but itself")
		}
		if isConstant(e.Left) {
			w.unawaited(right, e.Right, "equals nothing but itself")
		}
	case token.IN:
		right := w.expr(s, e.Right)
		if lit, ok := e.Left.(*ast.StringLiteral); ok {
			w.member(right, lit.Value.String(), lit.Idx, true)
			return
		}
		w.expr(s, e.Left)
	case token.INSTANCEOF:
		w.expr(s, e.Left)
		w.expr(s, e.Right)
	default:
		for _, side := range []ast.Expression{e.Left, e.Right} {
			w.unawaited(w.expr(s, side), side, "is neither a text nor a number")
		}
	}
}

// assigned walks the left side of an assignment: writing to a member that does not exist
// is not a use of it.
func (w *expressions) assigned(s *scope, e ast.Expression) {
	w.names.assigns(e)
	switch e := e.(type) {
	case *ast.Identifier:
		if _, free := s.lookup(e.Name.String()); free {
			w.root.declare(e.Name.String(), value{}) // from now on a global of the script
		}
	case *ast.DotExpression:
		w.recordMember(w.holder(s, e.Left, e.Identifier.Name.String()), e.Identifier.Name.String())
	case *ast.BracketExpression:
		owner := w.holder(s, e.Left, "")
		_, literal := e.Member.(*ast.StringLiteral)
		w.names.anyMember = w.names.anyMember || !literal && !isNumber(e.Member)
		if lit, ok := e.Member.(*ast.StringLiteral); ok {
			w.recordMember(owner, lit.Value.String())
			return
		}
		w.names.dynamic = w.names.dynamic || owner.kind == global
		w.expr(s, e.Member)
	case *ast.ObjectPattern, *ast.ArrayPattern:
		w.statements.target(s, e, value{}, 0)
	default:
		w.expr(s, e)
	}
}

// holder returns the object of a member that is assigned. In a function, `this` may be the global
// object.
func (w *expressions) holder(s *scope, e ast.Expression, member string) value {
	switch e := e.(type) {
	case *ast.ThisExpression:
		return value{kind: global}
	case *ast.Identifier:
		return w.identifier(s, e, member, false)
	}
	return w.expr(s, e)
}

// recordMember records a member that the script adds itself.
func (w *expressions) recordMember(owner value, name string) {
	if owner.kind == global {
		w.names.globals[name] = true
		w.root.declare(name, value{})
		w.tested["global "+name] = true
		return
	}
	w.names.members[name] = true
	before := len(w.found)
	w.member(owner, name, 0, true)
	w.found = w.found[:before]
}

func (w *expressions) arrow(s *scope, e *ast.ArrowFunctionLiteral) {
	var body []ast.Statement
	switch b := e.Body.(type) {
	case *ast.BlockStatement:
		body = b.List
	case *ast.ExpressionBody:
		body = []ast.Statement{&ast.ExpressionStatement{Expression: b.Expression}}
	}
	w.statements.function(s, e.ParameterList, e.DeclarationList, body)
}

func (w *expressions) class(s *scope, e *ast.ClassLiteral) {
	w.expr(s, e.SuperClass)
	inner := s.inner()
	if e.Name != nil {
		inner.declare(e.Name.Name.String(), value{})
	}
	for _, m := range e.Body {
		switch m := m.(type) {
		case *ast.FieldDefinition:
			if m.Computed {
				w.expr(inner, m.Key)
			}
			w.expr(inner, m.Initializer)
		case *ast.MethodDefinition:
			if m.Computed {
				w.expr(inner, m.Key)
			}
			w.expr(inner, m.Body)
		case *ast.ClassStaticBlock:
			w.statements.function(inner, nil, m.DeclarationList, m.Block.List)
		}
	}
}

// callee walks what is called, and returns its value, and the object and the name of a member.
func (w *expressions) callee(s *scope, e ast.Expression) (callee, owner value, function string) {
	switch d := e.(type) {
	case *ast.DotExpression:
		if _, named := d.Left.(*ast.Identifier); !named { // else it may be a global object's
			owner, function = w.expr(s, d.Left), d.Identifier.Name.String()
			return w.member(owner, function, d.Identifier.Idx, false), owner, function
		}
		owner, _ = s.lookup(d.Left.(*ast.Identifier).Name.String())
		return w.expr(s, e), owner, d.Identifier.Name.String()
	case *ast.OptionalChain:
		return w.callee(s, d.Expression)
	}
	return w.expr(s, e), value{}, ""
}

func isNumber(e ast.Expression) bool {
	_, ok := e.(*ast.NumberLiteral)
	return ok
}

func (w *expressions) call(s *scope, e *ast.CallExpression) value {
	if catches(e) {
		w.handlers++
		defer func() { w.handlers-- }()
	}
	callee, owner, function := w.callee(s, e.Callee)
	w.evaluator(s, e.Callee)
	w.callOfRows(s, e, owner, function)
	if w.collecting {
		return value{}
	}
	switch callee.kind {
	case method:
		if callee.entity != nil {
			w.options.arguments(s, callee, e.ArgumentList)
		}
		w.inputs.check(s, callee, e)
		return resultOf(callee)
	case tool:
		w.options.input(s, callee, e.ArgumentList)
		w.inputs.check(s, callee, e)
		return value{kind: pending, entity: callee.entity, method: callee.method, id: callee.id}
	}
	if got := ofRows(owner, function); got.kind != other {
		return got
	}
	return w.imported(s, e)
}

// catches reports whether a call handles failures of its receiver or argument:
// x.catch(...), x.then(f, g), Promise.allSettled([...]).
func catches(e *ast.CallExpression) bool {
	d, ok := e.Callee.(*ast.DotExpression)
	if !ok {
		return false
	}
	switch d.Identifier.Name {
	case "catch", "allSettled":
		return true
	case "then":
		return len(e.ArgumentList) > 1
	}
	return false
}

func (w *expressions) constructor(s *scope, e *ast.NewExpression) {
	w.expr(s, e.Callee)
	w.evaluator(s, e.Callee)
	w.lastExpr(s, e.ArgumentList)
}

// evaluator reports Function(...) and new Function(...).
func (m *members) evaluator(s *scope, callee ast.Expression) {
	id, ok := callee.(*ast.Identifier)
	if !ok || id.Name != "Function" {
		return
	}
	if _, free := s.lookup("Function"); free {
		m.fail(id.Idx, "", wire.DiagnosticForbiddenGlobal, quote("Function")+" cannot execute strings as code in the sandbox", noCodeFromText)
	}
}

// isConstant reports whether an expression is a literal of a primitive value.
func isConstant(e ast.Expression) bool {
	switch e.(type) {
	case *ast.NumberLiteral, *ast.StringLiteral, *ast.BooleanLiteral, *ast.NullLiteral:
		return true
	}
	return false
}
