// Package record is the participant that writes the journal: a record of each run, and of
// each call that was refused before it was one.
//
// What belongs here: what a record says of a run. Not here: where records are kept,
// which is a journal.Sink's business, or any decision that depends on them.
package record

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// Options configure a Journal.
type Options struct {
	Redactor    *journal.Redactor // nil knows the general shapes
	ToolVersion string            // of the build
}

// Journal records the runs of an engine.
type Journal struct {
	opts    Options
	sink    journal.Sink // nil drops records
	changes bool         // runs keep what an undo needs
	omits   bool         // they do not, and their callers learn it
}

var (
	_ run.Participant = (*Journal)(nil)
	_ run.Refuser     = (*Journal)(nil)
)

// New returns a journal without a sink.
func New(o Options) *Journal { return &Journal{opts: o} }

// Add adds a sink, before the first call.
func (j *Journal) Add(s journal.Sink) *Journal {
	if j.sink != nil {
		s = journal.Both{j.sink, s}
	}
	j.sink = s
	return j
}

// KeepChanges has runs keep what an undo of them needs.
func (j *Journal) KeepChanges() { j.changes = true }

// OmitChanges has runs keep nothing of the kind, which their results say.
func (j *Journal) OmitChanges() { j.omits = true }

// Open implements run.Participant.
func (j *Journal) Open(r *run.Run) (run.Part, error) {
	if j.sink == nil {
		return nil, nil
	}
	switch {
	case j.changes:
		r.KeepImages()
	case j.omits:
		r.OmitImages("journal.changes is false")
	}
	return &recorder{journal: j, run: r, digest: journal.Digest(r.Request().Input)}, nil
}

// Refused implements run.Refuser.
func (j *Journal) Refused(ctx context.Context, r run.Refusal) {
	if j.sink == nil {
		return
	}
	rec := j.request(r.Request, journal.Digest(r.Request.Input))
	rec.Run, rec.Started, rec.Duration = r.Outcome.Run, r.Started, r.Outcome.Wall
	rec.ResultBytes = r.ResultBytes
	if r.Approval.State != "" {
		rec.Approval = r.Approval
	}
	setFault(&rec, r.Err)
	rec.Message, rec.Redactions = j.opts.Redactor.Text(rec.Message)
	j.sink.Append(context.WithoutCancel(ctx), rec.Bounded())
}

// request is what a record has of a call, whatever becomes of it.
func (j *Journal) request(req *run.Request, digest string) journal.Record {
	snapshot := req.View.Snapshot()
	return journal.Record{
		Trace: req.Trace, Surface: req.Surface, Subject: req.Principal.Subject, Set: req.Set, InputDigest: digest,
		Operation: req.ID.String(), Tool: snapshot.ToolName(req.ID), CatalogVersion: snapshot.Version(), ToolVersion: j.opts.ToolVersion,
		Atomic: true, Outcome: journal.OK, Approval: journal.Approval{State: journal.NotRequired},
	}
}

// setFault puts a fault into a record.
func setFault(rec *journal.Record, err error) {
	if err == nil {
		return
	}
	f := fault.From(err)
	rec.Outcome, rec.Message, rec.Line = string(f.Code), f.Message, f.Line
	rec.Logged = run.Logged(err)
}

// recorder makes the record of one run.
type recorder struct {
	journal *Journal
	run     *run.Run
	digest  string          // of the request's input
	start   *journal.Record // of a script: what was known when it began

	mu      sync.Mutex
	attempt int // whose calls these are
	trail   []journal.Call
}

var (
	_ run.Beginner    = (*recorder)(nil)
	_ run.AfterCaller = (*recorder)(nil)
	_ run.Ender       = (*recorder)(nil)
)

// Begin notes a script's start.
func (p *recorder) Begin(ctx context.Context) {
	if p.run.Scripted() {
		rec := p.started()
		p.start = &rec
		p.journal.sink.Begin(context.WithoutCancel(ctx), rec.Bounded())
	}
}

