package run

import (
	"context"
	"errors"
	"time"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/internal/aftercommit"
	"github.com/koan-go/koan/framework/run/internal/callfault"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/observe"
	"github.com/koan-go/koan/framework/run/store"
)

// Body executes one attempt: it makes calls through the attempt and returns the run's result. When
// it returns, everything that it started must have stopped. If Ends(err) is true for the error of a
// call, it must return that error at once.
type Body func(ctx context.Context, a *Attempt) (Return, error)

// Ends reports whether a call's error ends the attempt: a quota or limit that
// must not be caught, or the need for a new attempt. An executor stops the
// script at once and returns the error from its body.
func Ends(err error) bool { return course.Ends(err) }

// execution is the state of Run.Execute.
type execution struct {
	*Run
	body  Body
	out   *Outcome
	last  *Attempt
	ret   Return             // of the last attempt
	after []aftercommit.Func // of what has committed
}

// Execute makes attempts until one commits or fails, or run.maxAttempts is reached (conflict). If a
// person must approve the run, it asks (approval_denied), or keeps a plan and ends in
// approval_required or input_required. With an idempotency key that a run has already it makes no
// attempt, and returns that run's reply, or in_progress, conflict or outcome_unknown. The outcome
// is never nil. The error is a fault or nil.
func (r *Run) Execute(ctx context.Context, body Body) (out *Outcome, err error) {
	ctx, over := r.engine.observer.Run(ctx, observe.Run{
		ID: r.ID, Trace: r.Trace, Parent: r.request.Parent, Surface: r.request.Surface, Operation: r.op.ID,
		Tool: r.request.View.Snapshot().ToolName(r.op.ID), DryRun: r.spec.DryRun,
	})
	out = &Outcome{Run: r.ID, Trace: r.Trace, DryRun: r.spec.DryRun}
	defer func() {
		r.finished = out
		over(observe.RunEnd{Attempts: out.Attempts, Calls: out.SDKCalls, Committed: out.Committed}, err)
	}()
	x := &execution{Run: r, body: body, out: out}
	err = consult(x.parts, func(p Resumer) error { return p.Resume(ctx) })
	out.Run = r.ID
	if err != nil {
		return out, x.endWithoutRunning(ctx, err)
	}
	begun := x.claim.key == nil
	if err = errUnclaimed; begun {
		x.parts.begin(ctx)
		err = x.attempts(ctx)
	}
	if errors.Is(err, errUnclaimed) { // or the run had a key from the start
		claimed, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		x.claim.lose = cancel
		if over, err := x.parts.claim(claimed, out); over {
			return out, x.endWithoutRunning(ctx, err)
		}
		x.claim.claimed = true
		if ctx = claimed; !begun {
			x.parts.begin(ctx)
		}
		err = x.attempts(ctx)
	}
	return out, x.conclude(ctx, err)
}

// errUnclaimed ends the attempts of a run that must be claimed before the next one.
var errUnclaimed = errors.New("run: it has to be claimed first")

// conclude ends a run whose attempts ended with err.
func (x *execution) conclude(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), ErrLost) && err != nil {
		err = ErrLost
	}
	lost, again := errors.Is(err, ErrLost), false
	if err = x.parts.recover(ctx, x.out, err); err != nil {
		if callfault.SaysContextEnded(ctx, err) {
			err = callfault.OfContext(ctx, err)
		}
		again = transient(err)
		err = x.failed(ctx, err)
	}
	c := &Conclusion{Outcome: x.out, Err: err, Transient: again, Ran: true, Return: x.ret, Uncertain: lost || x.claim.uncertain}
	if x.out.Committed {
		c.Receipts = max(1, x.progress.Commits())
	}
	if err := x.parts.release(ctx, c); err != nil {
		c.Err = x.failed(ctx, err)
	}
	x.end(ctx, c)
	x.engine.after.Add(context.WithValue(ctx, callKey{}, nil), x.ID, x.after)
	return c.Err
}

// endWithoutRunning ends a run that did not need to run, or could not.
func (x *execution) endWithoutRunning(ctx context.Context, err error) error {
	x.out.Metrics, x.out.OutsideEffects, x.out.Wall = x.notes.metrics, x.OutsideEffects(), time.Since(x.started)
	if err != nil && x.out.Reply == nil {
		err = x.failed(ctx, err)
	}
	x.end(ctx, &Conclusion{Outcome: x.out, Err: err, Return: x.ret})
	return err
}

func (x *execution) end(ctx context.Context, c *Conclusion) {
	x.out.Approved = x.Approval().State == journal.Approved
	notify(x.parts, func(p Ender) { p.End(ctx, c) })
}

