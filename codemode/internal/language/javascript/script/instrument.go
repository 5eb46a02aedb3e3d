package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/unistring"
)

// First arguments of the hook (HookName), before a second one.
const (
	HookEntry   = iota // a function that returns the entry function or undefined
	HookDefault        // the default export
	HookReturn         // the value of a top-level return; it returns a box for it
	HookRan            // the default entry function was called
	HookThrow          // a value that is about to be thrown; it returns the value
	HookImport         // the path of a module; it returns what the module exports
	HookAwait          // a value that is about to be awaited; it returns the value
	HookStack          // a value whose stack is about to be read; it returns the value
	HookMember         // a key and a value; it returns an object that has only this member
	HookCatch          // a value that was caught
	HookAction         // the export `action`, in the file of an action
	HookPromise        // a function; it returns the one that returns promises, if it is CallTool
)

// instrument adds hooks to a syntax tree for what cannot be observed from outside at run
// time: where a value without a stack was thrown, where a script waits, in which loop it
// was stopped, and whether it called its entry function; and for saying more in an error that
// the script catches; and calls of CallTool return a promise where it takes one. Else it changes nothing
// that a script can observe except the positions in a stack and the message of such an error. It reports whether the entry function is watched.
func (p *attempt) instrument(tree *ast.Program, own []ast.Statement) (watched bool) {
	var h hooks
	var calls []*ast.CallExpression
	Walk(tree, func(n any) bool {
		h.setPosition(n)
		switch n := n.(type) {
		case *ast.CallExpression:
			if id, ok := n.Callee.(*ast.Identifier); ok && id.Name == CallTool {
				calls = append(calls, n)
			}
		case *ast.ThrowStatement:
			n.Argument = h.hooked(n.Throw, HookThrow, n.Argument)
		case *ast.CatchStatement:
			h.watchCaught(n)
		case *ast.AwaitExpression:
			// esbuild does not keep the position of await itself.
			n.Argument = h.hooked(n.Argument.Idx0(), HookAwait, n.Argument)
		case *ast.DotExpression:
			if n.Identifier.Name == stackName {
				n.Left = h.read(n.Left)
			}
		case *ast.BracketExpression:
			if s, ok := n.Member.(*ast.StringLiteral); ok && s.Value == stackName {
				n.Left = h.read(n.Left)
			}
		case *ast.ObjectLiteral:
			for i, one := range n.Value {
				n.Value[i] = h.member(one)
			}
		}
		return true
	})
	if len(calls) > 0 {
		promised := findPromisedCalls(tree)
		for _, n := range calls {
			if promised[n] {
				n.Callee = h.hooked(n.Callee.Idx0(), HookPromise, n.Callee)
			}
		}
	}
	p.Hooked = p.Hooked || h.needed
	if p.Entry != defaultEntry || !p.implicit {
		return false
	}
	for _, s := range own {
		for _, fn := range declared(s, defaultEntry) {
			if watch(fn) {
				watched, p.Hooked = true, true
			}
		}
	}
	return watched
}

// hooks adds hooks to nodes of a syntax tree.
type hooks struct {
	needed bool // there is one
}

// watchCaught passes what is caught to the hook first. A block without a value stays one: an if
// has the value undefined.
func (h *hooks) watchCaught(c *ast.CatchStatement) {
	name, ok := c.Parameter.(*ast.Identifier)
	if !ok || c.Body == nil {
		return
	}
	look := &ast.IfStatement{
		If: name.Idx, Test: h.hooked(name.Idx, HookCatch, &ast.Identifier{Name: name.Name, Idx: name.Idx}),
		Consequent: &ast.BlockStatement{LeftBrace: name.Idx, RightBrace: name.Idx},
	}
	c.Body.List = append([]ast.Statement{look}, c.Body.List...)
}

