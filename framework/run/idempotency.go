package run

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/tape"
)

// hold is a key that a run holds while it goes on.
type hold struct {
	Hold
	run    *Run
	ledger Ledger

	earlier []string            // sets that holders before meant to commit to
	before  map[Position]Intent // calls that holders before made

	mu      sync.Mutex
	noted   []string          // sets that are known to the ledger
	visited map[Position]bool // calls of before that this holder came by
	fresh   bool              // nobody held the key before
	effects int               // calls that may have had an effect outside
	size    int               // bytes of results that are kept
	unsure  bool              // nobody knows how the commit ended
}

// keyTimeout bounds what a run asks of the ledger when its own time is over.
const keyTimeout = 10 * time.Second

// outsideFactor is how many replies' room the results of a run's calls outside may
// take in the ledger.
const outsideFactor = 4

// claim takes the run's key. done reports that nothing is left to run: out has what
// the first run returned, or err says why there is nothing to return.
func (r *Run) claim(ctx context.Context, out *Outcome) (done bool, err error) {
	o := r.engine.opts
	h := Hold{Run: r.ID, Holder: uuid.NewString(), Lease: o.KeyLease}
	l := r.engine.ledger
	operation, key := r.op.ID.String(), r.spec.IdempotencyKey
	if key == "" {
		operation, key = planOperation, r.ID
	}
	st, err := l.Claim(ctx, Claim{
		Subject: r.principal.Subject, Operation: operation, Key: key,
		Fingerprint: Digest([]byte(r.spec.Set + "\x00" + r.spec.Fingerprint + "\x00" + r.principal.Key())),
		Run:         h.Run, Holder: h.Holder, Now: r.tape.Now(), Seed: r.tape.Seed(), Lease: o.KeyLease, Retention: o.KeyRetention,
	})
	if err != nil {
		return true, ledgerFault(err)
	}
	switch st.State {
	case Other:
		return true, fault.New(fault.Conflict, "this idempotency key belongs to a different script, different inputs or different rights").
			WithRetry(fault.Fix).WithHint("Send the original script, or use a new key for a new job.").WithPath("/idempotencyKey")
	case Running:
		if r.agreed() && r.guard.noted && st.Run != r.ID { // the key's run is not the plan's
			r.recordConclusion(ctx, ErrLost)
		}
		out.Run, r.ID = st.Run, st.Run
		return true, r.busy().WithDetails(map[string]any{"runId": st.Run, "since": st.Since.UTC().Format(time.RFC3339)})
	case Ended:
		if err := r.admitReader(st.replySets()); err != nil {
			r.recordConclusion(ctx, err)
			return true, err
		}
		out.Run, r.ID = st.Run, st.Run
		if st.Reply == nil && st.Fault == nil {
			return true, r.recall(ctx, l, st.Sets, out)
		}
		return true, repeat(out, st.Reply, st.Fault)
	case Held:
	}
	r.hold = &hold{Hold: h, run: r, ledger: l, before: map[Position]Intent{}, visited: map[Position]bool{}}
	if r.hold.fresh = st.New; st.New {
		return false, nil
	}
	h.Run = st.Run
	r.hold.Hold, r.ID, out.Run = h, st.Run, st.Run
	return r.takeOver(ctx, st, out)
}

// busy says that somebody else has the run.
func (r *Run) busy() *fault.Fault {
	if r.spec.IdempotencyKey == "" {
		return fault.New(fault.InProgress, "somebody else is applying this plan").WithHint("Wait, then ask again with the same planId.").WithPath("/planId")
	}
	return fault.New(fault.InProgress, "").WithPath("/idempotencyKey")
}

// repeat returns what a run gave the first time.
func repeat(out *Outcome, reply json.RawMessage, f *fault.Fault) error {
	out.Repeated, out.Reply = true, reply
	if f != nil {
		return f
	}
	return nil
}

// recall returns what stands in the receipt.
func (r *Run) recall(ctx context.Context, l Ledger, sets []string, out *Outcome) error {
	receipts, err := l.Receipts(ctx, r.ID, sets)
	if err != nil {
		return ledgerFault(err)
	}
	for _, receipt := range receipts {
		if receipt.Reply != nil {
			return repeat(out, receipt.Reply, nil)
		}
	}
	return fault.New(fault.OutcomeUnknown, "the run with this key has ended, and its receipt is no longer in the data").
		WithHint("The data has been replaced since, perhaps by a backup. Check what is there, and use a new key.")
}

