// Package validate finds mistakes in a script without running it: names that SDK does not
// have, invalid literals in its calls, and globals that the sandbox does not have
// (CONTRACT section 2, koan.code.validate).
//
// What belongs here: pure functions over a compiled script and the bindings. What must
// never: parsing text itself, running anything, or a finding about a correct script.
// It is linked into the worker, so its imports stay light.
package validate

import (
	"cmp"
	"slices"

	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
	"github.com/koan-go/koan/codemode/internal/wire"
)

// Bounds on one check: the findings that it returns, those that it collects before it knows what the
// script tests for, and the literals that it visits.
const (
	maxDiagnostics = 50
	maxFindings    = 500
	maxVisited     = 50_000
)

// Check returns the mistakes in a compiled script. If ask is nil, operations do not check
// the known inputs of calls. Lines and columns are the user's, in UTF-16 units from 1;
// findings are in the order of the text.
func Check(p *script.Program, b wire.Bindings, ask Ask) []wire.Diagnostic {
	tree, at := p.Tree()
	c := newChecker(b)
	c.ask = ask
	c.compiled = p.Lowered
	for range 2 {
		c.function(c.root, nil, tree.DeclarationList, tree.Body)
		if c.collecting {
			c.prepareReport()
		}
	}
	return c.report(at)
}

// finding is a diagnostic before its position is known.
type finding struct {
	at      file.Idx
	subject string // what does not exist, to be compared with checker.tested
	wire.Diagnostic
}

// report adds positions to the findings, without those that the script itself tests for
// and those in code that the compiler added.
func (c *checker) report(at func(file.Idx) (line, column int, ok bool)) []wire.Diagnostic {
	found := slices.DeleteFunc(c.found, func(f finding) bool { return f.subject != "" && c.tested[f.subject] })
	slices.SortStableFunc(found, func(a, b finding) int { return cmp.Compare(a.at, b.at) })
	found = slices.CompactFunc(found, func(a, b finding) bool { return a.at == b.at && a.Code == b.Code && a.Message == b.Message }) // a literal that several calls share
	var out []wire.Diagnostic
	for _, f := range found {
		if len(out) == maxDiagnostics {
			break
		}
		var ok bool
		if f.Line, f.Column, ok = at(f.at); ok {
			out = append(out, f.Diagnostic)
		}
	}
	return out
}
