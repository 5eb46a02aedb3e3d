package validate

import (
	"cmp"
	"slices"

	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// finding is a diagnostic before its position is known.
type finding struct {
	at      file.Idx
	subject string // what does not exist, to be compared with findings.tested
	wire.Diagnostic
}

// findings are what one walk of a program found.
type findings struct {
	found      []finding
	tested     map[string]bool // subjects whose existence the script tests itself
	collecting bool            // this is the first walk, which reports nothing
	handlers   int             // how many handlers of failures enclose the code
}

func newFindings() *findings { return &findings{tested: map[string]bool{}, collecting: true} }

// startReport starts the second walk.
func (fs *findings) startReport() { *fs = findings{tested: map[string]bool{}} }

// report adds positions to the findings, without those that the script itself tests for
// and those in code that the compiler added.
func (fs *findings) report(at func(file.Idx) (line, column int, ok bool)) []wire.Diagnostic {
	found := slices.DeleteFunc(fs.found, func(f finding) bool { return f.subject != "" && fs.tested[f.subject] })
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

// reporting reports whether further findings are kept.
func (fs *findings) reporting() bool { return !fs.collecting && len(fs.found) < maxFindings }

// fail adds a finding. One whose subject the script tests for somewhere is not reported in the end.
func (fs *findings) fail(at file.Idx, subject, code, message, hint string) {
	fs.add(finding{at: at, subject: subject, Diagnostic: wire.Diagnostic{Code: code, Message: message, Hint: hint}})
}

// failAt adds a finding about a value in the input of a call, with its JSON Pointer.
func (fs *findings) failAt(at file.Idx, path, code, message, hint string) {
	fs.add(finding{at: at, Diagnostic: wire.Diagnostic{Code: code, Path: path, Message: message, Hint: hint}})
}

func (fs *findings) add(f finding) {
	if !fs.reporting() {
		return
	}
	f.Severity = wire.SeverityError
	if fs.handlers > 0 { // the script catches it
		f.Severity = wire.SeverityWarning
	}
	fs.found = append(fs.found, f)
}

// foundIn reports whether there is a finding in a value already.
func (fs *findings) foundIn(at *inputValue) bool {
	return slices.ContainsFunc(fs.found, func(f finding) bool { return f.at >= at.from && f.at < at.to })
}