// takeOver finds out what holders before have left of the run: its receipt, so
// that it is over; calls outside of which nobody knows how they ended; or nothing
// that cannot be gone on with.
func (r *Run) takeOver(ctx context.Context, st Standing, out *Outcome) (done bool, err error) {
	h := r.hold
	giveUp := func(err error) (bool, error) {
		h.giveUp(ctx, Ending{Fate: Resume})
		return true, err
	}
	receipts, err := h.ledger.Receipts(ctx, r.ID, st.Sets)
	if err != nil {
		return giveUp(ledgerFault(err))
	}
	for _, receipt := range receipts {
		if receipt.Reply != nil {
			h.giveUp(ctx, Ending{Fate: Keep})
			if err := r.admitReader(st.replySets()); err != nil {
				r.recordConclusion(ctx, err)
				return true, err
			}
			return true, repeat(out, receipt.Reply, nil)
		}
	}
	if n := len(receipts); n > 0 {
		return giveUp(fault.Newf(fault.OutcomeUnknown, "the run with this key was cut off after it had committed %d calls", n).
			WithHint("Check what is in the data, and do the rest with a new key. An atomic run is never cut off in the middle.").
			WithDetails(map[string]any{"runId": r.ID, "commits": n}))
	}
	t := tape.At(st.Now, st.Seed)
	if r.agreed() {
		t = r.tape
	}
	for _, i := range st.Intents {
		digest, err := tape.ParseDigest(i.Digest)
		_, _, planned := t.Outside(i.Position, digest)
		switch {
		case err != nil:
			return giveUp(fault.New(fault.Internal, "").Because(err))
		case planned: // it was made before the plan, which has it
			h.effects++
			h.before[i.Position] = i
			continue
		case i.Closed && i.Fault != nil && i.Fault.Code == fault.InputRequired: // it asked, and did nothing
			t.Occurrence(i.Position, digest)
			continue
		case i.Closed && i.Kept && mustRepeat(i, st.Intents):
			continue
		case i.Closed && i.Kept:
			var failed error
			if i.Fault != nil {
				failed = i.Fault
			}
			t.RecordOutside(i.Position, digest, i.Output, failed)
			h.effects++
		case i.Closed || !r.repeatable(i.Operation):
			r.noteOutsideEffect(r.earlierCall(i))
			return giveUp(h.outcomeUnknown(i, "the run with this key was cut off in the middle of an outside call"))
		default:
			t.Occurrence(i.Position, digest)
		}
		h.before[i.Position] = i
		r.noteOutsideEffect(r.earlierCall(i))
	}
	if t != r.tape {
		r.useTape(t)
	}
	h.earlier, h.noted = st.Sets, slices.Clone(st.Sets)
	return false, nil
}

// mustRepeat reports whether an earlier call is made again: it ended in a fault that may be
// gone by now and that says that nothing happened. Without that, the run would end in the
// same fault for as long as its key is kept. If another call was made since, the run knew
// of the fault and went on, so that the fault stands.
func mustRepeat(i Intent, all []Intent) bool {
	return i.Fault != nil && i.Fault.Retry == fault.Safe && !slices.ContainsFunc(all, func(o Intent) bool {
		return o.Position != i.Position && !o.At.Before(i.At)
	})
}

// earlierCall is a holder's call before as the run's result lists it.
func (r *Run) earlierCall(i Intent) CallRecord {
	rec := CallRecord{ToolName: i.Operation, OK: i.Closed && i.Fault == nil}
	if id, err := catalog.ParseID(i.Operation); err == nil {
		rec.ServerID = catalog.ServerID(id)
		if op := r.request.View.Snapshot().Operation(id); op != nil {
			rec.ToolName = r.request.View.Snapshot().ToolName(id)
		}
	}
	switch {
	case i.Fault != nil:
		rec.Error = Excerpt(r.Redact(i.Fault.Error()))
	case !i.Closed:
		rec.Error = "it is not known how it ended"
	}
	return rec
}

// repeatable reports whether a call may be made twice.
func (r *Run) repeatable(id string) bool {
	parsed, err := catalog.ParseID(id)
	if err != nil {
		return false
	}
	op := r.request.View.Snapshot().Operation(parsed)
	return op != nil && op.Effects.Idempotent
}

