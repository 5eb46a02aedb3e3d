package script

import (
	"errors"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// attempt is a way to compile a script, until one succeeds.
type attempt struct {
	Program
	// implicit says that no entry function was named: the default one is then called only
	// if the script did not call it.
	implicit bool
	action   bool // it is the file of an action
	strict   bool // the script begins with "use strict", or is to run as a module
	modules  Modules
}

// Compile compiles a script: unchanged if the engine supports its syntax, otherwise by
// esbuild. The error is an *Error.
func Compile(src Source) (*Program, error) {
	code := Unfence(src.Code)
	p := &attempt{
		Program: Program{at: positions{user: newLines(code)}, Entry: src.Entry}, implicit: src.Entry == "", strict: src.Module || strings.Contains(code, "use strict") && useStrict().MatchString(code), modules: src.Modules,
	}
	if src.Entry != "" && !IsName(src.Entry) {
		return nil, &Error{Message: "entryFunction is not the name of a function: " + strings.ToValidUTF8(src.Entry, "?")}
	}
	if src.Action {
		p.action, p.implicit, p.strict = true, false, true
		c := compiler{attempt: p, loader: loader(src.Language)}
		if err := c.asModule(code); err != nil {
			return nil, err
		}
		return &p.Program, nil
	}
	if p.implicit && word(code, defaultEntry) {
		p.Entry = defaultEntry
	}
	if src.Module {
		if p.try(func(p *attempt) bool { return p.moduleWithout(code) }) {
			return &p.Program, nil
		}
	} else {
		var err error
		if p.try(func(p *attempt) bool { err = p.plain(code); return err == nil }) {
			return &p.Program, nil
		}
		if !worthAnotherTry(err) {
			return nil, p.syntax(err)
		}
		if p.try(func(p *attempt) bool { return p.loneFunction(code) }) || p.try(func(p *attempt) bool { return p.body(code) }) {
			return &p.Program, nil
		}
	}
	if err := p.lower(code, src.Language); err != nil {
		return nil, err
	}
	return &p.Program, nil
}

// try compiles in one of several ways; one that fails has no effect.
func (p *attempt) try(way func(*attempt) bool) bool {
	one := *p
	if !way(&one) {
		return false
	}
	*p = one
	return true
}

// errAwait is the error of a plain script that uses await, which the parser takes for a
// variable.
var errAwait = errors.New("top-level await")

// Errors of the engine's compiler for async generators and for super in the value of a
// field, which its parser accepts.
const (
	noAsyncGenerators = "Async generators are not supported yet"
	noSuperInField    = "'super' keyword unexpected here"
)

// errParser says that the parser failed, not the script.
var errParser = errors.New("the engine cannot parse this script")

// worthAnotherTry is false for errors of the compiler, since the parser accepted the
// script.
func worthAnotherTry(err error) bool {
	var list parser.ErrorList
	var ce *goja.CompilerSyntaxError
	return errors.As(err, &list) || errors.Is(err, errAwait) || errors.Is(err, errParser) || errors.As(err, &ce) && (ce.Message == noAsyncGenerators || ce.Message == noSuperInField)
}

// parse parses JavaScript. If the parser itself fails, as at "\u{10FFFF}", the error is
// errParser.
func parse(text string) (tree *ast.Program, err error) {
	defer func() {
		if x := recover(); x != nil {
			tree, err = nil, errParser
		}
	}()
	// Source maps named in the script would make goja read files.
	tree, err = parser.ParseFile(nil, Name, text, 0, parser.WithDisableSourceMaps)
	if err == nil && word(text, "target") { // the parser forgets where new.target is
		Walk(tree, func(node any) bool {
			if m, ok := node.(*ast.MetaProperty); ok {
				m.Idx = m.Meta.Idx
			}
			return true
		})
	}
	return tree, err
}

// plain compiles a script unchanged.
func (p *attempt) plain(code string) error {
	tree, err := parse(code)
	if err != nil {
		return err
	}
	if word(code, "await") && mentions(tree, "await") {
		return errAwait
	}
	p.inspect(tree)
	if name := lastResult(tree.Body); name != nil {
		tree.Body = append(tree.Body, name)
	}
	compiled, err := p.compile(tree)
	if err != nil {
		return err
	}
	p.Code, p.Shape, p.text = compiled, Plain, code
	return nil
}

// inspect finds out whether a script is one function, and whether it called its
// entry function.
func (p *attempt) inspect(tree *ast.Program) {
	body := tree.Body
	watched := p.instrument(tree, body)
	if only := onlyStatement(body); only != nil {
		if p.Entry != "" && p.Entry != defaultEntry {
			return
		}
		switch s := only.(type) {
		case *ast.ExpressionStatement:
			p.Lone = isFunction(s.Expression)
		case *ast.FunctionDeclaration:
			p.Entry = s.Function.Name.Name.String()
			return
		}
	}
	p.Entry = p.entryOf(body, watched)
}

func isFunction(e ast.Expression) bool {
	switch e.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return true
	}
	return false
}

