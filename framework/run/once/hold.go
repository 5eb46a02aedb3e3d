package once

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/tape"
)

// hold is the key of a run. It takes part in the run once it is claimed.
type hold struct {
	Hold
	keys   *Keys
	run    *run.Run
	ledger Ledger

	claimed bool
	fresh   bool                    // nobody held the key before
	earlier []string                // sets that holders before meant to commit to
	before  map[run.Position]Intent // calls that holders before made
	noted   []string                // sets that are known to the ledger
	stop    func()                  // ends renewing the lease

	mu      sync.Mutex
	visited map[run.Position]bool // calls of before that this holder came by
	effects int                   // calls that may have had an effect outside
	size    int                   // bytes of results that are kept
}

var (
	_ run.Claimer   = (*hold)(nil)
	_ run.Witness   = (*hold)(nil)
	_ run.Writer    = (*hold)(nil)
	_ run.Judge     = (*hold)(nil)
	_ run.Committer = (*hold)(nil)
	_ run.Recoverer = (*hold)(nil)
	_ run.Releaser  = (*hold)(nil)
	_ run.Ender     = (*hold)(nil)
)

// Claim takes the run's key. Over reports that nothing is left to run: out has what
// the first run returned, or err says why there is nothing to return.
func (h *hold) Claim(ctx context.Context, out *run.Outcome) (run.Claim, error) {
	r, o := h.run, h.keys.opts
	key, p := r.Key(), r.Principal()
	h.Hold = Hold{Run: r.ID, Holder: uuid.NewString(), Lease: o.Lease}
	st, err := h.ledger.Claim(ctx, Claim{
		Subject: p.Subject, Operation: key.Operation, Key: key.Name,
		Fingerprint: fingerprint(r),
		Run:         h.Run, Holder: h.Holder, Now: r.Tape().Now(), Seed: r.Tape().Seed(), Lease: o.Lease, Retention: o.Retention,
	})
	if err != nil {
		return run.Over, ledgerFault(err)
	}
	switch st.State {
	case Other:
		return run.Over, conflict(r)
	case Running:
		out.Run, r.ID = st.Run, st.Run
		return run.Over, key.Busy.WithDetails(map[string]any{"runId": st.Run, "since": st.Since.UTC().Format(time.RFC3339)})
	case Ended:
		if err := r.AdmitReader(st.replySets()); err != nil {
			return run.Over, err
		}
		out.Run, r.ID = st.Run, st.Run
		if st.Reply == nil && st.Fault == nil {
			return run.Over, h.recall(ctx, st.Sets, out)
		}
		return run.Over, repeat(out, st.Reply, st.Fault)
	case Held:
	}
	h.claimed, h.fresh = true, st.New
	h.before, h.visited = map[run.Position]Intent{}, map[run.Position]bool{}
	if !st.New {
		h.Run, r.ID, out.Run = st.Run, st.Run, st.Run
		if over, err := h.takeOver(ctx, st, out); over || err != nil {
			h.claimed = false
			return run.Over, err
		}
	}
	h.stop = h.renew(ctx)
	return run.Taken, nil
}

// Unclaim releases the key: the run is not made. What holders before have left behind
// stays known.
func (h *hold) Unclaim(ctx context.Context) {
	fate := Resume
	if h.fresh {
		fate = Free
	}
	_ = h.giveUp(ctx, Ending{Fate: fate})
	h.claimed = false
}

// repeat returns what a run gave the first time.
func repeat(out *run.Outcome, reply json.RawMessage, f *fault.Fault) error {
	out.Repeated, out.Reply = true, reply
	if f != nil {
		return f
	}
	return nil
}

// recall returns what stands in the receipt.
func (h *hold) recall(ctx context.Context, sets []string, out *run.Outcome) error {
	receipts, err := h.ledger.Receipts(ctx, h.run.ID, sets)
	if err != nil {
		return ledgerFault(err)
	}
	for _, receipt := range receipts {
		if receipt.Reply != nil {
			return repeat(out, receipt.Reply, nil)
		}
	}
	return fault.New(fault.OutcomeUnknown, "the run with this key has ended, and its receipt is no longer in the data").
		WithHint("The data has been replaced since, perhaps by a backup, and an earlier version of the app kept no more of this run. Check what is there, and use a new key.")
}

// takeOver finds out what holders before have left of the run: its receipt, so
// that it is over; calls outside of which nobody knows how they ended; or nothing
// that cannot be gone on with.
func (h *hold) takeOver(ctx context.Context, st Standing, out *run.Outcome) (over bool, err error) {
	r := h.run
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
			h.giveUp(ctx, Ending{Fate: Keep, Receipts: 1})
			if err := r.AdmitReader(st.replySets()); err != nil {
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
	t := r.Tape()
	if !r.KeepsTape() {
		t = tape.At(st.Now, st.Seed)
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
		case i.Closed || !h.repeatable(i.Operation):
			r.NoteOutsideEffect(h.earlierCall(i))
			return giveUp(h.outcomeUnknown(i, "the run with this key was cut off in the middle of an outside call"))
		default:
			t.Occurrence(i.Position, digest)
		}
		h.before[i.Position] = i
		r.NoteOutsideEffect(h.earlierCall(i))
	}
	if t != r.Tape() {
		r.UseTape(t)
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
func (h *hold) earlierCall(i Intent) run.CallRecord {
	snapshot := h.run.Request().View.Snapshot()
	rec := run.CallRecord{ToolName: i.Operation, OK: i.Closed && i.Fault == nil}
	if id, err := catalog.ParseID(i.Operation); err == nil {
		rec.ServerID = catalog.ServerID(id)
		if op := snapshot.Operation(id); op != nil {
			rec.ToolName = snapshot.ToolName(id)
		}
	}
	switch {
	case i.Fault != nil:
		rec.Error = course.Excerpt(h.run.Redact(i.Fault.Error()))
	case !i.Closed:
		rec.Error = "it is not known how it ended"
	}
	return rec
}

// repeatable reports whether a call may be made twice.
func (h *hold) repeatable(id string) bool {
	parsed, err := catalog.ParseID(id)
	if err != nil {
		return false
	}
	op := h.run.Request().View.Snapshot().Operation(parsed)
	return op != nil && op.Effects.Idempotent
}

// renew renews the lease until stop is called or ctx is over.
func (h *hold) renew(ctx context.Context) (stop func()) {
	held, cancel := context.WithCancel(ctx)
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
			if errors.Is(err, run.ErrLost) {
				h.run.LoseClaim()
				return
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