// outcomeUnknown is the fault of a call of which it is not known whether it took effect.
func (h *hold) outcomeUnknown(i Intent, why string) *fault.Fault {
	return fault.Newf(fault.OutcomeUnknown, "%s: %s", why, i.Operation).
		WithHint("Check outside whether the call took effect, do what is missing, and use a new key.").
		WithDetails(map[string]any{"runId": h.Run, "call": map[string]any{
			"operation": i.Operation, "position": i.Position, "key": h.Run + ":" + string(i.Position), "at": i.At.UTC().Format(time.RFC3339Nano),
		}})
}

// keep renews the lease until stop. The context it returns ends with the hold.
func (h *hold) keep(ctx context.Context) (held context.Context, stop func()) {
	held, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(h.Lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-held.Done():
				return
			case <-tick.C:
			}
			rctx, free := context.WithTimeout(held, h.Lease/3)
			err := h.ledger.Renew(rctx, h.Hold)
			free()
			if errors.Is(err, ErrLost) {
				cancel(ErrLost)
				return
			}
		}
	}()
	return held, func() {
		cancel(nil)
		<-done
	}
}

// intend keeps that a call is going to be made. Where a holder before was at the
// same place with another call, the run takes another way than the one that has
// left effects behind, and must not go on.
func (h *hold) intend(ctx context.Context, c *call, digest [32]byte) error {
	i := Intent{Position: c.position, Operation: c.op.ID.String(), Digest: hex.EncodeToString(digest[:])}
	if b, ok := h.before[c.position]; ok {
		if b.Digest != i.Digest {
			return h.outcomeUnknown(b, "the run with this key was cut off, and no longer makes the same calls as before")
		}
		h.visit(c.position)
	}
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	if err := h.ledger.Intend(ctx, h.Hold, i); err != nil {
		return ledgerFault(err)
	}
	h.mu.Lock()
	h.effects++
	h.mu.Unlock()
	return nil
}

func (h *hold) visit(at Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.visited[at] = true
}