// loneFunction compiles `function () {...}`, which is not a statement.
func (p *attempt) loneFunction(code string) bool {
	trimmed := strings.TrimSpace(code)
	if !strings.HasPrefix(trimmed, "function") && !strings.HasPrefix(trimmed, "async") {
		return false
	}
	return p.parenthesised(code)
}

// moduleWithout compiles a module that neither imports nor exports, if goja can parse it.
// One that is a single function is treated as elsewhere.
func (p *attempt) moduleWithout(code string) bool {
	if tree, err := parse(code); err == nil {
		switch s := onlyStatement(tree.Body).(type) {
		case *ast.ExpressionStatement:
			if p.implicit && isFunction(s.Expression) {
				return p.parenthesised(code)
			}
		case *ast.FunctionDeclaration:
			if p.implicit {
				p.Entry = s.Function.Name.Name.String()
			}
		}
	} else if p.implicit && p.loneFunction(code) {
		return true
	}
	return p.body(code)
}

// onlyStatement returns the statement of a list that has no other.
func onlyStatement(list []ast.Statement) (only ast.Statement) {
	for _, s := range list {
		if _, empty := s.(*ast.EmptyStatement); empty {
			continue
		}
		if only != nil {
			return nil
		}
		only = s
	}
	return only
}

func (p *attempt) parenthesised(code string) bool {
	text := "(\n" + strings.TrimRight(code, "; \t\r\n") + "\n)"
	tree, err := parse(text)
	if err != nil || len(tree.Body) != 1 {
		return false
	}
	s, ok := tree.Body[0].(*ast.ExpressionStatement)
	if !ok || !isFunction(s.Expression) {
		return false
	}
	compiled, err := p.compile(tree)
	if err != nil {
		return false
	}
	p.Code, p.Shape, p.Lone, p.text, p.at.shift = compiled, Plain, true, text, 1
	return true
}

// body compiles a script as the body of an async function.
func (p *attempt) body(code string) bool {
	text := "(async function(" + HookName + "){" + p.directive() + p.scope() + "\n" + code + "\n})"
	tree, err := parse(text)
	if err != nil {
		return false
	}
	fn, ok := wrapped(tree)
	if !ok || int(fn.Body.RightBrace) != len(text)-1 {
		return false // the script closed the function itself
	}
	own, ok := afterScope(fn.Body.List)
	p.at.shift = 1
	return ok && p.finish(tree, fn, own) == nil
}

// afterScope returns the statements after the one that exposes the entry function; ok is
// false if there is no such statement.
func afterScope(list []ast.Statement) (out []ast.Statement, ok bool) {
	for i, s := range list {
		if isHook(s) {
			return list[i+1:], true
		}
		if _, declares := s.(*ast.VariableStatement); !declares && !isDirective(s) { // the compiler's own variables
			break
		}
	}
	return nil, false
}

// finish compiles an async function; own are those of its statements that are the
// user's.
func (p *attempt) finish(tree *ast.Program, fn *ast.FunctionLiteral, own []ast.Statement) error {
	boxReturns(own)
	p.Entry = p.entryOf(own, p.instrument(tree, own))
	p.single(tree, fn.Body, own)
	if name := lastResult(own); name != nil {
		own = append(own, name)
		fn.Body.List = append(fn.Body.List, name)
	}
	keepLast(own)
	compiled, err := p.compile(tree)
	if err != nil {
		return err
	}
	p.Code, p.Shape, p.text = compiled, Body, tree.File.Source()
	return nil
}

// resultName is the global whose value is a script's result, wherever the script sets it.
const resultName = "result"

