package script

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// CallTool is the function that returns a call's result at once, or a promise of it where the script
// treats it as one.
const CallTool = "callTool"

// promisedKind is what a place in a script takes.
type promisedKind int

const (
	aPromise  promisedKind = iota + 1
	aList                  // of promises
	aFunction              // that returns one
)

// promisedCalls finds the calls of CallTool whose result can only be taken for a promise: it is awaited,
// a member of the list that Promise.all is given, or what an async function returns. There a promise
// differs from the result in nothing but that calls can be made at the same time. Variables and
// functions are followed by their names, as long as all that the script does with them is of that kind.
type promisedCalls struct {
	found map[*ast.CallExpression]bool
	names map[string]*promisedName
	uses  map[*ast.Identifier]promisedKind
}

// promisedName is a name of variables or functions.
type promisedName struct {
	places  []*ast.Identifier // all that have it
	set     map[*ast.Identifier]bool
	sources []promisedSource
	known   bool // its sources were followed
}

// promisedSource is a value that a name is set to, and what the value is where the name is a promise, a
// list or a function; 0 for nothing.
type promisedSource struct {
	value                         ast.Expression
	ofPromise, ofList, ofFunction promisedKind
}

// findPromisedCalls returns the calls of CallTool in a tree that may return a promise.
func findPromisedCalls(tree *ast.Program) map[*ast.CallExpression]bool {
	p := &promisedCalls{found: map[*ast.CallExpression]bool{}, names: map[string]*promisedName{}, uses: map[*ast.Identifier]promisedKind{}}
	Walk(tree, func(n any) bool {
		p.look(n)
		return true
	})
	for again := true; again; {
		again = false
		for _, n := range p.names {
			if kind := p.kindOf(n); kind != 0 && !n.known {
				n.known, again = true, true
				p.follow(n, kind)
			}
		}
	}
	return p.found
}

func (p *promisedCalls) name(of string) *promisedName {
	if p.names[of] == nil {
		p.names[of] = &promisedName{set: map[*ast.Identifier]bool{}}
	}
	return p.names[of]
}

// look notes what a node says of names, and what it takes.
func (p *promisedCalls) look(n any) {
	switch n := n.(type) {
	case *ast.Identifier:
		one := p.name(n.Name.String())
		one.places = append(one.places, n)
	case *ast.PropertyShort: // {name}
		one := p.name(n.Name.Name.String())
		one.places = append(one.places, &n.Name)
	case *ast.Binding:
		p.sets(n.Target, n.Initializer)
	case *ast.AssignExpression:
		if n.Operator == token.ASSIGN {
			p.sets(n.Left, n.Right)
		}
	case *ast.ForOfStatement:
		p.takesEach(n)
	case *ast.AwaitExpression:
		p.take(n.Argument, aPromise, true)
	case *ast.CallExpression:
		p.lookAtCall(n)
	case *ast.FunctionLiteral:
		if n.Name != nil {
			one := p.name(n.Name.Name.String())
			one.set[n.Name] = true
			one.sources = append(one.sources, promisedSource{value: n, ofFunction: aFunction})
		}
		if n.Async && !n.Generator {
			p.takeReturns(n.Body)
		}
	case *ast.ArrowFunctionLiteral:
		if n.Async {
			p.take(n, aFunction, false)
		}
	}
}

// sets notes that a name is set to a value, which may be absent.
func (p *promisedCalls) sets(target any, value ast.Expression) {
	id, ok := target.(*ast.Identifier)
	if !ok {
		return
	}
	one := p.name(id.Name.String())
	one.set[id] = true
	if value != nil {
		one.sources = append(one.sources, promisedSource{value, aPromise, aList, aFunction})
	}
}

// takesEach follows `for (const p of list)`.
func (p *promisedCalls) takesEach(n *ast.ForOfStatement) {
	if into, ok := n.Into.(*ast.ForDeclaration); ok {
		if id, ok := into.Target.(*ast.Identifier); ok {
			one := p.name(id.Name.String())
			one.set[id] = true
			one.sources = append(one.sources, promisedSource{value: n.Source, ofPromise: aList})
		}
	}
}

