// Package validate finds mistakes in a script without running it: names that SDK does not
// have, invalid literals in its calls, and globals that the sandbox does not have
// (CONTRACT section 2, koan.code.validate).
//
// What belongs here: pure functions over a compiled script and the bindings. Not here:
// parsing text itself, running anything, or a finding about a correct script.
// It is linked into the worker, so its imports stay light.
package validate

import (
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
	w := newWalk(b, ask, p.Lowered)
	w.function(w.root, nil, tree.DeclarationList, tree.Body)
	w.startReport()
	w.function(w.root, nil, tree.DeclarationList, tree.Body)
	return w.findings.report(at)
}

// newWalk returns what walks a program twice: first to collect how names are used, then to report findings.
func newWalk(b wire.Bindings, ask Ask, compiled bool) *statements {
	names := newUsage()
	fs, a, l := newFindings(), newAPI(b), &literals{names: names}
	x := &expressions{
		members: &members{findings: fs, api: a, names: names}, root: &scope{}, compiled: compiled,
		options: &options{&filters{&fields{fs, a}, l}}, inputs: &inputs{findings: fs, literals: l, ask: ask},
	}
	x.statements = &statements{x}
	return x.statements
}

func (w *statements) startReport() {
	w.findings.startReport()
	w.root = &scope{}
}