// started is what of the record is known before the run ends.
func (p *recorder) started() journal.Record {
	r, spec := p.run, p.run.Spec()
	if p.start != nil {
		rec := *p.start
		rec.Run = r.ID // a key may give it another
		return rec
	}
	rec := p.journal.request(r.Request(), p.digest)
	rec.Run, rec.Trace, rec.Started = r.ID, r.Trace, r.Started()
	rec.CorrelationID, rec.Set, rec.Keyed = spec.CorrelationID, spec.Set, spec.IdempotencyKey != ""
	rec.Undoes = spec.Undoes
	rec.Script = journal.Script{Code: r.Redact(spec.Code), CodeDigest: spec.CodeDigest, Language: spec.Language, Runtime: spec.Runtime}
	rec.Atomic, rec.DryRun = spec.Atomic, spec.DryRun
	return rec
}

// AfterCall notes a call of the last attempt.
func (p *recorder) AfterCall(c run.CallEnd) {
	rec := journal.Call{
		Position: string(c.Position), Operation: c.ID.String(), Entity: c.Target.Entity, Set: c.Target.Set,
		Started: c.Started.Sub(p.run.Started()), Duration: time.Since(c.Started), Outcome: journal.OK,
		InputDigest: p.digest, OutputBytes: c.OutputBytes, App: c.App,
	}
	switch {
	case c.App: // whoever reads the digest could try what it is of
		rec.InputDigest = ""
	case !bytes.Equal(c.Input, p.run.Request().Input): // those of a run that is one call are the same
		rec.InputDigest = journal.Digest(c.Input)
	}
	if c.Operation != nil {
		snapshot := p.run.Request().View.Snapshot()
		rec.Tool = snapshot.ToolName(c.ID)
		if owner := snapshot.Owner(c.ID); owner != nil {
			rec.Build = strings.TrimSpace(owner.Version + " " + owner.Digest)
		}
		rec.Outside = c.Operation.Effects.ActsOutside() && !c.Operation.Nested // what a nested one did outside, its calls did
	}
	if c.Code != "" {
		rec.Outcome = string(c.Code)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch n := c.Attempt.Number(); {
	case n < p.attempt: // another one has begun
		return
	case n > p.attempt:
		p.attempt, p.trail = n, nil
	}
	if len(p.trail) < journal.MaxTrail {
		p.trail = append(p.trail, rec)
	}
}

// End keeps what became of the run, under the id that is its own in the journal.
func (p *recorder) End(ctx context.Context, e *run.Conclusion) {
	r, out := p.run, e.Outcome
	rec := p.started()
	p.mu.Lock()
	if p.attempt == out.Attempts { // the last attempt may have made no call
		rec.Trail = p.trail
	}
	p.mu.Unlock()
	rec.Duration, rec.Attempts, rec.Calls = out.Wall, out.Attempts, out.SDKCalls
	rec.Committed, rec.ResultBytes, rec.Outside = out.Committed, len(e.Return.Result), len(out.OutsideEffects)
	if !e.Ran {
		rec.Run = r.OwnID()
	}
	if out.Repeated {
		rec.Run, rec.RepeatOf = r.OwnID(), out.Run
	}
	setFault(&rec, e.Err)
	for _, c := range store.Counts(out.Changes) {
		rec.Created += c.Created
		rec.Updated += c.Updated
		rec.Deleted += c.Deleted
		rec.Changes = append(rec.Changes, journal.Count(c))
	}
	if changes := described(r, e); len(changes) > 0 {
		rec.ChangesDigest = r.ChangesDigest(store.Disclosed(changes))
	}
	if a := r.Approval(); a.State != "" {
		rec.Approval = a
	}
	rec.Redactions, rec.Emitted = r.Redactions(), r.Emitted()
	rec.Sets, rec.Left = r.Scope(), e.Return.Left
	if out.Committed {
		p.addImages(&rec)
	}
	p.journal.sink.Append(context.WithoutCancel(ctx), rec.Bounded())
}

// addImages adds what an undo needs, or why it is not there.
func (p *recorder) addImages(rec *journal.Record) {
	all, complete := p.run.Images()
	switch {
	case !p.journal.changes:
		rec.NoImages = "journal.changes was false"
	case !complete:
		rec.NoImages = "its changes took more memory than a run may hold for that, which is half of run.maxBytes"
	default:
		rec.Images = all
	}
}

// described are the changes that the record has a digest of: those of which before and after
// are known, of a plan that waits too.
func described(r *run.Run, e *run.Conclusion) []store.Change {
	spec := r.Spec()
	switch {
	case len(e.Outcome.Changes) > 0 && (spec.Record || spec.DryRun):
		return e.Outcome.Changes
	case !e.Outcome.Committed:
		return e.Proposed
	}
	return nil
}