// transient reports whether a run that failed may end otherwise when it is carried out again.
func transient(err error) bool { return fault.From(err).Retry == fault.Safe }

// failed returns the error of a failed run, and sets its reply.
func (x *execution) failed(ctx context.Context, err error) error {
	f := x.engine.report(ctx, fault.From(err), "run", x.ID, "operation", x.op.ID.String())
	f = x.redacted(Unrepeatable(f, x.OutsideEffects()))
	if f.Retry == fault.Never && x.claim.claimed && transient(err) {
		f = f.WithHint("A call with the same idempotencyKey continues the run, and does not repeat what took effect outside.")
	}
	if x.spec.Reply == nil {
		return f
	}
	reply, err := x.spec.Reply(Return{}, x.out, f)
	x.out.Reply = reply
	if err == nil {
		return f
	}
	return fault.From(err)
}

// attempts makes the attempts, and sets the outcome after the last one.
func (x *execution) attempts(ctx context.Context) error {
	r, out := x.Run, x.out
	var err error
	for tries := 1; ; tries++ {
		out.Attempts++
		a := newAttempt(ctx, r, out.Attempts)
		defer a.detached.Abort()
		if x.last != nil {
			x.last.share.End()
		}
		x.last = a
		actx, over := r.engine.observer.Attempt(ctx, a.number)
		err = x.attempt(actx, a)
		over(err)
		if p, ok := err.(course.Pause); ok { //nolint:errorlint // never wrapped
			r.progress.Pending.Wait()
			if err = x.wait(ctx, p); err != nil {
				break
			}
			tries = 0
			continue
		}
		if !course.IsRestart(err) {
			break
		}
		if course.IsUncounted(err) {
			tries--
		} else if tries >= r.engine.opts.MaxAttempts {
			err = fault.Newf(fault.Conflict, "the data kept changing under this run; %d attempts were made", tries).Because(err)
			break
		}
		r.progress.Pending.Wait() // the slow call's result is on the tape before the next attempt
	}
	r.progress.Pending.Wait()
	records, counted := x.last.course.Calls()
	out.Calls, out.SDKCalls = callRecords(records), counted
	out.OutsideEffects = r.OutsideEffects()
	if applied, wrote := r.progress.Applied(); wrote && !r.spec.Atomic {
		out.Committed, out.Changes = true, applied
	}
	r.notes.mu.Lock()
	out.Metrics = r.notes.metrics
	r.notes.mu.Unlock()
	out.Wall = time.Since(r.started)
	return err
}

// wait waits until the pause of an attempt is over.
func (x *execution) wait(ctx context.Context, p course.Pause) error {
	x.last.share.End() // the pause accounts for what it keeps
	paused := x.last.paused
	x.last.paused = nil // or they would be held as long as somebody thinks
	if err := p.Wait(ctx, paused); err != nil {
		return err
	}
	x.claim.keepsTape = true
	if x.claim.key != nil && !x.claim.claimed {
		return errUnclaimed
	}
	return nil
}

// attempt makes one attempt and ends its transactions.
func (x *execution) attempt(ctx context.Context, a *Attempt) error {
	r, out := x.Run, x.out
	actx, stop := context.WithCancel(ctx)
	defer stop()
	ret, err := x.runBody(actx, a)
	stop()
	a.close()
	if !course.AllowsAnother(a.course.Ended()) {
		a.detached.Abort() // calls in flight are no longer needed
	}
	if ended := a.course.Ended(); ended != nil && (err == nil || !callfault.Is(err) || course.AllowsAnother(ended)) {
		err = ended
	}
	if err == nil {
		err = ctx.Err()
	}
	err = x.rejectRepeatedEffects(err)
	x.ret = ret
	if course.IsPause(err) {
		var failed error
		if a.paused, failed = a.txs.changes(ctx); failed != nil {
			err = failed
		}
	}
	if err == nil {
		if err = x.commit(ctx, a); err != nil {
			out.Changes, out.Reply = nil, nil
		}
	}
	if !r.spec.Atomic && !r.spec.DryRun { // those of calls that were rolled back are dropped
		x.after = append(x.after, a.txs.takeAfter()...)
	}
	if err != nil || r.spec.DryRun {
		a.rollback(context.WithoutCancel(ctx)) // also if ctx is cancelled
	}
	return err
}

// runBody runs the body of an attempt, which ends in a fault if it panics.
func (x *execution) runBody(ctx context.Context, a *Attempt) (ret Return, err error) {
	defer x.engine.recover(ctx, &err, "run", x.ID)
	return x.body(ctx, a)
}

