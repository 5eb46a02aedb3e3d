// Package validate finds what is wrong with a script without running it: names
// that SDK does not have, wrong literals in its calls, and globals that the
// sandbox does not offer (CONTRACT section 2, koan.code.validate).
//
// What belongs here: pure functions over a parsed script and the bindings. What
// must never: running anything, or a finding that a correct script could cause.
// It is linked into the worker, so its imports stay light.
package validate

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"

	"github.com/koan-go/koan/codemode/script"
	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/framework/fault"
)

// The codes of diagnostics: a list of their own, apart from the faults'.
const (
	Parse               = "parse"
	UnknownEntity       = "unknown_entity"
	UnknownDomain       = "unknown_domain"
	UnknownMethod       = "unknown_method"
	UnknownSet          = string(fault.UnknownSet) // the one name that both lists have
	UnknownField        = "unknown_field"
	UnknownOperator     = "unknown_operator"
	UnknownRelationship = "unknown_relationship"
	UnknownOption       = "unknown_option"
	UnknownModule       = "unknown_module" // of an import; the compiler finds it
	UnknownExport       = "unknown_export" // likewise
	ReadOnlyEntity      = "read_only_entity"
	ForbiddenGlobal     = "forbidden_global"
	UnknownGlobal       = "unknown_global"
	InvalidArgument     = "invalid_argument" // what the operation says of a call's input
)

// Severities of diagnostics. Only errors make a script invalid.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// Bounds on one check: what it reports, what it collects before it knows what the
// script tests for itself, and how many literals it looks at.
const (
	maxDiagnostics = 50
	maxFindings    = 500
	maxLooks       = 50_000
)

// Position maps a line and column of the checked text to the user's, all from 1.
type Position func(line, column int) (int, int)

// Check finds what is wrong with a script that parses: one that statements,
// top-level `return` and top-level `await` make up. It reports nothing for other
// text, TypeScript and modules among it: their compiler reports what does not
// parse, and what it makes of them goes through CheckMapped. Lines and columns
// count characters from 1; findings come in the order of the text.
func Check(src string, b wire.Bindings) []wire.Diagnostic {
	return CheckMapped(src, nil, b)
}

// CheckMapped checks JavaScript that was made from the user's source; at maps its
// positions back. A nil at means that src is the user's own.
func CheckMapped(src string, at Position, b wire.Bindings) []wire.Diagnostic {
	return CheckCalls(src, at, b, nil)
}

// CheckCalls is CheckMapped that also has operations check what a script's literals
// show of the inputs that it calls them with. A nil ask leaves that out.
func CheckCalls(src string, at Position, b wire.Bindings, ask Ask) []wire.Diagnostic {
	program, shift := parse(src)
	if program == nil {
		return nil
	}
	c := newChecker(b)
	c.ask = ask
	c.compiled = at != nil
	for range 2 {
		c.function(c.root, nil, program.DeclarationList, program.Body)
		if c.first {
			c.again()
		}
	}
	return c.report(src, shift, at)
}

// wrapper makes top-level return and await parse, on the first line, so that
// only offsets move.
const wrapper, unwrapper = "(async function(){", "\n})"

func parse(src string) (*ast.Program, int) {
	quiet := parser.WithDisableSourceMaps
	if p, err := parser.ParseFile(nil, "", src, 0, quiet); err == nil {
		return p, 0
	}
	if p, err := parser.ParseFile(nil, "", wrapper+src+unwrapper, 0, quiet); err == nil {
		return p, len(wrapper)
	}
	return nil, 0
}

// finding is a diagnostic before its position is known.
type finding struct {
	at      file.Idx
	subject string // what it says does not exist, to be compared with the tested
	wire.Diagnostic
}

// report places the findings, without those that the script itself tests for.
func (c *checker) report(src string, shift int, at Position) []wire.Diagnostic {
	found := slices.DeleteFunc(c.found, func(f finding) bool { return f.subject != "" && c.tested[f.subject] })
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(a.at, b.at) })
	found = slices.CompactFunc(found, func(a, b finding) bool { return a.at == b.at && a.Code == b.Code && a.Message == b.Message }) // a literal that several calls share
	if len(found) > maxDiagnostics {
		found = found[:maxDiagnostics]
	}
	lines := newLines(src)
	out := make([]wire.Diagnostic, 0, len(found))
	for _, f := range found {
		f.Line, f.Column = lines.position(int(f.at) - 1 - shift)
		if at != nil {
			f.Line, f.Column = at(f.Line, f.Column)
		}
		out = append(out, f.Diagnostic)
	}
	return out
}

// lines turns byte offsets into lines and columns.
type lines struct {
	src    string
	starts []int
}

func newLines(src string) *lines {
	return &lines{src: src, starts: script.LineStarts(src)}
}

func (l *lines) position(offset int) (line, column int) {
	offset = min(max(offset, 0), len(l.src))
	i, ok := slices.BinarySearch(l.starts, offset)
	if !ok {
		i--
	}
	return i + 1, utf8.RuneCountInString(l.src[l.starts[i]:offset]) + 1
}
