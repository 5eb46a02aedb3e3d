package script

import (
	"errors"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
)

// Compile compiles a script. The error is an *Error.
func Compile(src Source) (*Program, error) {
	code := Unfence(src.Code)
	p := &Program{
		text: code, user: newLines(code), Entry: src.Entry, implicit: src.Entry == "", strict: src.Module || useStrict.MatchString(code), modules: src.Modules,
		Lowered: src.Lowered,
	}
	if src.Entry != "" && !IsName(src.Entry) {
		return nil, &Error{Message: "entryFunction is not the name of a function: " + strings.ToValidUTF8(src.Entry, "?")}
	}
	if p.implicit && word(code, defaultEntry) {
		p.Entry = defaultEntry
	}
	if src.Module {
		if p.moduleWithout(code) {
			return p, nil
		}
	} else {
		err := p.plain(code)
		if err == nil {
			return p, nil
		}
		if !worthAnotherTry(err) {
			return nil, p.syntax(err)
		}
		if p.loneFunction(code) || p.body(code) {
			return p, nil
		}
	}
	if p.Lowered == nil && p.strip(code, src.Language) {
		return p, nil
	}
	if err := p.module(code, src.Language); err != nil {
		return nil, err
	}
	return p, nil
}

// errAwait says that a plain script uses await as a variable, as the parser sees
// it.
var errAwait = errors.New("top-level await")

// What the engine's compiler says of async generators and of super in the value of a
// field, which its parser takes.
const (
	noAsyncGenerators = "Async generators are not supported yet"
	noSuperInField    = "'super' keyword unexpected here"
)

// errParser says that the parser failed, not the script.
var errParser = errors.New("the engine cannot parse this script")

// worthAnotherTry is false for what the compiler found: the parser took it.
func worthAnotherTry(err error) bool {
	var list parser.ErrorList
	var ce *goja.CompilerSyntaxError
	return errors.As(err, &list) || errors.Is(err, errAwait) || errors.Is(err, errParser) || errors.As(err, &ce) && (ce.Message == noAsyncGenerators || ce.Message == noSuperInField)
}

// parse parses JavaScript. The error of what the parser fails at itself, such as
// "\u{10FFFF}", is errParser.
func parse(text string) (tree *ast.Program, err error) {
	defer func() {
		if x := recover(); x != nil {
			tree, err = nil, errParser
		}
	}()
	// Source maps named in the script would make goja read files.
	return parser.ParseFile(nil, Name, text, 0, parser.WithDisableSourceMaps)
}

// plain compiles a script as it stands.
func (p *Program) plain(code string) error {
	tree, err := parse(code)
	if err != nil {
		return err
	}
	if word(code, "await") && mentions(tree, "await") {
		return errAwait
	}
	p.inspect(tree)
	compiled, err := p.compile(tree)
	if err != nil {
		return err
	}
	p.Code, p.Shape = compiled, Plain
	return nil
}

// inspect finds out whether a script is one function, and whether it called its
// entry function.
func (p *Program) inspect(tree *ast.Program) {
	body := tree.Body
	watched := p.instrument(tree, body)
	if only := lone(body); only != nil {
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

// loneFunction compiles `function () {...}`, which is no statement.
func (p *Program) loneFunction(code string) bool {
	trimmed := strings.TrimSpace(code)
	if !strings.HasPrefix(trimmed, "function") && !strings.HasPrefix(trimmed, "async") {
		return false
	}
	return p.parenthesised(code)
}

// moduleWithout compiles a module that neither imports nor exports, where goja
// can parse it. One that is a single function is treated as elsewhere.
func (p *Program) moduleWithout(code string) bool {
	if tree, err := parse(code); err == nil {
		switch s := lone(tree.Body).(type) {
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

// lone gives the statement of a list that has no other.
func lone(list []ast.Statement) (only ast.Statement) {
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

func (p *Program) parenthesised(code string) bool {
	tree, err := parse("(" + strings.TrimRight(code, "; \t\r\n") + "\n)")
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
	p.Code, p.Shape, p.Lone, p.shift = compiled, Plain, true, 1
	return true
}

// body compiles a script as the body of an async function.
func (p *Program) body(code string) bool {
	head, tail := p.wrapper()
	tree, err := parse(head + code + tail)
	if err != nil {
		return false
	}
	fn, ok := wrapped(tree)
	if !ok || int(fn.Body.RightBrace) != len(head)+len(code)+len(tail)-1 {
		return false // the script closed the function itself
	}
	list := fn.Body.List[1:] // after the hook's own statement
	if p.strict {
		list = list[1:]
	}
	boxReturns(list)
	p.Entry = p.entryOf(list, p.instrument(tree, list))
	keepLast(list, func(*ast.ExpressionStatement) bool { return true })
	compiled, err := p.compile(tree)
	if err != nil {
		return false
	}
	p.Code, p.Shape, p.shift = compiled, Body, len(head)
	return true
}

// entryOf is "" where the script calls the default entry function itself, as far
// as its text tells: only for a function that cannot be watched.
func (p *Program) entryOf(list []ast.Statement, watched bool) string {
	if p.Entry == defaultEntry && p.implicit && !watched && calls(list, defaultEntry) {
		return ""
	}
	return p.Entry
}

func (p *Program) wrapper() (head, tail string) {
	return "(async function(" + HookName + "){" + p.directive() + p.scope(), "\n})"
}

// directive keeps a script strict whose own directive is not the first statement
// any more.
func (p *Program) directive() string {
	if p.strict {
		return `"use strict";`
	}
	return ""
}

// scope gives the statement that hands out the entry function.
func (p *Program) scope() string {
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

// keepLast hands the value of the last expression statement that counts to the
// hook, in each branch where the last statement has some: a value from before it is
// not what the script ends with. It tells whether there is one.
func keepLast(list []ast.Statement, counts func(*ast.ExpressionStatement) bool) bool {
	for i := len(list) - 1; i >= 0; i-- {
		s, ok := list[i].(*ast.ExpressionStatement)
		if !ok {
			if keepInside(list[i], counts) {
				return true
			}
			continue
		}
		if !counts(s) {
			continue
		}
		at := s.Expression.Idx0()
		s.Expression = &ast.CallExpression{
			Callee:           &ast.Identifier{Name: HookName, Idx: at},
			LeftParenthesis:  at,
			ArgumentList:     []ast.Expression{s.Expression},
			RightParenthesis: s.Expression.Idx1(),
		}
		return true
	}
	return false
}

// keepInside is keepLast of what a statement is made of. Loops are left out: nobody
// means their last value, and the hook would be called in each round.
func keepInside(s ast.Statement, counts func(*ast.ExpressionStatement) bool) bool {
	keep := func(list ...ast.Statement) bool { return keepLast(list, counts) }
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

// syntax turns an error of goja's into ours.
func (p *Program) syntax(err error) *Error {
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		line, column, _ := p.Position(list[0].Position.Line, list[0].Position.Column)
		return failure(p.user, list[0].Message, line, column)
	}
	var re *patternError
	if errors.As(err, &re) {
		line, column, _ := p.Position(re.at.Line, re.at.Column)
		e := failure(p.user, re.why.Message, line, column)
		e.Hint = re.why.Hint
		return e
	}
	var ce *goja.CompilerSyntaxError
	if errors.As(err, &ce) && ce.File != nil {
		at := ce.File.Position(ce.Offset)
		line, column, _ := p.Position(at.Line, at.Column)
		return failure(p.user, ce.Message, line, column)
	}
	return &Error{Message: err.Error()}
}