// commit commits an attempt unless a participant objects. For a dry run it only sets what would be
// committed.
func (x *execution) commit(ctx context.Context, a *Attempt) (err error) {
	defer x.engine.recover(ctx, &err, "run", x.ID) // of what reads the app's values, and of the client's checks
	r, out := x.Run, x.out
	changes, err := a.txs.changes(ctx)
	if err != nil {
		return err
	}
	out.Changes = changes
	records, counted := a.course.Calls()
	out.Calls, out.SDKCalls = callRecords(records), counted
	if check, ok := ctx.Value(beforeCommitKey{}).(func(Return, *Outcome) error); ok {
		err := check(x.ret, out)
		r.inResult.Store(int64(out.Redacted))
		if err != nil {
			return err
		}
	}
	var images store.Images
	if !r.spec.DryRun {
		if images, err = a.txs.images(ctx, &a.txs.group); err != nil {
			return err
		}
		applied, _ := r.progress.Applied()
		if out.NotUndoable, err = r.admitUndo(len(changes)+len(applied) > 0, images); err != nil {
			return err
		}
	}
	if err := x.reply(); err != nil || r.spec.DryRun {
		return err
	}
	if err := r.parts.judge(ctx, a, Effects{Changes: changes, Reply: out.Reply, Whole: true}); err != nil {
		a.paused = changes
		return err
	}
	wrote := len(a.txs.group.WrittenSets()) > 0
	var receipt store.Receipt
	if wrote || r.claim.claimed { // otherwise nothing stores a receipt
		receipt = a.receipt(x.ret, changes)
	}
	if r.claim.claimed {
		receipt.Reply = out.Reply
	}
	if err := a.txs.commit(context.WithoutCancel(ctx), receipt); err != nil {
		return x.uncommitted(ctx, err)
	}
	a.committed.Store(true)
	out.Committed = wrote
	r.progress.AddImages(images)
	x.after = append(x.after, a.txs.takeAfter()...)
	return nil
}

// reply sets the reply of a run that is about to commit.
func (x *execution) reply() (err error) {
	r, out := x.Run, x.out
	if r.spec.Reply == nil {
		return nil
	}
	shown := out
	if !r.spec.Atomic {
		all := *out
		all.Changes, _ = r.progress.Applied()
		shown = &all
	}
	out.Reply, err = r.spec.Reply(x.ret, shown, nil)
	return err
}

// uncommitted sets the outcome according to why a commit failed, and returns the error, which is in the
// log if nobody can mend it by another call.
func (x *execution) uncommitted(ctx context.Context, err error) error {
	switch {
	case course.IsRestart(err), errors.Is(err, store.ErrCommitted), errors.Is(err, ErrLost):
		return err
	case fault.CodeOf(err) == fault.OutcomeUnknown:
		x.MarkUncertain()
	}
	if f := x.engine.report(ctx, fault.From(err), "run", x.ID, "operation", "commit"); Logged(f) {
		return f
	}
	return err
}

// rejectRepeatedEffects returns a fault instead of input_required if calling again with the answer
// would repeat effects outside, because they would not be on the tape of that call.
func (x *execution) rejectRepeatedEffects(err error) error {
	if len(ask.Waits(err)) == 0 || x.claim.claimed { // then the ledger has them
		return err
	}
	outside := x.OutsideEffects()
	if len(outside) == 0 {
		return err
	}
	return fault.Newf(fault.CapabilityUnsupported, "the client is asked after %s took effect outside, and calling again with the answer would repeat that", outside[0].ToolName).
		WithHint("Ask before anything has an effect outside, or send an idempotencyKey.")
}

type beforeCommitKey struct{}

// WithBeforeCommit adds a check of a run's result before the commit; if it returns an error, the run
// is rolled back and ends with that error. A check that ctx has already runs first.
func WithBeforeCommit(ctx context.Context, check func(Return, *Outcome) error) context.Context {
	if first, ok := ctx.Value(beforeCommitKey{}).(func(Return, *Outcome) error); ok {
		second := check
		check = func(ret Return, o *Outcome) error {
			if err := first(ret, o); err != nil {
				return err
			}
			return second(ret, o)
		}
	}
	return context.WithValue(ctx, beforeCommitKey{}, check)
}

type resultRoomKey struct{}

// WithResultRoom says how many bytes the caller can take of a run's result and its answer together.
func WithResultRoom(ctx context.Context, bytes int) context.Context {
	return context.WithValue(ctx, resultRoomKey{}, bytes)
}

// ResultRoom returns what WithResultRoom said, if it was called.
func ResultRoom(ctx context.Context) (bytes int, known bool) {
	bytes, known = ctx.Value(resultRoomKey{}).(int)
	return bytes, known
}