// member replaces a property with a computed key by a spread of an object with this one member,
// since the engine treats {[key]: value} with the key "__proto__" as the literal
// {__proto__: value}, which sets the prototype. Functions and classes stay as they are: they get
// their names from the key, and are not data.
func (h *hooks) member(one ast.Property) ast.Property {
	keyed, ok := one.(*ast.PropertyKeyed)
	if !ok || !keyed.Computed || keyed.Kind != ast.PropertyKindValue {
		return one
	}
	switch keyed.Key.(type) {
	case *ast.StringLiteral, *ast.NumberLiteral:
		return one
	}
	switch keyed.Value.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
		return one
	}
	call := hookCall(keyed.Key.Idx0(), HookMember, keyed.Key)
	call.ArgumentList = append(call.ArgumentList, keyed.Value)
	h.needed = true
	return &ast.SpreadElement{Expression: call}
}

// setPosition sets the position of a node that has none in the engine, which would be reported
// at the last node before it that has one.
func (h *hooks) setPosition(n any) {
	switch n := n.(type) {
	case *ast.WhileStatement:
		n.Body = marked(n.While, n.Body)
	case *ast.DoWhileStatement:
		n.Body = marked(n.Do, n.Body)
	case *ast.ForStatement:
		n.Body = marked(n.For, n.Body)
	case *ast.ForInStatement:
		n.Body = marked(n.For, n.Body)
	case *ast.ForOfStatement:
		n.Body, n.Source = marked(n.For, n.Body), positioned(n.Source)
	case *ast.Binding:
		if pattern, ok := n.Target.(*ast.ObjectPattern); ok {
			n.Initializer = positioned(n.Initializer)
			if takes(pattern, stackName) && n.Initializer != nil {
				n.Initializer = h.hooked(n.Initializer.Idx0(), HookStack, n.Initializer)
			}
		} else if _, ok := n.Target.(*ast.ArrayPattern); ok {
			n.Initializer = positioned(n.Initializer)
		}
	}
}

// stackName is the member of an Error with positions in the compiled text.
const stackName = "stack"

// read passes the owner of a stack to the hook. An expression that can end an optional
// chain must stay a part of it.
func (h *hooks) read(owner ast.Expression) ast.Expression {
	if _, ok := owner.(*ast.SuperExpression); ok {
		return owner
	}
	o, optional := owner.(*ast.Optional)
	switch {
	case !optional && !endsChain(owner):
		return h.hooked(owner.Idx0(), HookStack, owner)
	case optional && !endsChain(o.Expression):
		o.Expression = h.hooked(o.Expression.Idx0(), HookStack, o.Expression)
	}
	return owner
}

// endsChain reports whether an expression can end the optional chain that it is part of.
func endsChain(e ast.Expression) bool {
	for {
		switch n := e.(type) {
		case *ast.Optional:
			return true
		case *ast.DotExpression:
			e = n.Left
		case *ast.PrivateDotExpression:
			e = n.Left
		case *ast.BracketExpression:
			e = n.Left
		case *ast.CallExpression:
			e = n.Callee
		default:
			return false
		}
	}
}

// takes reports whether a pattern takes a member out by its name.
func takes(pattern *ast.ObjectPattern, name unistring.String) bool {
	for _, p := range pattern.Properties {
		switch p := p.(type) {
		case *ast.PropertyShort:
			if p.Name.Name == name {
				return true
			}
		case *ast.PropertyKeyed:
			switch k := p.Key.(type) {
			case *ast.StringLiteral:
				if k.Value == name && !p.Computed {
					return true
				}
			case *ast.Identifier:
				if k.Name == name && !p.Computed {
					return true
				}
			}
		}
	}
	return false
}

// positioned returns a literal, which has no position, one.
func positioned(e ast.Expression) ast.Expression {
	switch e.(type) {
	case *ast.NullLiteral, *ast.NumberLiteral, *ast.BooleanLiteral:
		at := e.Idx0()
		return &ast.SequenceExpression{Sequence: []ast.Expression{&ast.Identifier{Name: "undefined", Idx: at}, e}}
	}
	return e
}

