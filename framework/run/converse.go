package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/callfault"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/tape"
)

// madeCall is a call that the handler of a conversing operation has made.
type madeCall struct {
	At        Position        `json:"at"`
	Operation string          `json:"operation"`
	Input     json.RawMessage `json:"input"`
	Outcome   string          `json:"outcome"` // outcomeDigest
}

// madeCalls are such calls in the order in which they ended. It is safe for concurrent use.
type madeCalls struct {
	mu  sync.Mutex
	all []madeCall
}

func (m *madeCalls) add(c madeCall) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, c)
}

// take returns the calls so far, and forgets them.
func (m *madeCalls) take() []madeCall {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.all
	m.all = nil
	return all
}

// outcomeDigest stands for what a call has ended in: equal ones are the same to who made it.
func outcomeDigest(out json.RawMessage, err error) string {
	if err != nil {
		return "fault " + string(fault.CodeOf(err))
	}
	sum := sha256.Sum256(out)
	return hex.EncodeToString(sum[:])
}

// errDiverged is the error of calls that end otherwise than when they were recorded.
var errDiverged = errors.New("run: the recorded calls end otherwise now")

// conversation is a call that no transaction covers, and whose handler makes calls in the run.
type conversation struct {
	engine *Engine
	call   *call
	o      *OutsideCall // the call as others see it
}

// run makes the call. Where the tape has its result, the calls that led to it are made again in this attempt;
// if one of them ends otherwise, the result is not worth anything, and the handler is called again.
func (t *conversation) run(ctx context.Context) (out json.RawMessage, err error) {
	c, a := t.call, t.call.attempt
	ctx, done, err := c.takeTurn(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	if c.inner, err = t.engine.newNest(c); err != nil {
		return nil, err
	}
	defer c.inner.ended.Store(true)
	t.o = newOutsideCall(ctx, c)
	within := context.WithValue(auth.With(ctx, c.inner.request.Principal), turnKey{a}, turn{queue: &c.inner.queue})
	if out, err, ok := a.run.tape.Outside(c.position, t.o.Digest); ok {
		notify(a.run.parts, func(p Witness) { p.Recorded(t.o) })
		again := a.txs.together(within, func() error {
			if ended := t.retrace(within); ended != nil {
				return ended
			}
			return err // as it was: what a call that failed wrote is not kept
		})
		switch {
		case again == nil, !errors.Is(again, errDiverged) && !course.Ends(again):
			return out, err
		case !errors.Is(again, errDiverged):
			return nil, again
		case c.op.Effects.RepeatsOutside():
			return nil, fault.Newf(fault.Conflict, "%s has had its effect outside, and the data by which it did has changed since", c.nameOf(c.op.ID)).
				WithRetry(fault.Never).WithHint("Check outside what it has done before calling again.")
		}
		c.calls.Store(0)
	}
	if err := t.o.permit(ctx); err != nil {
		return nil, err
	}
	return t.carryOut(ctx, within)
}

// retrace makes the recorded calls again.
func (t *conversation) retrace(ctx context.Context) error {
	c := t.call
	defer c.inner.made.take()
	raw, ok := c.attempt.run.tape.Calls(c.position, t.o.Digest)
	if !ok {
		return nil
	}
	var made []madeCall
	if err := json.Unmarshal(raw, &made); err != nil {
		return c.attempt.course.End(fault.New(fault.Internal, "").Because(err))
	}
	for _, m := range made {
		id, err := catalog.ParseID(m.Operation)
		if err != nil {
			return err
		}
		out, err := c.inner.Invoke(ctx, m.At, id, m.Input)
		switch {
		case course.Ends(err):
			return err
		case outcomeDigest(out, err) != m.Outcome:
			return errDiverged
		}
	}
	return nil
}

// carryOut calls the handler, and records what it returns and the calls that it has made. ctx is that of the
// call, within that of its calls.
func (t *conversation) carryOut(ctx, within context.Context) (out json.RawMessage, err error) {
	c, a := t.call, t.call.attempt
	if c.op.Effects.RepeatsOutside() {
		a.unrepeatable.Add(1)
		defer a.unrepeatable.Add(-1)
	}
	start := time.Now()
	var returned error // by the handler, whatever becomes of its transactions
	err = a.txs.together(within, func() error {
		out, returned = t.engine.handle(within, t.o.current, c)
		c.inner.ended.Store(true)
		if returned == nil {
			out = t.engine.schemas.WholeIntegers(c.op, out)
			returned = t.engine.checkOutput(ctx, c, out)
		}
		if ended := a.course.Ended(); ended != nil && !course.Ends(returned) {
			returned = ended // even if the handler ignored it
		}
		if returned != nil && !course.Ends(returned) {
			out, returned = nil, callfault.From(ctx, c.nameOf(c.op.ID), returned)
		}
		return returned
	})
	kept := t.record(ctx, start, out, returned)
	switch {
	case kept != nil:
		return nil, a.course.End(kept)
	case err != nil:
		return nil, err
	}
	return out, nil
}

// record puts on the tape what the call has ended in. One that its attempt has cut off is made again in the next
// one, unless that would repeat an effect outside.
func (t *conversation) record(ctx context.Context, start time.Time, out json.RawMessage, err error) error {
	c, r := t.call, t.call.attempt.run
	made, cut := c.inner.made.take(), course.Ends(err)
	outcome := err
	if cut && c.op.Effects.RepeatsOutside() {
		made, cut = nil, false
		outcome = fault.Newf(fault.OutcomeUnknown, "%s was cut off by a new attempt of the run, and may have had its effect outside", c.nameOf(c.op.ID)).
			WithHint("Check outside. A function that gives its idempotency key on is called again if its effects are declared idempotent.")
	}
	if t.o.Effect && !catalog.HadNoEffect(outcome) {
		r.NoteOutsideEffect(c.trace(c.op.ID, start, outcome))
	}
	var kept error
	if !cut {
		var calls json.RawMessage
		if calls, kept = tape.Marshal(made); kept == nil {
			kept = errors.Join(r.tape.RecordCalls(c.position, t.o.Digest, calls), r.tape.RecordOutside(c.position, t.o.Digest, out, outcome))
		}
	}
	notify(r.parts, func(p Witness) { p.AfterOutside(ctx, t.o, out, outcome) })
	return kept
}
