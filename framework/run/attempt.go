package run

import (
	"context"
	"strconv"
	"sync"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/budget"
	"github.com/koan-go/koan/framework/run/tape"
)

// Attempt is one try of a run, with its own transactions. Its methods may be
// called from several goroutines.
type Attempt struct {
	run    *Run
	number int

	parent context.Context // the run's

	serial sync.Mutex // entity calls run one at a time
	txs    transactions
	paused []Change // what it changed before it paused

	share share // of what the host holds for the run

	mu      sync.Mutex
	next    int
	calls   []CallRecord
	sdk     int
	end     error // why nothing more may be called
	writing bool  // a transaction holds a write lock
	// questions that calls wait to have answered
	questions int
	beyond    beyond
}

func newAttempt(ctx context.Context, r *Run, n int) *Attempt {
	a := &Attempt{run: r, number: n, parent: ctx}
	a.share.account, a.txs.attempt = r.account, a
	return a
}

// Number counts attempts from 1.
func (a *Attempt) Number() int { return a.number }

// Run is the run that the attempt belongs to.
func (a *Attempt) Run() *Run { return a.run }

// Tape is the run's tape.
func (a *Attempt) Tape() *tape.Tape { return a.run.tape }

// Fresh reports whether nothing can be on the tape that another attempt has left there.
func (a *Attempt) Fresh() bool { return a.number == 1 && !a.run.tape.Thawed() }

// Set is the default set of the attempt's calls.
func (a *Attempt) Set() string { return a.run.spec.Set }

// DryRun reports whether the attempt will be rolled back.
func (a *Attempt) DryRun() bool { return a.run.spec.DryRun }

// Records reports whether Change.Before and After are wanted.
func (a *Attempt) Records() bool {
	return a.run.spec.Record || a.run.spec.DryRun
}

// WriteFirst tells a store to take the write lock when a transaction begins:
// the attempt is known to write.
func (a *Attempt) WriteFirst() bool {
	return a.number > 1 || !a.run.composed() && !a.run.op.Effects.ReadOnly
}

// Single reports whether the run is one call that only reads, so that a store may
// spare the transaction where one statement does the work.
func (a *Attempt) Single() bool {
	return !a.run.composed() && a.run.op.Effects.ReadOnly
}

// Next takes the next position. An executor takes it when the script issues a
// call, so that positions are in the order of issue even when calls run in
// parallel.
func (a *Attempt) Next() Position {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next++
	return Position(strconv.Itoa(a.next))
}

// Observed reports whether somebody watches the attempt.
func (a *Attempt) Observed() bool { return a.run.engine.watching.observer != nil }

// Statement reports a statement of SQL to the attempt's observer; the returned function
// reports its end.
func (a *Attempt) Statement(ctx context.Context, text string) func(error) {
	return a.run.engine.watching.observeStatement(ctx, text)
}

// count is the quota: before the call, so that nothing beyond it happens.
func (a *Attempt) count() error {
	if err := a.countCall(); err != nil {
		return err
	}
	return a.Hold(callBytes)
}

func (a *Attempt) countCall() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end != nil {
		return a.end
	}
	if limit := a.run.spec.MaxCalls; limit > 0 && a.sdk >= limit {
		a.end = fault.Newf(fault.SDKCallsExceeded, "the script made more than %d calls", limit).WithDetails(map[string]any{"limit": limit})
		return a.end
	}
	a.sdk++
	return nil
}

// callBytes is what the host keeps for one call besides the data that it gives: its records
// for the reply and for the journal, and the script's clock after it. An estimate on the high
// side.
const callBytes = 640

// errClosed is what a call gets that comes after its attempt.
var errClosed = fault.New(fault.Cancelled, "the run has ended")

// ended returns why the attempt ended early, nil if it did not.
func (a *Attempt) ended() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == error(errClosed) {
		return nil
	}
	return a.end
}

// closed returns why no call may start any more, nil while calls may.
func (a *Attempt) closed() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.end
}

// finish notes the first reason to end the attempt and returns it. A commit
// may find one after the attempt was closed.
func (a *Attempt) finish(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil || a.end == error(errClosed) {
		a.end = err
	}
	return a.end
}

func (a *Attempt) restart(why string) error { return a.finish(&restart{why: why}) }

// close refuses calls from now on.
func (a *Attempt) close() {
	a.serial.Lock() // waits for an entity call in progress
	defer a.serial.Unlock()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.end == nil {
		a.end = errClosed
	}
}

func (a *Attempt) note(rec CallRecord) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.calls = append(a.calls, rec)
}

func (a *Attempt) trace() (calls []CallRecord, sdk int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]CallRecord{}, a.calls...), a.sdk
}

// Hold counts n bytes that the host is going to keep for the attempt, until it ends or
// Release. It ends in memory_exceeded, and the attempt with it, where that would be
// more than run.maxBytes; nothing is to be kept then.
func (a *Attempt) Hold(n int) error {
	if err := a.share.hold(int64(n)); err != nil {
		return a.finish(err)
	}
	return nil
}

// Release takes off the count what Hold has counted and is not kept any more.
func (a *Attempt) Release(n int) { a.share.release(int64(n)) }

// Room is how many more bytes Hold would count now.
func (a *Attempt) Room() int { return int(a.run.account.Free()) }

// dropShare ends the attempt's share of what the host holds for the run.
func (a *Attempt) dropShare() { a.share.end() }

// rollback ends the attempt's transactions without effect.
func (a *Attempt) rollback(ctx context.Context) {
	a.serial.Lock()
	defer a.serial.Unlock()
	a.txs.rollback(ctx)
	a.setWriting(false)
}

// setWriting notes whether a transaction of the attempt holds a write lock, which no slow call
// may keep waiting.
func (a *Attempt) setWriting(is bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.writing = is
}

// asks notes that more calls, or fewer, wait for the client.
func (a *Attempt) asks(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.questions += n
}

// share is the part of an account that ends with an attempt.
type share struct {
	account *budget.Account
	mu      sync.Mutex
	held    int64
	ended   bool
}

func (s *share) hold(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return errClosed
	}
	if f := s.account.Take(n); f != nil {
		return f
	}
	s.held += n
	return nil
}

func (s *share) release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.held -= n
		s.account.Give(n)
	}
}

func (s *share) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.ended = true
		s.account.Give(s.held)
	}
}

// beyond is the context of calls that no transaction covers: they may go on past their
// attempt's end, where a new one waits for them. Most attempts have none.
type beyond struct {
	mu      sync.Mutex
	ctx     context.Context
	cancel  context.CancelFunc
	aborted bool
}

func (b *beyond) until(parent context.Context) context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx == nil {
		b.ctx, b.cancel = context.WithCancel(parent)
		if b.aborted {
			b.cancel()
		}
	}
	return b.ctx
}

// abort ends these calls: nobody waits for them.
func (b *beyond) abort() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.aborted = true
	if b.cancel != nil {
		b.cancel()
	}
}
