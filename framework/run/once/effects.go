package once

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// outsideFactor is how many replies' room the results of a run's calls outside may
// take in the ledger.
const outsideFactor = 4

// outcomeUnknown is the fault of a call of which it is not known whether it took effect.
func (h *hold) outcomeUnknown(i Intent, why string) *fault.Fault {
	return fault.Newf(fault.OutcomeUnknown, "%s: %s", why, i.Operation).
		WithHint("Check outside whether the call took effect, do what is missing, and use a new key.").
		WithDetails(map[string]any{"runId": h.Run, "call": map[string]any{
			"operation": i.Operation, "position": i.Position, "key": h.Run + ":" + string(i.Position), "at": i.At.UTC().Format(time.RFC3339Nano),
		}})
}

// Recorded implements run.Witness.
func (h *hold) Recorded(c *run.OutsideCall) {
	if h.claimed {
		h.visit(c.Position)
	}
}

// BeforeOutside keeps that a call is going to be made. Where a holder before was at the
// same place with another call, the run takes another way than the one that has
// left effects behind, and must not go on.
func (h *hold) BeforeOutside(ctx context.Context, c *run.OutsideCall) error {
	if !h.claimed || !c.Effect {
		return nil
	}
	i := intent(c)
	if b, ok := h.before[c.Position]; ok {
		if b.Digest != i.Digest {
			return h.outcomeUnknown(b, "the run with this key was cut off, and no longer makes the same calls as before")
		}
		h.visit(c.Position)
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

// intent is what the ledger has of a call.
func intent(c *run.OutsideCall) Intent {
	return Intent{Position: c.Position, Operation: c.Operation.ID.String(), Digest: hex.EncodeToString(c.Digest[:])}
}

func (h *hold) visit(at run.Position) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.visited[at] = true
}

// AfterOutside keeps how a call ended, if anybody knows. A ledger that cannot be written
// leaves the intent open, which is never wrong.
func (h *hold) AfterOutside(ctx context.Context, c *run.OutsideCall, out json.RawMessage, err error) {
	if !h.claimed || !c.Effect {
		return
	}
	i := intent(c)
	i.Closed, i.Kept, i.Output = true, true, out
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
	if h.size > outsideFactor*h.keys.opts.ReplyBytes {
		i.Kept, i.Output = false, nil
	}
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keyTimeout)
	defer cancel()
	if err := h.ledger.Settle(ctx, h.Hold, i); err != nil {
		h.keys.opts.Log.WarnContext(ctx, "the end of a call could not be recorded in the ledger", "run", h.Run, "operation", i.Operation, "error", err)
	}
}

// Judge refuses a reply that is too large to be kept, and a run that did not come by all that
// holders before did outside.
func (h *hold) Judge(_ context.Context, _ *run.Attempt, e run.Effects) error {
	if !h.claimed || !e.Whole {
		return nil
	}
	if most := h.keys.opts.ReplyBytes; len(e.Reply) > most {
		return fault.Newf(fault.ResultTooLarge, "the reply takes %d bytes; with an idempotency key at most %d are kept", len(e.Reply), most).
			WithHint("Return counts or ids, leave out what `include` adds, or raise run.keyMaxBytes.")
	}
	return h.checkAllVisited()
}

// BeforeWrite refuses a store whose receipts the ledger does not find.
func (h *hold) BeforeWrite(s store.Store) error {
	if !h.claimed || h.ledger.Keeps(s) {
		return nil
	}
	return fault.New(fault.CapabilityUnsupported, "what this operation writes is not kept with an idempotency key").WithHint("Leave `idempotencyKey` out.")
}

// BeforeCommit records in the ledger where the receipt will be, and finds out whether the
// run is still this holder's.
func (h *hold) BeforeCommit(ctx context.Context, sets []string) error {
	if !h.claimed || len(sets) == 0 && len(h.earlier) == 0 {
		return nil
	}
	if len(h.earlier) > 0 && !slices.ContainsFunc(sets, func(s string) bool { return slices.Contains(h.earlier, s) }) {
		// Only a receipt in the same set keeps a holder that is not dead from committing.
		return fault.New(fault.OutcomeUnknown, "the run with this key was cut off at its commit, and now writes elsewhere").
			WithHint("Check what is in the data, and use a new key.").WithDetails(map[string]any{"runId": h.Run, "sets": h.earlier})
	}
	if !h.run.Spec().Atomic {
		h.earlier = nil // the first of its receipts is enough for that
	}
	for _, s := range sets {
		if !slices.Contains(h.noted, s) {
			h.noted = append(h.noted, s)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, keyTimeout)
	defer cancel()
	if err := h.ledger.Commits(ctx, h.Hold, h.noted, h.run.Scope()); err != nil {
		if errors.Is(err, run.ErrLost) {
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