// settle keeps how a call ended, if anybody knows. A ledger that cannot be written
// leaves the intent open, which is never wrong.
func (h *hold) settle(ctx context.Context, c *call, digest [32]byte, out json.RawMessage, err error) {
	i := Intent{Position: c.position, Operation: c.op.ID.String(), Digest: hex.EncodeToString(digest[:]), Closed: true, Kept: true, Output: out}
	if err != nil {
		i.Fault, i.Output = fault.From(err), nil
		switch i.Fault.Code {
		case fault.Cancelled, fault.Timeout, fault.ToolTimeout, fault.OutcomeUnknown:
			return
		}
	}
	h.mu.Lock()
	if i.Fault != nil && i.Fault.Retry == fault.Safe {
		h.effects--
	}
	h.size += len(i.Output)
	if h.size > outsideFactor*h.run.engine.opts.KeyBytes {
		i.Kept, i.Output = false, nil
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer cancel()
	if err := h.ledger.Settle(ctx, h.Hold, i); err != nil {
		h.run.engine.opts.Log.WarnContext(ctx, "the end of a call could not be recorded in the ledger", "run", h.Run, "operation", i.Operation, "error", err)
	}
}

// commits returns the ledger where the receipt will be, and finds out whether the
// run is still this holder's.
func (h *hold) commits(ctx context.Context, sets []string) error {
	if len(h.earlier) > 0 && !slices.ContainsFunc(sets, func(s string) bool { return slices.Contains(h.earlier, s) }) {
		// Only a receipt in the same set keeps a holder that is not dead from committing.
		return fault.New(fault.OutcomeUnknown, "the run with this key was cut off at its commit, and now writes elsewhere").
			WithHint("Check what is in the data, and use a new key.").WithDetails(map[string]any{"runId": h.Run, "sets": h.earlier})
	}
	if !h.run.spec.Atomic {
		h.earlier = nil // the first of its receipts is enough for that
	}
	for _, s := range sets {
		if !slices.Contains(h.noted, s) {
			h.noted = append(h.noted, s)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	if err := h.ledger.Commits(ctx, h.Hold, h.noted, h.run.scope()); err != nil {
		if errors.Is(err, ErrLost) {
			return err
		}
		return ledgerFault(err)
	}
	return nil
}

// checkAllVisited returns an outcome_unknown fault unless the run came by all that holders before did outside.
func (h *hold) checkAllVisited() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	for at, i := range h.before {
		if !h.visited[at] {
			return h.outcomeUnknown(i, "the run with this key was cut off, and now ends without the call that was made then")
		}
	}
	return nil
}

// takenOver turns the error that somebody else has the run, or has committed it, into
// what the caller gets.
func (h *hold) takenOver(ctx context.Context, out *Outcome, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer cancel()
	if !errors.Is(err, ErrCommitted) && !errors.Is(err, ErrLost) {
		return err
	}
	if p := h.run.request.plan; p != nil && !p.isOwnedBy(h.run.request.approver) {
		h.unsure = true
		return h.run.busy() // the other may have come to other sets: the next call finds out
	}
	told := h.run.recall(ctx, h.ledger, h.noted, out)
	switch {
	case out.Repeated:
		return told
	case errors.Is(err, ErrCommitted):
		h.unsure = true
		return told
	}
	return fault.New(fault.InProgress, "this run's lease ran out, and somebody else has taken it over").
		WithPath("/idempotencyKey").WithDetails(map[string]any{"runId": h.Run})
}

// end releases the key. A run that failed and left nothing behind frees it. One
// that left something outside and failed for no reason of its own is gone on with
// by the next who asks; another's failure is its result.
func (h *hold) end(ctx context.Context, out *Outcome, lost bool, f *fault.Fault) error {
	if lost || h.unsure {
		return nil // the receipt decides, when the lease is over
	}
	if f == nil {
		e := Ending{Fate: Keep, Reply: out.Reply, Scope: h.run.scope()}
		if out.Committed && h.run.spec.Atomic {
			e.Reply = nil
		}
		if out.Repeated { // another holder kept both
			e.Reply, e.Scope = nil, nil
		}
		if err := h.giveUp(ctx, e); errors.Is(err, ErrLost) && e.Reply != nil {
			return h.takenOver(ctx, out, err)
		}
		return nil
	}
	switch {
	case out.Committed, h.effects > 0 && !h.transient(f):
		h.giveUp(ctx, Ending{Fate: Keep, Reply: out.Reply, Fault: f, Scope: h.run.scope()})
	case h.effects > 0, len(h.earlier) > 0:
		h.giveUp(ctx, Ending{Fate: Resume})
	default:
		h.giveUp(ctx, Ending{Fate: Free})
	}
	return nil
}

// transient reports whether a run may end otherwise when it is gone on with.
func (h *hold) transient(f *fault.Fault) bool {
	return f.Retry == fault.Safe || f.Code == fault.Timeout || f.Code == fault.ApprovalRequired || f.Code == fault.PlanStale || h.run.hiddenFromApprover()
}

// giveUp ends the hold. Where the ledger cannot be written, the lease runs out.
func (h *hold) giveUp(ctx context.Context, e Ending) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer cancel()
	err := h.ledger.End(ctx, h.Hold, e)
	if err != nil && !errors.Is(err, ErrLost) {
		h.run.engine.opts.Log.WarnContext(ctx, "the end of a run could not be recorded in the ledger", "run", h.Run, "error", err)
	}
	return err
}

// ledgerFault is the fault of a ledger that is not available.
func ledgerFault(err error) error {
	if isFault(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, ErrLost) {
		return fault.New(fault.InProgress, "this run's lease ran out, and somebody else has taken it over").WithPath("/idempotencyKey")
	}
	return fault.New(fault.ServiceUnavailable, "the ledger of idempotency keys is not available").Because(err)
}

// admitKey refuses a key that cannot be kept.
func (e *Engine) admitKey(spec Spec, subject string) error {
	switch {
	case spec.IdempotencyKey == "":
		return nil
	case e.ledger == nil:
		return fault.New(fault.CapabilityUnsupported, "this app keeps no idempotency keys, so it cannot promise that a script runs once").
			WithHint("Leave `idempotencyKey` out.").WithPath("/idempotencyKey")
	case subject == "":
		return fault.New(fault.Unauthorized, "a caller without a name cannot hold an idempotency key").WithPath("/idempotencyKey")
	}
	return nil
}
