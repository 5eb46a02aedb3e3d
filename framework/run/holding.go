package run

import (
	"encoding/json"
	"sync"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/budget"
	"github.com/koan-go/koan/framework/run/tape"
)

// callBytes is what the host keeps for one call besides the data that it gives: its records
// for the reply and for the journal, and the script's clock after it. An estimate on the high
// side.
const callBytes = 640

// share is the part of an account that ends with an attempt.
type share struct {
	mu    sync.Mutex
	held  int64
	ended bool
}

// Hold counts n bytes that the host is going to keep for the attempt, until it ends or
// Release. It ends in memory_exceeded, and the attempt with it, where that would be
// more than run.maxBytes; nothing is to be kept then.
func (a *Attempt) Hold(n int) error {
	s := &a.share
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return a.finish(errClosed)
	}
	f := a.run.account.Take(int64(n))
	if f == nil {
		s.held += int64(n)
	}
	s.mu.Unlock()
	if f != nil {
		return a.finish(f)
	}
	return nil
}

// Release takes off the count what Hold has counted and is not kept any more.
func (a *Attempt) Release(n int) {
	s := &a.share
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.held -= int64(n)
		a.run.account.Give(int64(n))
	}
}

// Room is how many more bytes Hold would count now.
func (a *Attempt) Room() int { return int(a.run.account.Free()) }

// dropShare ends the attempt's share.
func (a *Attempt) dropShare() {
	s := &a.share
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		a.run.account.Give(s.held)
	}
}

// useTape takes a tape, and counts what is on it.
func (r *Run) useTape(t *tape.Tape) {
	t.Count(r.account)
	r.tape = t
}

// admitWeight refuses an input that would take more than three quarters of what a run
// may hold once it is decoded: the rest is for what the call does with it.
func (e *Engine) admitWeight(input json.RawMessage) (int64, error) {
	n := budget.Weight(input)
	if most := e.budget.Run() / 4 * 3; n > most {
		return 0, fault.Newf(fault.CallTooLarge, "the input takes about %d bytes when it is decoded, at most %d are allowed (three quarters of run.maxBytes)", n, most).
			WithHint("Send less in one call: smaller lists and fewer nested objects.").
			WithDetails(map[string]any{"limitBytes": most})
	}
	return n, nil
}

// holdInput counts the input of a request.
func (e *Engine) holdInput(c *budget.Account, input json.RawMessage) error {
	n, err := e.admitWeight(input)
	if err != nil {
		return err
	}
	if f := c.Take(n); f != nil {
		return f
	}
	return nil
}

// admitInput counts the input of a call, unless it is the request's own, which is
// counted.
func (e *Engine) admitInput(c *call) (int, error) {
	if !c.attempt.run.Scripted() && !c.position.Nested() {
		return 0, nil
	}
	n, err := e.admitWeight(c.input)
	if err != nil {
		return 0, err
	}
	if err := c.attempt.Hold(int(n)); err != nil {
		return 0, err
	}
	return int(n), nil
}
