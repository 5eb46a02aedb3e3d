package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

// JournalKeeper is a provider that keeps the journal. Journal is called once it has
// started; nil means that it keeps none.
type JournalKeeper interface{ Journal() journal.Sink }

// KeepJournal adds a sink to the one of the engine's options, before
// the first call.
func (e *Engine) KeepJournal(s journal.Sink) {
	if _, none := e.opts.Journal.(discard); none {
		e.opts.Journal = s
		return
	}
	e.opts.Journal = journal.Both{e.opts.Journal, s}
}

// journaled reports whether anybody keeps what runs are noted with.
func (e *Engine) journaled() bool {
	_, none := e.opts.Journal.(discard)
	return !none
}

// Redactor is what redacts secrets in texts.
func (e *Engine) Redactor() *journal.Redactor { return e.opts.Redactor }

// NoteApproval says what the journal keeps of who agreed to the run's effect.
func (r *Run) NoteApproval(a journal.Approval) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.approval = a
}

// begin notes a script's start.
func (r *Run) begin(ctx context.Context) {
	if r.op.ID.Kind == catalog.KindCode {
		r.engine.opts.Journal.Begin(context.WithoutCancel(ctx), r.startRecord().Bounded())
	}
}

// startRecord is what of a run's record is known before it ends.
func (r *Run) startRecord() journal.Record {
	rec := r.engine.requestRecord(&r.request)
	rec.Run, rec.Trace, rec.Started = r.ID, r.Trace, r.started
	rec.CorrelationID, rec.Set, rec.Keyed = r.spec.CorrelationID, r.spec.Set, r.spec.IdempotencyKey != ""
	rec.CodeDigest, rec.Runtime, rec.Atomic, rec.DryRun = r.spec.CodeDigest, r.spec.Runtime, r.spec.Atomic, r.spec.DryRun
	if r.code == "" && r.engine.journaled() {
		r.code = r.Redact(r.spec.Code)
	}
	rec.Code = r.code
	return rec
}

// requestRecord is what a record has of a call, whatever becomes of it.
func (e *Engine) requestRecord(req *Request) journal.Record {
	snapshot := req.View.Snapshot()
	rec := journal.Record{
		Trace: req.Trace, Started: time.Now(), Surface: req.Surface, Subject: req.Principal.Subject, Set: req.Set,
		Operation: req.ID.String(), Tool: snapshot.ToolName(req.ID), CatalogVersion: snapshot.Version(), ToolVersion: e.opts.ToolVersion,
		Atomic: true, Outcome: journal.OK, Approval: journal.Approval{State: journal.NotRequired},
	}
	if e.journaled() {
		if req.digest == "" { // a script's is noted at its start and at its end
			req.digest = Digest(req.Input)
		}
		rec.InputDigest = req.digest
	}
	return rec
}

// record keeps what became of the run, under the id that is its own in the journal.
func (r *Run) record(ctx context.Context, id string, out *Outcome, err error) {
	rec := r.startRecord()
	rec.Run = id
	rec.Duration, rec.Attempts, rec.Calls, rec.Trail = out.Wall, out.Attempts, out.SDKCalls, r.trail
	rec.Committed, rec.ResultBytes, rec.Outside = out.Committed, r.resultBytes, len(out.OutsideEffects)
	if out.Repeated {
		rec.Run, rec.RepeatOf = r.fresh, out.Run
	}
	setFault(&rec, err)
	for _, c := range Counts(out.Changes) {
		rec.Created += c.Created
		rec.Updated += c.Updated
		rec.Deleted += c.Deleted
		rec.Changes = append(rec.Changes, journal.Count(c))
	}
	if changes := r.describedChanges(out); len(changes) > 0 && r.engine.journaled() {
		rec.ChangesDigest = r.changesDigest(changes)
	}
	r.mu.Lock()
	if r.approval.State != "" {
		rec.Approval = r.approval
	}
	out.Approved = rec.Approval.State == journal.Approved
	rec.Redactions = r.redactions
	r.mu.Unlock()
	r.engine.opts.Journal.Append(context.WithoutCancel(ctx), rec.Bounded())
}

// changesDigest is the digest of changes as JSON. The receipt's is the record's, too:
// those with before and after take longer to write than to digest.
func (r *Run) changesDigest(changes []Change) string {
	if d := &r.digested; len(changes) > 0 && len(d.changes) == len(changes) && &d.changes[0] == &changes[0] {
		return d.digest
	}
	digest, err := digestOf(changes)
	if err != nil {
		return ""
	}
	r.digested.changes, r.digested.digest = changes, digest
	return digest
}

// describedChanges are the changes that a record of the run has a digest of: those of which
// before and after are known, of a plan that waits too.
func (r *Run) describedChanges(out *Outcome) []Change {
	switch {
	case r.spec.Record, r.spec.DryRun, out.Committed && r.guard != nil:
		return out.Changes
	case r.guard != nil && r.guard.kept != nil:
		return r.guard.kept.Changes
	}
	return nil
}

// refuse ends a call that opened no run: the journal has it under a run id of its own.
// What the caller gets is without secrets.
func (e *Engine) refuse(ctx context.Context, req *Request, id string, started time.Time, out json.RawMessage, err error) (json.RawMessage, *Outcome, error) {
	o := &Outcome{Run: id, Trace: req.Trace, Refused: true, Wall: time.Since(started)}
	e.recordRefused(ctx, req, o, started, len(out), err)
	out, _ = e.opts.Redactor.FailureJSON(out)
	var f *fault.Fault
	if errors.As(err, &f) {
		if clean, n := e.redacted(f); n > 0 {
			err = clean
		}
	}
	return out, o, err
}

