package script

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/koan-go/koan/codemode/script/strip"
)

// origin is the way from the text that was parsed to the one that the user sent, for
// a script whose types were taken out.
type origin struct {
	stripped *strip.Stripped
	code     string // the user's
	// Where the lines of both begin; nil until a place is asked for, which few scripts do.
	starts, sent []int
}

// strip compiles a module, or TypeScript, without the compiler. false is no verdict:
// the compiler finds out what is wrong, if something is.
func (p *Program) strip(code, language string) bool {
	s, ok := strip.Strip(code, strip.Options{Types: language != "javascript", Modules: true})
	if !ok || s.Returns && (s.Default != "" || len(s.Exports) > 0) {
		return false
	}
	imports, count, ok := p.imports(s)
	if !ok {
		return false
	}
	head, tail := p.wrapper()
	head += imports
	if s.Default != "" {
		tail = "\n;" + HookName + "(" + strconv.Itoa(HookDefault) + "," + s.Default + ");" + tail
	}
	text := head + s.Text + tail
	tree, err := parse(text)
	if err != nil {
		return false
	}
	fn, ok := wrapped(tree)
	if !ok || int(fn.Body.RightBrace) != len(text)-1 {
		return false // the script closed the function itself
	}
	own := fn.Body.List[1+count:] // after the hook's own statement
	if p.strict {
		own = own[1:]
	}
	if s.Default != "" {
		own = own[:len(own)-1]
	}
	if !declares(own, s.Exports) || assigns(own, s.Imports) {
		return false
	}
	if s.Returns {
		boxReturns(own)
	}
	entry := p.Entry
	p.Entry = p.entryOf(own, p.instrument(tree, own))
	p.single(fn.Body, own)
	keepLast(own, func(*ast.ExpressionStatement) bool { return true })
	compiled, err := p.compile(tree)
	if err != nil {
		p.Entry, p.Lone, p.Hooked, p.Patterns = entry, false, false, nil
		return false
	}
	p.Code, p.Shape, p.text, p.shift = compiled, Body, text, len(head)
	p.from = &origin{stripped: s, code: code}
	return true
}

// imports gives the statements that stand for those that were taken out, and how many
// they are. ok is false where one asks for what no module has.
func (p *Program) imports(s *strip.Stripped) (text string, count int, ok bool) {
	var b strings.Builder
	declare := func(target string, what int, path string) {
		if target != "" {
			b.WriteString("const " + target + "=")
		}
		b.WriteString(HookName + "(" + strconv.Itoa(what) + "," + strconv.Quote(path) + ");")
		count++
	}
	for _, i := range s.Imports {
		exports, known := p.exports(i.Path)
		if !known {
			return "", 0, false
		}
		names := make([]string, 0, len(i.Names))
		for _, n := range i.Names {
			switch {
			case n.Theirs == "default":
				declare(n.Ours, HookImport, i.Path)
			case slices.Contains(exports, n.Theirs):
				names = append(names, n.Theirs+":"+n.Ours)
			case n.Theirs != typesOnly || word(s.Text, n.Ours):
				return "", 0, false
			}
		}
		if i.Whole != "" {
			declare(i.Whole, HookWhole, i.Path)
		}
		if i.Default != "" {
			declare(i.Default, HookImport, i.Path)
		}
		switch {
		case len(names) > 0:
			declare("{"+strings.Join(names, ",")+"}", HookImport, i.Path)
		case i.Whole == "" && i.Default == "":
			declare("", HookImport, i.Path)
		}
	}
	return b.String(), count, true
}

// declares tells whether statements declare all of some names.
func declares(list []ast.Statement, names []string) bool {
	if len(names) == 0 {
		return true
	}
	known := map[string]bool{}
	bindings := func(list []*ast.Binding) {
		for _, b := range list {
			if id, ok := b.Target.(*ast.Identifier); ok {
				known[id.Name.String()] = true
			}
		}
	}
	for _, s := range list {
		switch s := s.(type) {
		case *ast.VariableStatement:
			bindings(s.List)
		case *ast.LexicalDeclaration:
			bindings(s.List)
		case *ast.FunctionDeclaration:
			known[s.Function.Name.Name.String()] = true
		case *ast.ClassDeclaration:
			known[s.Class.Name.Name.String()] = true
		}
	}
	return !slices.ContainsFunc(names, func(n string) bool { return !known[n] })
}

// assigns tells whether statements may give another value to what is imported, which
// no module can; the compiler knows which name is meant.
func assigns(list []ast.Statement, imports []strip.Import) bool {
	ours := map[string]bool{}
	for _, i := range imports {
		ours[i.Default], ours[i.Whole] = true, true
		for _, n := range i.Names {
			ours[n.Ours] = true
		}
	}
	if len(ours) == 0 {
		return false
	}
	found := false
	target := func(e any) {
		Walk(e, func(n any) bool {
			id, ok := n.(*ast.Identifier)
			found = found || ok && ours[id.Name.String()]
			return !found
		})
	}
	Walk(list, func(n any) bool {
		switch n := n.(type) {
		case *ast.AssignExpression:
			target(n.Left)
		case *ast.UnaryExpression:
			if n.Operator == token.INCREMENT || n.Operator == token.DECREMENT {
				target(n.Operand)
			}
		case *ast.ForIntoExpression:
			target(n.Expression)
		}
		return !found
	})
	return found
}

// position gives the user's line and column of a place in the parsed text, both from
// 1, the place's column in bytes from where the stripped text begins in its line.
func (o *origin) position(user lines, line, column int) (int, int, bool) {
	if o.starts == nil {
		o.starts, o.sent = LineStarts(o.stripped.Text), LineStarts(o.code)
	}
	if line < 1 || line > len(o.starts) || column < 1 {
		return 0, 0, false
	}
	at, ok := o.stripped.Origin(o.starts[line-1] + column - 1)
	if !ok {
		return 0, 0, false
	}
	i, found := slices.BinarySearch(o.sent, at)
	if !found {
		i--
	}
	return i + 1, user.column(i+1, at-o.sent[i]+1), true
}

// LineStarts gives the offset of each line of a text, by the rules of JavaScript.
func LineStarts(text string) []int {
	starts := []int{0}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n', c == '\r' && (i+1 == len(text) || text[i+1] != '\n'):
			starts = append(starts, i+1)
		case c == 0xe2 && (strings.HasPrefix(text[i:], "\u2028") || strings.HasPrefix(text[i:], "\u2029")):
			starts = append(starts, i+len("\u2028"))
		}
	}
	return starts
}

// bytesBefore turns a column in characters into one in bytes, both from 1.
func bytesBefore(line string, column int) int {
	at := 0
	for ; column > 1 && at < len(line); column-- {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return at + 1
}
