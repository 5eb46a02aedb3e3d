package validate

import (
	"slices"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// expr walks an expression and returns what is known about its value.
func (c *checker) expr(s *scope, e ast.Expression) value {
	switch e := e.(type) {
	case nil:
	case *ast.Identifier:
		return c.identifier(s, e, false)
	case *ast.DotExpression:
		name := e.Identifier.Name.String()
		if id, ok := e.Left.(*ast.Identifier); ok {
			c.names.anyMember = c.names.anyMember || slices.Contains(reshape[id.Name.String()], name)
			c.memberName = name
			left := c.identifier(s, id, false)
			c.memberName = ""
			return c.member(left, name, e.Identifier.Idx, false)
		}
		return c.member(c.expr(s, e.Left), name, e.Identifier.Idx, false)
	case *ast.BracketExpression:
		return c.bracket(s, e, false)
	case *ast.OptionalChain:
		return c.expr(s, e.Expression)
	case *ast.Optional:
		return c.test(s, e.Expression)
	case *ast.CallExpression:
		return c.call(s, e)
	case *ast.NewExpression:
		c.constructor(s, e)
	case *ast.AssignExpression:
		c.assigned(s, e.Left)
		c.expr(s, e.Right)
	case *ast.UnaryExpression:
		c.unary(s, e)
	case *ast.BinaryExpression:
		c.binary(s, e)
	case *ast.ConditionalExpression:
		c.truth(s, e.Test)
		c.expr(s, e.Consequent)
		c.expr(s, e.Alternate)
	case *ast.SequenceExpression:
		return c.lastExpr(s, e.Sequence)
	case *ast.FunctionLiteral:
		inner := s
		if e.Name != nil {
			inner = s.inner()
			inner.declare(e.Name.Name.String(), value{})
		}
		c.function(inner, e.ParameterList, e.DeclarationList, e.Body.List)
	case *ast.ArrowFunctionLiteral:
		c.arrow(s, e)
	case *ast.AwaitExpression:
		switch v := c.expr(s, e.Argument); v.kind {
		case page, list, rows, row:
			return v
		case pending:
			return awaited(v)
		}
	case *ast.ClassLiteral:
		c.class(s, e)
	default:
		c.literal(s, e)
	}
	return value{}
}

// literal walks literals and other nodes with expressions in them whose own value is not
// tracked.
func (c *checker) literal(s *scope, e ast.Expression) {
	switch e := e.(type) {
	case *ast.ArrayLiteral:
		c.lastExpr(s, e.Value)
	case *ast.ObjectLiteral:
		for _, p := range e.Value {
			c.property(s, p)
		}
	case *ast.TemplateLiteral:
		c.expr(s, e.Tag)
		for _, part := range e.Expressions {
			if v := c.expr(s, part); e.Tag == nil {
				c.unawaited(v, part, "is neither a text nor a number")
			}
		}
	case *ast.SpreadElement:
		c.iterated(s, e.Expression)
	case *ast.YieldExpression:
		c.expr(s, e.Argument)
	case *ast.PrivateDotExpression:
		c.expr(s, e.Left)
	}
}

func (c *checker) lastExpr(s *scope, list []ast.Expression) (v value) {
	for _, e := range list {
		v = c.expr(s, e)
	}
	return v
}

func (c *checker) property(s *scope, p ast.Property) {
	switch p := p.(type) {
	case *ast.PropertyShort:
		c.identifier(s, &p.Name, false)
		c.expr(s, p.Initializer)
	case *ast.PropertyKeyed:
		if p.Computed {
			c.expr(s, p.Key)
		}
		c.expr(s, p.Value)
	case *ast.SpreadElement:
		c.expr(s, p.Expression)
	}
}

// test walks an expression whose existence the script tests. A member that is tested anywhere is never
// reported.
func (c *checker) test(s *scope, e ast.Expression) value {
	switch e := e.(type) {
	case *ast.Identifier:
		return c.identifier(s, e, true)
	case *ast.DotExpression:
		return c.member(c.expr(s, e.Left), e.Identifier.Name.String(), e.Identifier.Idx, true)
	case *ast.BracketExpression:
		return c.bracket(s, e, true)
	case *ast.OptionalChain:
		return c.test(s, e.Expression)
	}
	return c.expr(s, e)
}

func (c *checker) identifier(s *scope, e *ast.Identifier, test bool) value {
	name := e.Name.String()
	if c.collecting {
		c.names.uses[name]++
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
	c.global(s, name, e.Idx, test)
	return value{}
}

func (c *checker) bracket(s *scope, e *ast.BracketExpression, test bool) value {
	owner := c.expr(s, e.Left)
	switch m := e.Member.(type) {
	case *ast.StringLiteral:
		return c.member(owner, m.Value.String(), m.Idx, test)
	case *ast.NumberLiteral:
		if one := rowsIn(owner); one.kind == row {
			return one
		}
		if owner.kind == page && !test {
			what := owner.entity.Name + "." + owner.method
			c.fail(m.Idx, "", wire.DiagnosticUnknownMethod, what+" returns a page, which has no element "+quote(m.Literal), UseItems)
		}
	default:
		c.expr(s, e.Member)
	}
	return value{}
}

func (c *checker) unary(s *scope, e *ast.UnaryExpression) {
	switch e.Operator {
	case token.TYPEOF:
		c.test(s, e.Operand)
	case token.NOT:
		c.truth(s, e.Operand)
	case token.DELETE, token.INCREMENT, token.DECREMENT:
		if e.Operator == token.DELETE {
			c.recordDelete(e.Operand)
		}
		c.assigned(s, e.Operand)
	default:
		c.expr(s, e.Operand)
	}
}

func (c *checker) binary(s *scope, e *ast.BinaryExpression) {
	switch e.Operator {
	case token.LOGICAL_AND, token.LOGICAL_OR:
		c.truth(s, e.Left)
		c.test(s, e.Right)
	case token.COALESCE:
		c.unawaited(c.test(s, e.Left), e.Left, "is never null")
		c.test(s, e.Right)
	case token.EQUAL, token.NOT_EQUAL, token.STRICT_EQUAL, token.STRICT_NOT_EQUAL:
		left, right := c.test(s, e.Left), c.test(s, e.Right)
		if isConstant(e.Right) { // else it may be the promise itself
			c.unawaited(left, e.Left, "equals nothing but itself")
		}
		if isConstant(e.Left) {
			c.unawaited(right, e.Right, "equals nothing but itself")
		}
	case token.IN:
		right := c.expr(s, e.Right)
		if lit, ok := e.Left.(*ast.StringLiteral); ok {
			c.member(right, lit.Value.String(), lit.Idx, true)
			return
		}
		c.expr(s, e.Left)
	case token.INSTANCEOF:
		c.expr(s, e.Left)
		c.expr(s, e.Right)
	default:
		for _, side := range []ast.Expression{e.Left, e.Right} {
			c.unawaited(c.expr(s, side), side, "is neither a text nor a number")
		}
	}
}

// assigned walks the left side of an assignment: writing to a member that does not exist
// is not a use of it.
func (c *checker) assigned(s *scope, e ast.Expression) {
	c.assigns(e)
	switch e := e.(type) {
	case *ast.Identifier:
		if _, free := s.lookup(e.Name.String()); free {
			c.root.declare(e.Name.String(), value{}) // from now on a global of the script
		}
	case *ast.DotExpression:
		c.recordMember(c.holder(s, e.Left), e.Identifier.Name.String())
	case *ast.BracketExpression:
		owner := c.holder(s, e.Left)
		_, literal := e.Member.(*ast.StringLiteral)
		c.names.anyMember = c.names.anyMember || !literal && !isNumber(e.Member)
		if lit, ok := e.Member.(*ast.StringLiteral); ok {
			c.recordMember(owner, lit.Value.String())
			return
		}
		c.names.dynamic = c.names.dynamic || owner.kind == global
		c.expr(s, e.Member)
	case *ast.ObjectPattern, *ast.ArrayPattern:
		c.target(s, e, value{}, 0)
	default:
		c.expr(s, e)
	}
}

// holder returns the object of a member that is assigned. In a function, `this` may be the global
// object.
func (c *checker) holder(s *scope, e ast.Expression) value {
	if _, this := e.(*ast.ThisExpression); this {
		return value{kind: global}
	}
	return c.expr(s, e)
}

// recordDelete records the name whose value loses a member by delete.
func (c *checker) recordDelete(e ast.Expression) {
	for {
		switch m := e.(type) {
		case *ast.DotExpression:
			e = m.Left
		case *ast.BracketExpression:
			e = m.Left
		case *ast.Identifier:
			c.names.shrunk[m.Name.String()] = true
			return
		default:
			return
		}
	}
}

// recordMember records a member that the script adds itself.
func (c *checker) recordMember(owner value, name string) {
	if owner.kind == global {
		c.names.globals[name] = true
		c.root.declare(name, value{})
		c.tested["global "+name] = true
		return
	}
	c.names.members[name] = true
	before := len(c.found)
	c.member(owner, name, 0, true)
	c.found = c.found[:before]
}

func (c *checker) arrow(s *scope, e *ast.ArrowFunctionLiteral) {
	var body []ast.Statement
	switch b := e.Body.(type) {
	case *ast.BlockStatement:
		body = b.List
	case *ast.ExpressionBody:
		body = []ast.Statement{&ast.ExpressionStatement{Expression: b.Expression}}
	}
	c.function(s, e.ParameterList, e.DeclarationList, body)
}

func (c *checker) class(s *scope, e *ast.ClassLiteral) {
	c.expr(s, e.SuperClass)
	inner := s.inner()
	if e.Name != nil {
		inner.declare(e.Name.Name.String(), value{})
	}
	for _, m := range e.Body {
		switch m := m.(type) {
		case *ast.FieldDefinition:
			if m.Computed {
				c.expr(inner, m.Key)
			}
			c.expr(inner, m.Initializer)
		case *ast.MethodDefinition:
			if m.Computed {
				c.expr(inner, m.Key)
			}
			c.expr(inner, m.Body)
		case *ast.ClassStaticBlock:
			c.function(inner, nil, m.DeclarationList, m.Block.List)
		}
	}
}

// callee walks what is called, and returns its value, and the object and the name of a member.
func (c *checker) callee(s *scope, e ast.Expression) (callee, owner value, function string) {
	switch d := e.(type) {
	case *ast.DotExpression:
		if _, named := d.Left.(*ast.Identifier); !named { // else it may be a global object's
			owner, function = c.expr(s, d.Left), d.Identifier.Name.String()
			return c.member(owner, function, d.Identifier.Idx, false), owner, function
		}
		owner, _ = s.lookup(d.Left.(*ast.Identifier).Name.String())
		return c.expr(s, e), owner, d.Identifier.Name.String()
	case *ast.OptionalChain:
		return c.callee(s, d.Expression)
	}
	return c.expr(s, e), value{}, ""
}

func isNumber(e ast.Expression) bool {
	_, ok := e.(*ast.NumberLiteral)
	return ok
}

func (c *checker) call(s *scope, e *ast.CallExpression) value {
	if catches(e) {
		c.handlers++
		defer func() { c.handlers-- }()
	}
	callee, owner, function := c.callee(s, e.Callee)
	c.evaluator(s, e.Callee)
	c.callOfRows(s, e, owner, function)
	if c.collecting {
		return value{}
	}
	switch callee.kind {
	case method:
		if callee.entity != nil {
			c.arguments(s, callee, e.ArgumentList)
		}
		c.checkCall(s, callee, e)
		return resultOf(callee)
	case tool:
		c.input(s, callee, e.ArgumentList)
		c.checkCall(s, callee, e)
		return value{kind: pending, entity: callee.entity, method: callee.method, id: callee.id}
	}
	if got := ofRows(owner, function); got.kind != other {
		return got
	}
	return c.imported(s, e)
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

func (c *checker) constructor(s *scope, e *ast.NewExpression) {
	c.expr(s, e.Callee)
	c.evaluator(s, e.Callee)
	c.lastExpr(s, e.ArgumentList)
}

// evaluator reports Function(...) and new Function(...).
func (c *checker) evaluator(s *scope, callee ast.Expression) {
	id, ok := callee.(*ast.Identifier)
	if !ok || id.Name != "Function" {
		return
	}
	if _, free := s.lookup("Function"); free {
		c.fail(id.Idx, "", wire.DiagnosticForbiddenGlobal, quote("Function")+" cannot execute strings as code in the sandbox", noCodeFromText)
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
