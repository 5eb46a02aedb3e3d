package once

import (
	"context"
	"errors"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// Recover turns the error that somebody else has the run, or has committed it, into
// what the caller gets.
func (h *hold) Recover(ctx context.Context, out *run.Outcome, err error) error {
	if !h.claimed || !errors.Is(err, store.ErrCommitted) && !errors.Is(err, run.ErrLost) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer cancel()
	if h.run.ForeignReader() {
		h.run.MarkUncertain()
		return h.run.Key().Busy // the other may have come to other sets: the next call finds out
	}
	recalled := h.recall(ctx, h.noted, out)
	switch {
	case out.Repeated:
		return recalled
	case errors.Is(err, store.ErrCommitted):
		h.run.MarkUncertain()
		return recalled
	}
	return fault.New(fault.InProgress, "this run's lease ran out, and somebody else has taken it over").
		WithPath("/idempotencyKey").WithDetails(map[string]any{"runId": h.Run})
}

// Release releases the key. A run that failed and left nothing behind frees it. One
// that left something outside and failed for no reason of its own is gone on with
// by the next who asks; another's failure is its result.
func (h *hold) Release(ctx context.Context, c *run.Conclusion) error {
	if !h.claimed || c.Uncertain {
		return nil // the receipt decides, when the lease is over
	}
	r, out, f := h.run, c.Outcome, fault.From(c.Err)
	if f == nil {
		e := Ending{Fate: Keep, Reply: out.Reply, Scope: r.Scope(), Receipts: c.Receipts}
		if out.Committed && r.Spec().Atomic {
			e.Reply = nil
		}
		if out.Repeated { // another holder kept both
			e.Reply, e.Scope = nil, nil
		}
		if err := h.giveUp(ctx, e); errors.Is(err, run.ErrLost) && e.Reply != nil {
			return h.Recover(ctx, out, err)
		}
		return nil
	}
	switch {
	case out.Committed, h.effects > 0 && !h.transient(c, f):
		h.giveUp(ctx, Ending{Fate: Keep, Reply: out.Reply, Fault: f, Scope: r.Scope(), Receipts: c.Receipts})
	case h.effects > 0, len(h.earlier) > 0:
		h.giveUp(ctx, Ending{Fate: Resume})
	default:
		h.giveUp(ctx, Ending{Fate: Free})
	}
	return nil
}

// End ends renewing the lease.
func (h *hold) End(context.Context, *run.Conclusion) {
	if h.stop != nil {
		h.stop()
	}
}

// transient reports whether a run may end otherwise when it is gone on with.
func (h *hold) transient(c *run.Conclusion, f *fault.Fault) bool {
	return c.Transient || f.Code == fault.Timeout || f.Code == fault.ApprovalRequired || f.Code == fault.PlanStale || h.run.Hidden()
}

// giveUp ends the hold. Where the ledger cannot be written, the lease runs out.
func (h *hold) giveUp(ctx context.Context, e Ending) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer cancel()
	err := h.ledger.End(ctx, h.Hold, e)
	if err != nil && !errors.Is(err, run.ErrLost) {
		h.keys.opts.Log.WarnContext(ctx, "the end of a run could not be recorded in the ledger", "run", h.Run, "error", err)
	}
	return err
}

// ledgerFault is the fault of a ledger that is not available.
func ledgerFault(err error) error {
	if isFault(err) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, run.ErrLost) {
		return fault.New(fault.InProgress, "this run's lease ran out, and somebody else has taken it over").WithPath("/idempotencyKey")
	}
	return fault.New(fault.ServiceUnavailable, "the ledger of idempotency keys is not available").Because(err)
}