// lastResult returns the name of the result as a statement, if a script ends with its declaration:
// a const is no global. It returns nil for other scripts.
func lastResult(list []ast.Statement) ast.Statement {
	for _, s := range slices.Backward(list) {
		var bindings []*ast.Binding
		switch s := s.(type) {
		case *ast.EmptyStatement:
			continue
		case *ast.LexicalDeclaration:
			bindings = s.List
		case *ast.VariableStatement: // in a function, or made of a const by the compiler
			bindings = s.List
		}
		for _, b := range bindings {
			if name, ok := b.Target.(*ast.Identifier); ok && name.Name == resultName && b.Initializer != nil {
				return &ast.ExpressionStatement{Expression: &ast.Identifier{Name: name.Name, Idx: name.Idx}}
			}
		}
		return nil
	}
	return nil
}

// entryOf is "" if the script seems to call the default entry function itself. It is used
// only for a function that cannot be watched.
func (p *attempt) entryOf(list []ast.Statement, watched bool) string {
	if p.Entry == defaultEntry && p.implicit && !watched && calls(list, defaultEntry) {
		return ""
	}
	return p.Entry
}

// directive keeps a script strict if its own directive is no longer the first statement.
func (p *attempt) directive() string {
	if p.strict {
		return `"use strict";`
	}
	return ""
}

// scope returns the statement that exposes the entry function.
func (p *attempt) scope() string {
	if p.Entry == "" {
		return HookName + "(0,void 0);"
	}
	return HookName + "(0,()=>typeof " + p.Entry + `==="undefined"?undefined:` + p.Entry + ");"
}

func wrapped(tree *ast.Program) (*ast.FunctionLiteral, bool) {
	if len(tree.Body) != 1 {
		return nil, false
	}
	s, ok := tree.Body[0].(*ast.ExpressionStatement)
	if !ok {
		return nil, false
	}
	fn, ok := s.Expression.(*ast.FunctionLiteral)
	return fn, ok && fn.Body != nil && len(fn.Body.List) > 0
}

// keepLast passes the value of the last expression statement to the hook, in each branch
// of the last statement if that has branches: an earlier value is not the script's result.
// It reports whether there is one.
func keepLast(list []ast.Statement) bool {
	for _, s := range slices.Backward(list) {
		e, ok := s.(*ast.ExpressionStatement)
		if !ok {
			if keepInside(s) {
				return true
			}
			continue
		}
		at := e.Expression.Idx0()
		e.Expression = &ast.CallExpression{
			Callee:           &ast.Identifier{Name: HookName, Idx: at},
			LeftParenthesis:  at,
			ArgumentList:     []ast.Expression{e.Expression},
			RightParenthesis: e.Expression.Idx1(),
		}
		return true
	}
	return false
}

// keepInside is keepLast for the parts of a statement. Loops are left out: their last
// value is never meant, and the hook would be called in each iteration.
func keepInside(s ast.Statement) bool {
	keep := func(list ...ast.Statement) bool { return keepLast(list) }
	switch s := s.(type) {
	case *ast.BlockStatement:
		return keep(s.List...)
	case *ast.IfStatement:
		then, otherwise := keep(s.Consequent), keep(s.Alternate)
		return then || otherwise
	case *ast.TryStatement:
		tried := keep(s.Body.List...)
		return s.Catch != nil && keep(s.Catch.Body.List...) || tried
	case *ast.SwitchStatement:
		found := false
		for _, c := range s.Body {
			found = keep(c.Consequent...) || found
		}
		return found
	case *ast.LabelledStatement:
		return keep(s.Statement)
	}
	return false
}

// syntax converts an error of goja into an *Error.
func (p *attempt) syntax(err error) *Error {
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		line, column, _ := p.at.find(list[0].Position.Line, list[0].Position.Column)
		return failure(p.at.user, list[0].Message, line, column)
	}
	var re *patternError
	if errors.As(err, &re) {
		line, column, _ := p.at.find(re.at.Line, re.at.Column)
		e := failure(p.at.user, re.why.Message, line, column)
		e.Hint = re.why.Hint
		return e
	}
	var ce *goja.CompilerSyntaxError
	if errors.As(err, &ce) && ce.File != nil {
		at := ce.File.Position(ce.Offset)
		line, column, _ := p.at.find(at.Line, at.Column)
		return failure(p.at.user, ce.Message, line, column)
	}
	return &Error{Message: err.Error()}
}