// recordRefused keeps a call that was refused before its run was opened.
func (e *Engine) recordRefused(ctx context.Context, req *Request, o *Outcome, started time.Time, resultBytes int, err error) {
	rec := e.requestRecord(req)
	rec.Run, rec.Started, rec.Duration = o.Run, started, o.Wall
	rec.ResultBytes = resultBytes
	setFault(&rec, err)
	rec.Message, rec.Redactions = e.opts.Redactor.Text(rec.Message)
	e.opts.Journal.Append(context.WithoutCancel(ctx), rec.Bounded())
}

// recordDenied keeps that somebody refused a plan outside of a call: a record of its
// own, as of a call that brings the answer of its client. The plan's run keeps its own.
func (e *Engine) recordDenied(ctx context.Context, v Verdict) (trace string) {
	p := v.Plan
	rec := journal.Record{
		Run: newRunID(), Trace: newTrace(), Started: time.Now(), Surface: v.Surface, Subject: p.Request.Principal.Subject, Set: p.Request.Set,
		Operation: p.Request.Operation, Tool: p.Request.Tool, InputDigest: Digest(p.Request.Input), Atomic: true,
		CatalogVersion: v.Snapshot.Version(), ToolVersion: e.opts.ToolVersion,
		Approval: journal.Approval{State: journal.Denied, Plan: p.ID, By: v.By.Subject},
	}
	setFault(&rec, denied(p, ""))
	e.opts.Journal.Append(context.WithoutCancel(ctx), rec.Bounded())
	return rec.Trace
}

// setFault puts a fault into a record.
func setFault(rec *journal.Record, err error) {
	if err == nil {
		return
	}
	f := fault.From(err)
	rec.Outcome, rec.Message, rec.Line = string(f.Code), f.Message, f.Line
}

// keepCall notes a call for the journal.
func (a *Attempt) keepCall(c *call, id catalog.ID, start time.Time, output int, err error) {
	if !a.run.engine.journaled() {
		return
	}
	rec := journal.Call{
		Position: string(c.position), Operation: id.String(), Entity: c.decoded.Target.Entity, Set: c.decoded.Target.Set,
		Started: start.Sub(a.run.started), Duration: time.Since(start), Outcome: journal.OK,
		InputDigest: Digest(c.input), OutputBytes: output,
	}
	if c.op != nil {
		rec.Tool = c.request.View.Snapshot().ToolName(id)
		rec.Outside = c.op.Effects.Outside && !c.op.Effects.ReadOnly
	}
	if err != nil {
		rec.Outcome = outcomeOf(err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.trail) < journal.MaxTrail {
		a.trail = append(a.trail, rec)
	}
}

// Redact takes secrets out of a text that leaves the run, as text, and counts them
// for the journal.
func (r *Run) Redact(text string) string {
	text, n := r.engine.opts.Redactor.Text(text)
	if n > 0 {
		r.mu.Lock()
		r.redactions += n
		r.mu.Unlock()
	}
	return text
}

// redacted is a fault as it leaves the run: what it says may quote the script, or
// what the app's own code said.
func (r *Run) redacted(f *fault.Fault) *fault.Fault {
	clean, n := r.engine.redacted(f)
	if n > 0 {
		r.mu.Lock()
		r.redactions += n
		r.mu.Unlock()
	}
	return clean
}

// redacted is a fault as it leaves the engine, and how many secrets were in it.
func (e *Engine) redacted(f *fault.Fault) (*fault.Fault, int) {
	clean, n := *f, 0
	for _, text := range []*string{&clean.Message, &clean.Hint, &clean.Source, &clean.Path} {
		var found int
		*text, found = e.opts.Redactor.Text(*text)
		n += found
	}
	var found int
	clean.Details, found = e.redactedDetails(f.Details)
	if n += found; n == 0 {
		return f, 0
	}
	return &clean, n
}

func (e *Engine) redactedDetails(details any) (any, int) {
	if details == nil {
		return nil, 0
	}
	list, ok := details.([]fault.Detail)
	if !ok {
		raw, err := json.Marshal(details)
		if err != nil {
			return details, 0
		}
		clean, n := e.opts.Redactor.FailureJSON(raw)
		if n == 0 {
			return details, 0
		}
		return json.RawMessage(clean), n
	}
	clean, n := slices.Clone(list), 0
	for i := range clean {
		for _, text := range []*string{&clean[i].Path, &clean[i].Message, &clean[i].Expected, &clean[i].Received} {
			var found int
			*text, found = e.opts.Redactor.Text(*text)
			n += found
		}
	}
	if n == 0 {
		return details, 0
	}
	return clean, n
}

// RedactBody takes secrets out of what the code operation that ctx belongs to says outside
// of a run: of a script that was refused, or checked.
func RedactBody(ctx context.Context, body json.RawMessage) json.RawMessage {
	if c := currentCall(ctx); c != nil {
		body, _ = c.engine.opts.Redactor.FailureJSON(body)
	}
	return body
}

func newRunID() string { return uuid.Must(uuid.NewV7()).String() }
