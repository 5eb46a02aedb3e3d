package script

import (
	"fmt"

	"github.com/dop251/goja"
	"github.com/go-sourcemap/sourcemap"
)

// Shape says how a compiled program is run.
type Shape int

const (
	// Plain runs in the global scope; its value is that of the last expression
	// statement.
	Plain Shape = iota
	// Body gives an async function that has to be called with a hook (HookName).
	Body
)

// HookName is the parameter of a Body, and a global of a Plain program that is
// Hooked. It is called as hook(value) with the value of the last expression
// statement, and as hook(what, value) with HookEntry and its like.
const HookName = "$koan$"

// Program is a compiled script.
type Program struct {
	Code  *goja.Program
	Shape Shape
	// Lone tells that the script is one function expression, which is called.
	Lone bool
	// Entry names the function to call after the script when it exists, "" for
	// none.
	Entry string
	// Patterns are the sources of the regular expressions that were rewritten for
	// the engine, by what they became.
	Patterns map[string]string
	// Hooked tells that a Plain program needs the hook.
	Hooked bool
	// Lowered is what the compiler made of the script, nil where it was not needed.
	Lowered *Lowered

	text string // what findings of a check refer to
	user lines
	// implicit says that nobody named the entry function: the default one is then
	// called only where the script did not.
	implicit bool
	strict   bool // the script begins with "use strict", or is to run as a module
	modules  Modules

	shift  int // bytes that stand before the user's text in its first line
	mapped *sourcemap.Consumer
	opens  int // the line of what esbuild made that begins with the user's first byte, 0 for none
	from   *origin
}

// Position turns a position in the parsed text, from 1 and in bytes, into the
// user's. ok is false for what is not the user's text.
func (p *Program) Position(line, column int) (userLine, userColumn int, ok bool) {
	if p.mapped != nil {
		source, _, l, c, found := p.mapped.Source(line, column-1)
		if !found && line == p.opens {
			return 1, 1, true
		}
		if l == 1 {
			c -= p.shift
		}
		if !found || source != userSource || l > len(p.user.text) || c < 0 {
			return 0, 0, false
		}
		return l, c + 1, true
	}
	if line == 1 {
		column -= p.shift
		if column < 1 {
			return 0, 0, false
		}
	}
	if p.from != nil {
		return p.from.position(p.user, line, column)
	}
	if line < 1 || line > len(p.user.text) {
		return 0, 0, false
	}
	return line, p.user.column(line, column), true
}

// Checked gives the JavaScript that package validate checks, and the way from its
// positions to the user's: nil where they are the same, 0 for what is not the
// user's text.
func (p *Program) Checked() (text string, at func(line, column int) (int, int)) {
	if p.from != nil {
		parsed := newLines(p.text)
		return p.text, func(line, column int) (int, int) {
			line, column, _ = p.Position(line, bytesBefore(parsed.line(line), column))
			return line, column
		}
	}
	if p.mapped == nil {
		return p.text, nil
	}
	return p.text, func(line, column int) (int, int) {
		line, column, _ = p.Position(line, column)
		return line, column
	}
}

// Quote gives the text of one of the user's lines, cut for a message.
func (p *Program) Quote(line int) string { return p.user.quote(line) }

// failure makes an Error with a quote of its line.
func failure(user lines, message string, line, column int) *Error {
	if q := user.quote(line); q != "" {
		message = fmt.Sprintf("%s (line %d: %q)", message, line, q)
	}
	return &Error{Message: message, Line: line, Column: column}
}
