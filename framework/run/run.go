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
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/internal/progress"
	"github.com/koan-go/koan/framework/run/tape"
)

// Run is one script, or one call, from its first attempt to its receipt. Its exported methods are for
// executors, stores and participants.
type Run struct {
	ID    string
	Trace string
	origin
	tape     *tape.Tape
	account  *budget.Account // of the bytes that the host holds for the run
	parts    parts           // of its participants
	progress progress.Progress
	claim
	notes
	view     *catalog.View // as its calls see it
	finished *Outcome
}

// origin is what a run was opened with.
type origin struct {
	own     string // its id then
	engine  *Engine
	request Request
	op      *catalog.Operation
	spec    Spec
	started time.Time
}

// PartOf returns the part of type P in a run; ok is false if there is none.
func PartOf[P Part](r *Run) (part P, ok bool) {
	for _, p := range r.parts {
		if p, ok := p.(P); ok {
			return p, true
		}
	}
	return part, false
}

// Request returns the call for which the run was opened.
func (r *Run) Request() *Request { return &r.request }

// Operation returns the operation that was called.
func (r *Run) Operation() *catalog.Operation { return r.op }

// Principal returns the caller.
func (r *Run) Principal() auth.Principal { return r.request.Principal }

// Spec returns what the run was opened with.
func (r *Run) Spec() Spec { return r.spec }

// Scripted reports whether the run is more than the one call of its client.
func (r *Run) Scripted() bool { return r.op.ID.Kind == catalog.KindCode }

// composed reports whether the run consists of several calls.
func (r *Run) composed() bool { return r.Scripted() || r.op.Composed() }

// Started returns when the run was opened.
func (r *Run) Started() time.Time { return r.started }

// OwnID returns the id with which the run was opened. A claim may have replaced it.
func (r *Run) OwnID() string { return r.own }

// Tape returns the run's tape.
func (r *Run) Tape() *tape.Tape { return r.tape }

// UseTape replaces the run's tape by that of an earlier holder when the run is claimed, and counts its
// bytes.
func (r *Run) UseTape(t *tape.Tape) {
	t.Count(r.account)
	r.tape = t
}

// RepeatDry makes the run a dry run along a tape. It is for the phase Open.
func (r *Run) RepeatDry(t *tape.Tape) {
	r.spec.rehearse()
	r.UseTape(t)
}

// ContinueFrom makes the run continue an earlier one. It is for the phase Resume.
func (r *Run) ContinueFrom(c Continuation) {
	r.ID = c.Run
	var outside []course.Record
	for _, rec := range c.Outside {
		outside = append(outside, course.Record(rec))
	}
	r.progress.Continue(outside, c.Sets)
	r.UseTape(c.Tape)
	r.claim.keepsTape = true
}

// RecordChanges makes stores record rows before and after each change. It is for the phase Open.
func (r *Run) RecordChanges() { r.spec.Record = true }

// KeepImages makes stores keep what an undo of the run needs. It is for the phase Open.
func (r *Run) KeepImages() { r.spec.images = true }

// OmitImages has stores keep nothing that an undo needs; why is what the run's caller learns of it.
func (r *Run) OmitImages(why string) { r.spec.noImages = why }

// Images returns what the run did to rows, as far as it is committed, in the order of its commits.
// complete is false if they are not all there: they took more room than there was.
func (r *Run) Images() (all *journal.Images, complete bool) {
	done := r.progress.Images()
	return done.Images, !done.Incomplete && r.spec.images
}

// NoteOutsideEffect records a call that had an effect outside.
func (r *Run) NoteOutsideEffect(rec CallRecord) { r.progress.AddOutside(course.Record(rec)) }

// OutsideEffects returns the calls so far that had an effect outside.
func (r *Run) OutsideEffects() []CallRecord { return callRecords(r.progress.Outside()) }

// Keep counts n more bytes that the host keeps for the run, or fewer if n is negative.
func (r *Run) Keep(n int64) { r.account.Add(n) }

// Redact redacts secrets in a text that leaves the run, and counts them.
func (r *Run) Redact(text string) string {
	text, n := r.engine.opts.Redactor.Text(text)
	r.notes.redactions.Add(int64(n))
	return text
}

// redacted returns a fault without secrets, as it leaves the run.
func (r *Run) redacted(f *fault.Fault) *fault.Fault {
	clean, n := r.engine.opts.Redactor.Fault(f)
	r.notes.redactions.Add(int64(n))
	return clean
}

// Scope returns the sets that the run's calls have named or used so far, and its default set, unless
// its caller may not name that, since then no call can use it.
func (r *Run) Scope() []string {
	sets := r.progress.Sets()
	if own := r.spec.Set; r.request.Principal.MayName(own) && !slices.Contains(sets, own) {
		sets = append(sets, own)
	}
	if sets == nil {
		return []string{}
	}
	return sets
}

// View returns the catalog as the run's calls see it: the caller's, narrowed by the run's `only`.
func (r *Run) View() *catalog.View { return r.view }

// AdmitReader returns a fault if the reader of the run's result may not name one of the sets that it
// may come from. Then the run is Hidden: nothing about it is reported.
func (r *Run) AdmitReader(sets []string) error {
	err := consult(r.parts, func(p Audience) error { return p.AdmitReader(sets) })
	if err != nil {
		r.notes.hidden.Store(true)
	}
	return err
}

// ForeignReader reports whether someone other than the run's principal gets its result.
func (r *Run) ForeignReader() bool { return r.parts.foreign() }

// enterSet records that a call names or uses a set, before the call reads anything there. It returns
// an error, which ends the run, if the reader of the run's result may not see the set.
func (r *Run) enterSet(ctx context.Context, set string) error {
	if r.progress.Enter(set) {
		if err := consult(r.parts, func(p Audience) error { return p.EnterSet(ctx) }); err != nil {
			return err
		}
	}
	if !r.ForeignReader() { // the usual case
		return nil
	}
	return r.AdmitReader([]string{set})
}