// hooked returns hookCall and notes that a program of any shape needs the hook.
func (h *hooks) hooked(at file.Idx, what int, arg ast.Expression) ast.Expression {
	h.needed = true
	return hookCall(at, what, arg)
}

func hookCall(at file.Idx, what int, arg ast.Expression) *ast.CallExpression {
	return &ast.CallExpression{
		Callee:          &ast.Identifier{Name: HookName, Idx: at},
		LeftParenthesis: at,
		ArgumentList:    []ast.Expression{number(at, what), arg},
		// A stack shows the start of the call.
		RightParenthesis: at,
	}
}

func number(at file.Idx, n int) *ast.NumberLiteral {
	return &ast.NumberLiteral{Idx: at, Literal: "0", Value: int64(n)}
}

// marked adds a node with a position to an empty loop, which would be reported at the last
// node before it that has one.
func marked(at file.Idx, body ast.Statement) ast.Statement {
	switch b := body.(type) {
	case *ast.EmptyStatement:
	case *ast.BlockStatement:
		if len(b.List) > 0 {
			return body
		}
	default:
		return body
	}
	return &ast.ExpressionStatement{Expression: &ast.Identifier{Name: "undefined", Idx: at}}
}

// declared returns the functions that a statement assigns to a global name.
func declared(s ast.Statement, name unistring.String) []ast.Expression {
	var out []ast.Expression
	bindings := func(list []*ast.Binding) {
		for _, b := range list {
			if is(b.Target, name.String()) && b.Initializer != nil {
				out = append(out, b.Initializer)
			}
		}
	}
	switch s := s.(type) {
	case *ast.FunctionDeclaration:
		if s.Function.Name != nil && s.Function.Name.Name == name {
			out = append(out, s.Function)
		}
	case *ast.VariableStatement:
		bindings(s.List)
	case *ast.LexicalDeclaration:
		bindings(s.List)
	case *ast.ExpressionStatement:
		if a, ok := s.Expression.(*ast.AssignExpression); ok && is(a.Left, name.String()) {
			out = append(out, a.Right)
		}
	}
	return out
}

// watch makes a function call the hook when it is called.
func watch(e ast.Expression) bool {
	switch fn := e.(type) {
	case *ast.FunctionLiteral:
		fn.Body.List = afterDirectives(fn.Body.List, fn.Body.LeftBrace)
		return true
	case *ast.ArrowFunctionLiteral:
		switch b := fn.Body.(type) {
		case *ast.BlockStatement:
			b.List = afterDirectives(b.List, b.LeftBrace)
			return true
		case *ast.ExpressionBody:
			at := b.Expression.Idx0()
			b.Expression = &ast.SequenceExpression{Sequence: []ast.Expression{hookCall(at, HookRan, number(at, 0)), b.Expression}}
			return true
		}
	}
	return false
}

func afterDirectives(list []ast.Statement, at file.Idx) []ast.Statement {
	n := 0
	for n < len(list) && isDirective(list[n]) {
		n++
	}
	call := &ast.ExpressionStatement{Expression: hookCall(at, HookRan, number(at, 0))}
	return append(append(append([]ast.Statement{}, list[:n]...), call), list[n:]...)
}

func isDirective(s ast.Statement) bool {
	e, ok := s.(*ast.ExpressionStatement)
	if !ok {
		return false
	}
	_, ok = e.Expression.(*ast.StringLiteral)
	return ok
}

// boxReturns passes the values of top-level returns to the hook: an async function would
// wait for any thenable, which is data (CONTRACT section 2).
func boxReturns(list []ast.Statement) {
	for _, s := range list {
		Walk(s, func(n any) bool {
			switch n := n.(type) {
			case *ast.ReturnStatement:
				if n.Argument != nil {
					n.Argument = hookCall(n.Return, HookReturn, n.Argument)
				}
			case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
				return false
			}
			return true
		})
	}
}
