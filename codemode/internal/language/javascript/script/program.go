package script

import (
	"fmt"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// Shape is the way to run a compiled program.
type Shape int

const (
	// Plain runs in the global scope; its value is that of the last expression
	// statement.
	Plain Shape = iota
	// Body is an async function that has to be called with a hook (HookName).
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
	// Lone means that the script is a single function expression, which must be called.
	Lone bool
	// Entry is the name of the function to call after the script if it exists, "" for none.
	Entry string
	// Patterns are the original sources of the regular expressions that were rewritten
	// for the engine, by the rewritten ones.
	Patterns map[string]string
	// Hooked means that a Plain program needs the hook.
	Hooked bool
	// Lowered means that esbuild compiled the script, since the engine cannot parse it.
	Lowered bool

	text string // the parsed text, including the text around the user's
	at   positions
}

// Position returns the user's line and column of a position in the compiled text, which is
// in bytes. All count from 1; ok is false if it is not in the user's text.
func (p *Program) Position(line, column int) (userLine, userColumn int, ok bool) {
	return p.at.find(line, column)
}

// Tree parses the compiled text again, the script or esbuild's output, and returns its
// syntax tree. at returns the user's line and column of a node; ok is false for a node that
// the user did not write.
func (p *Program) Tree() (tree *ast.Program, at func(file.Idx) (line, column int, ok bool)) {
	tree, err := parse(p.text)
	if err != nil { // it was parsed before
		return &ast.Program{}, nil
	}
	if p.Lowered {
		p.unwrapRequire(tree)
	}
	return tree, func(i file.Idx) (int, int, bool) { return p.placeOf(tree, i) }
}

// placeOf returns the user's line and column of a place in a tree.
func (p *Program) placeOf(tree *ast.Program, at file.Idx) (line, column int, ok bool) {
	place := tree.File.Position(int(at) - tree.File.Base())
	return p.at.find(place.Line, place.Column)
}

// failure returns an Error that quotes its line.
func failure(user lines, message string, line, column int) *Error {
	if q := user.quote(line); q != "" {
		message = fmt.Sprintf("%s (line %d: %q)", message, line, q)
	}
	return &Error{Message: message, Line: line, Column: column}
}
