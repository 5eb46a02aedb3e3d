package run

import (
	"context"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/internal/budget"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// Run is one script, or one call, from its first attempt to its receipt. What is exported of
// it is for executors, stores and participants.
type Run struct {
	ID      string
	Trace   string
	own     string // the id that it was opened with
	engine  *Engine
	request Request
	op      *catalog.Operation
	spec    Spec
	started time.Time
	tape    *tape.Tape
	account *budget.Account // of what the host holds for the run
	parts   parts           // who takes part in it
	claim
	progress
	notes
	view     *catalog.View // as its calls see it
	finished *Outcome
	images   images
}

// Request is the call that the run was opened for.
func (r *Run) Request() *Request { return &r.request }

// Operation is what was called.
func (r *Run) Operation() *catalog.Operation { return r.op }

// Principal is who made the run's call.
func (r *Run) Principal() auth.Principal { return r.request.Principal }

// Spec returns what the run was opened with.
func (r *Run) Spec() Spec { return r.spec }

// Scripted reports whether the run is more than the one call of its client.
func (r *Run) Scripted() bool { return r.op.ID.Kind == catalog.KindCode }

// composed reports whether the run consists of several calls.
func (r *Run) composed() bool { return r.Scripted() || r.op.Nested }

// Started is when the run was opened.
func (r *Run) Started() time.Time { return r.started }

// OwnID is the id that the run was opened with; its key may have given it another.
func (r *Run) OwnID() string { return r.own }

// Tape is what is not deterministic in the run.
func (r *Run) Tape() *tape.Tape { return r.tape }

// UseTape takes a tape, and counts what is on it: that of an earlier holder of the run, when
// it is claimed.
func (r *Run) UseTape(t *tape.Tape) {
	t.Count(r.account)
	r.tape = t
}

// RepeatDry makes the run a dry run along a tape, when it opens.
func (r *Run) RepeatDry(t *tape.Tape) {
	r.spec.rehearse()
	r.UseTape(t)
}

// ContinueFrom has the run go on from somewhere, when it is resumed.
func (r *Run) ContinueFrom(c Continuation) {
	r.ID, r.progress.outside, r.progress.sets = c.Run, c.Outside, c.Sets
	r.UseTape(c.Tape)
	r.claim.keepsTape = true
}

// RecordChanges has stores keep what rows were before and after each change, when the run
// opens.
func (r *Run) RecordChanges() { r.spec.Record = true }

// Keep counts n more bytes that the host keeps for the run, or fewer.
func (r *Run) Keep(n int64) { r.account.Add(n) }

// Redact takes secrets out of a text that leaves the run, as text, and counts them.
func (r *Run) Redact(text string) string {
	text, n := r.engine.opts.Redactor.Text(text)
	r.notes.redactions.Add(int64(n))
	return text
}

// redacted is a fault as it leaves the run.
func (r *Run) redacted(f *fault.Fault) *fault.Fault {
	clean, n := r.engine.opts.Redactor.Fault(f)
	r.notes.redactions.Add(int64(n))
	return clean
}

// Scope is every set that the run's calls have named or used so far, and its own set,
// in which its calls are that name none, unless its caller may not name it: then no
// call is.
func (r *Run) Scope() []string {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	sets := slices.Clone(r.progress.sets)
	if own := r.spec.Set; r.request.Principal.MayName(own) && !slices.Contains(sets, own) {
		sets = append(sets, own)
	}
	if sets == nil {
		return []string{}
	}
	return sets
}

// View is the catalog as the run's calls see it: the caller's, narrowed to what the
// run's `only` names.
func (r *Run) View() *catalog.View { return r.view }

// AdmitReader refuses whoever gets what the run returns where he may not name one of the sets
// that it may come from. Then the run's end says nothing of the run: it is Hidden.
func (r *Run) AdmitReader(sets []string) error {
	err := consult(r.parts, func(p Audience) error { return p.AdmitReader(sets) })
	if err != nil {
		r.notes.hidden.Store(true)
	}
	return err
}

// ForeignReader reports whether somebody else than the run's principal gets what it returns.
func (r *Run) ForeignReader() bool { return r.parts.foreign() }

// enterSet notes that a call names or uses a set, before it reads anything there. The run
// ends where whoever gets what it returns may not see that.
func (r *Run) enterSet(ctx context.Context, set string) error {
	r.progress.mu.Lock()
	known := slices.Contains(r.progress.sets, set)
	if !known {
		r.progress.sets = append(r.progress.sets, set)
	}
	r.progress.mu.Unlock()
	if !known {
		if err := consult(r.parts, func(p Audience) error { return p.EnterSet(ctx) }); err != nil {
			return err
		}
	}
	if !r.ForeignReader() { // as a rule
		return nil
	}
	return r.AdmitReader([]string{set})
}

// receipt is that of an attempt, or of a call that commits by itself.
func (r *Run) receipt(attempt int, ret Return, changes []store.Change) store.Receipt {
	return store.Receipt{
		Run: r.ID, Attempt: attempt, IdempotencyKey: r.spec.IdempotencyKey, Subject: r.request.Principal.Subject,
		CodeDigest: r.spec.CodeDigest, ResultDigest: journal.Digest(ret.Result), Result: ret.Result, ChangesDigest: r.ChangesDigest(changes),
		CatalogVersion: r.request.View.Snapshot().Version(), At: r.started.UTC().Truncate(time.Millisecond),
	}
}