// lookAtCall notes what a call takes: Promise.all(list), promise.then(f), list.push(promise).
func (p *promisedCalls) lookAtCall(n *ast.CallExpression) {
	of, ok := n.Callee.(*ast.DotExpression)
	if !ok || len(n.ArgumentList) == 0 {
		return
	}
	on, _ := of.Left.(*ast.Identifier)
	switch method := of.Identifier.Name.String(); {
	case on != nil && on.Name == "Promise":
		switch method {
		case "all", "allSettled", "race", "any":
			p.take(n.ArgumentList[0], aList, true)
		case "resolve":
			p.take(n.ArgumentList[0], aPromise, true)
		}
	case method == "then", method == "catch", method == "finally":
		p.take(of.Left, aPromise, true)
		for _, f := range n.ArgumentList {
			p.take(f, aFunction, false)
		}
	case on != nil && method == "push":
		one := p.name(on.Name.String())
		one.set[on] = true
		for _, v := range n.ArgumentList {
			one.sources = append(one.sources, promisedSource{value: v, ofList: aPromise})
		}
	}
}

// take follows an expression whose value is taken as a kind. Names are followed only where the script
// says itself that they are promises: what an async function returns may be anything.
func (p *promisedCalls) take(e ast.Expression, kind promisedKind, says bool) {
	switch n := e.(type) {
	case *ast.Identifier:
		if says {
			p.uses[n] = kind
		}
	case *ast.ConditionalExpression:
		p.take(n.Consequent, kind, says)
		p.take(n.Alternate, kind, says)
	case *ast.SequenceExpression:
		p.take(n.Sequence[len(n.Sequence)-1], kind, says)
	case *ast.ArrayLiteral:
		if kind == aList {
			for _, one := range n.Value {
				if spread, ok := one.(*ast.SpreadElement); ok {
					p.take(spread.Expression, aList, says)
				} else if one != nil {
					p.take(one, aPromise, says)
				}
			}
		}
	case *ast.FunctionLiteral:
		if kind == aFunction && !n.Generator {
			p.takeReturns(n.Body)
		}
	case *ast.ArrowFunctionLiteral:
		if kind != aFunction {
			return
		}
		switch body := n.Body.(type) {
		case *ast.BlockStatement:
			p.takeReturns(body)
		case *ast.ExpressionBody:
			p.take(body.Expression, aPromise, false)
		}
	case *ast.CallExpression:
		p.takeCall(n, kind, says)
	}
}

// takeCall follows what a call returns.
func (p *promisedCalls) takeCall(n *ast.CallExpression, kind promisedKind, says bool) {
	switch callee := n.Callee.(type) {
	case *ast.Identifier:
		switch {
		case callee.Name == HookName && len(n.ArgumentList) == 2:
			p.take(n.ArgumentList[1], kind, says)
		case callee.Name == CallTool && kind == aPromise:
			p.found[n] = true
		case kind == aPromise:
			p.uses[callee] = aFunction
		}
	case *ast.DotExpression:
		from, _ := callee.Left.(*ast.Identifier)
		switch {
		case kind != aList || len(n.ArgumentList) == 0:
		case callee.Identifier.Name == "map":
			p.take(n.ArgumentList[0], aFunction, true)
		case callee.Identifier.Name == "from" && from != nil && from.Name == "Array" && len(n.ArgumentList) > 1:
			p.take(n.ArgumentList[1], aFunction, true)
		}
	}
}

// takeReturns follows what a function returns. Within try it is left alone: a result that is an error
// is caught there, and a promise is not.
func (p *promisedCalls) takeReturns(body *ast.BlockStatement) {
	Walk(body, func(n any) bool {
		switch n := n.(type) {
		case *ast.ReturnStatement:
			p.take(n.Argument, aPromise, false)
		case *ast.TryStatement, *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
			return false
		}
		return true
	})
}

// kindOf returns what all uses of a name take it for, 0 if they differ.
func (p *promisedCalls) kindOf(n *promisedName) (kind promisedKind) {
	for _, at := range n.places {
		switch use := p.uses[at]; {
		case use == 0 && n.set[at]:
		case use == 0 || kind != 0 && use != kind:
			return 0
		default:
			kind = use
		}
	}
	return kind
}

// follow follows what a name is set to.
func (p *promisedCalls) follow(n *promisedName, kind promisedKind) {
	for _, s := range n.sources {
		as := map[promisedKind]promisedKind{aPromise: s.ofPromise, aList: s.ofList, aFunction: s.ofFunction}[kind]
		if as != 0 {
			p.take(s.value, as, true)
		}
	}
}
