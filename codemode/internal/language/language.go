// Package language is what a language of scripts is to the rest of code mode: a worker prepares it, binds it,
// and has it check, run or declare scripts, whatever they are written in.
//
// What belongs here: the interfaces between a worker and a language, in plain data. Not here: an
// engine, a syntax, a process.
package language

import (
	"slices"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// Language is one language in one process. Its methods are called by one goroutine, which prepares a Runtime for each
// script: the first one before anything of a caller is known, each further one after the script before it has ended.
type Language interface {
	// Names are the values of wire.Job.Language that mean this language.
	Names() []string
	// Bind says what scripts find in SDK, from the one that is prepared on. It is called before the first script, and
	// whenever that changes.
	Bind(b wire.Bindings)
	// Prepare returns a fresh Runtime, in which nothing of an earlier script is left.
	Prepare() (Runtime, error)
}

// Runtime is what one script runs in. Exactly one of Check, Run and Declare is called, and once. A failure is in
// Result.Fault, with a position in the script's own text; the result is never nil.
type Runtime interface {
	// Check parses and checks a script without running it: Result.Diagnostics. host answers for inputs of calls,
	// and makes no call.
	Check(job *wire.Job, host Host) *wire.Result
	// Run runs a script to its end, with everything that it started.
	Run(job *wire.Job, host Host) *wire.Result
	// Declare reads what the file of an action declares without running it: Result.Result is a wire.Declaration.
	Declare(job *wire.Job) *wire.Result
	// Interrupt ends the script, from any goroutine: with f, which the script cannot catch.
	Interrupt(f *fault.Fault)
}

// Of returns the language that a job names; ok is false if there is none. A job that names none is in the first one.
func Of[L interface{ Names() []string }](languages []L, name string) (l L, ok bool) {
	for _, l := range languages {
		if name == "" || slices.Contains(l.Names(), name) {
			return l, true
		}
	}
	return l, false
}
