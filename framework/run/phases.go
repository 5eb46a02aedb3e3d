package run

import (
	"context"
	"encoding/json"
	"iter"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

// Participant takes part in the runs of an engine. It is asked when a run opens; what it
// returns is asked in those phases of this run that it implements, and holds what the
// participant has to remember of the run. Everywhere participants are asked in the order in
// which they joined the engine, unless a phase says otherwise.
//
//	Open -> Begin -> attempt { calls { AfterCall } } -> End
type Participant interface {
	// Open is asked before anything of a run is done. nil takes no part in it; an error
	// refuses the run.
	Open(r *Run) (Part, error)
}

// Part takes part in one run. It implements any of the phases below.
type Part any

// Beginner hears that the first attempt of a run begins.
type Beginner interface{ Begin(ctx context.Context) }

// AfterCaller hears of each call of an attempt that has ended, also of one that was
// refused. Calls end in several goroutines.
type AfterCaller interface{ AfterCall(c CallEnd) }

// CallEnd is a call that has ended.
type CallEnd struct {
	Attempt     *Attempt
	Position    Position
	ID          catalog.ID
	Operation   *catalog.Operation // nil where there is none for the caller
	Target      catalog.Target
	Input       json.RawMessage
	Started     time.Time
	OutputBytes int
	Code        fault.Code // of the fault that it ended in, "" for none
}

// Ender hears last of a run, whatever became of it.
type Ender interface {
	End(ctx context.Context, e *Conclusion)
}

// Conclusion is how a run ended.
type Conclusion struct {
	Outcome *Outcome
	Err     error // a fault; nil where the run succeeded
	// Ran reports that attempts were made, and Return is what the last one returned.
	Ran    bool
	Return Return
	// Proposed are the changes of a plan that waits.
	Proposed []Change
}

// Refuser is a participant that hears of calls for which no run was opened.
type Refuser interface {
	Refused(ctx context.Context, r Refusal)
}

// Refusal is such a call.
type Refusal struct {
	Request     *Request
	Outcome     *Outcome // with the ids under which it is known
	Started     time.Time
	ResultBytes int
	Err         error
	Approval    journal.Approval // of a plan that was denied
}

// Join adds participants, before the first call.
func (e *Engine) Join(p ...Participant) { e.participants = append(e.participants, p...) }

// open asks the participants who takes part in a run.
func (r *Run) open() error {
	for _, p := range r.engine.participants {
		part, err := p.Open(r)
		if err != nil {
			return err
		}
		if part != nil {
			r.parts = append(r.parts, part)
		}
	}
	return nil
}

// each returns the parts of a run that implement a phase.
func each[Phase any](r *Run) iter.Seq[Phase] {
	return func(yield func(Phase) bool) {
		for _, p := range r.parts {
			if phase, ok := p.(Phase); ok && !yield(phase) {
				return
			}
		}
	}
}

// PartOf returns the part of a run that is of a type; ok is false where none is.
func PartOf[P Part](r *Run) (part P, ok bool) {
	for _, p := range r.parts {
		if part, ok = p.(P); ok {
			break
		}
	}
	return part, ok
}
