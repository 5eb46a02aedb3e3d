package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"sync"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/tape"
)

// Attempt is one try of a run, with its own transactions. Its methods may be
// called from several goroutines.
type Attempt struct {
	run    *Run
	number int

	parent context.Context // the run's

	serial sync.Mutex // entity calls run one at a time
	txs    []*joined
	after  []func(context.Context)
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
	// Calls that no transaction covers may go on as long as outlives does: past the
	// attempt's end where a new one waits for them. Most attempts have none.
	outlives context.Context
	over     context.CancelFunc
	aborted  bool
}

// joined is a transaction that the attempt holds.
type joined struct {
	store   Store
	set     string
	tx      Tx
	written bool
}

func newAttempt(ctx context.Context, r *Run, n int) *Attempt {
	return &Attempt{run: r, number: n, parent: ctx}
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
	return a.number > 1 || a.run.op.ID.Kind != catalog.KindCode && !a.run.op.Effects.ReadOnly
}

// Single reports whether the run is one call that only reads, so that a store may
// spare the transaction where one statement does the work.
func (a *Attempt) Single() bool {
	return a.run.op.ID.Kind != catalog.KindCode && a.run.op.Effects.ReadOnly
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

// Invoke makes a call for the script: authorise, validate, quota, handler, tape,
// trace. The error is a fault, or Ends(err) is true.
func (a *Attempt) Invoke(ctx context.Context, at Position, id catalog.ID, input json.RawMessage) (json.RawMessage, error) {
	if err := a.count(); err != nil {
		return nil, err
	}
	return a.run.engine.invoke(ctx, a, at, id, input, catalog.SurfaceScript)
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

// Within runs fn in the attempt's transaction on a set, which begins at the
// first such call, under a savepoint: a failing fn leaves nothing half-done.
// With atomic: false the transaction is the call's own and commits with it.
// write reports that fn may write. It is for handlers of Serial operations, in the
// context they got.
func Within(ctx context.Context, store Store, set string, write bool, fn func(context.Context, Tx) error) error {
	c := currentCall(ctx)
	if c == nil {
		panic("run: Within outside of a call")
	}
	a := c.attempt
	err := a.within(ctx, store, set, write, fn)
	if errors.Is(err, ErrStale) {
		return a.restart("the data changed between read and write")
	}
	return err
}

func (a *Attempt) within(ctx context.Context, store Store, set string, write bool, fn func(context.Context, Tx) error) error {
	if err := a.enterSet(ctx, set); err != nil {
		return err
	}
	j, err := a.join(ctx, store, set)
	if err != nil {
		return err
	}
	if write && !j.written {
		for p := range each[Writer](a.run) {
			if err := p.BeforeWrite(store); err != nil {
				return err
			}
		}
		if err := a.admitWriter(store, set); err != nil {
			return err
		}
		if err := j.tx.Write(ctx); err != nil {
			return err
		}
		j.written = true
		a.noteLock(j.tx)
	}
	end, err := j.tx.Savepoint(ctx, !write)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned { // it panics, which the engine turns into a fault
			a.abandon(context.WithoutCancel(ctx), j, end(false))
		}
	}()
	err = fn(ctx, j.tx)
	returned = true
	serr := end(err == nil)
	switch {
	case err == nil:
		err = serr
	case serr == nil || !a.run.spec.Atomic:
	case errors.Is(serr, ErrStale):
		return errors.Join(serr, err)
	default: // what the call wrote may still be there
		return a.finish(err)
	}
	if a.run.spec.Atomic {
		return err
	}
	return a.settle(context.WithoutCancel(ctx), j, err)
}

// abandon is what a panic of a call means for its transaction; serr is how the
// rollback to the call's savepoint ended.
func (a *Attempt) abandon(ctx context.Context, j *joined, serr error) {
	broken := fault.New(fault.Internal, "")
	switch {
	case !a.run.spec.Atomic:
		_ = a.settle(ctx, j, broken)
	case serr != nil:
		_ = a.finish(broken)
	}
}

// join returns the attempt's transaction on a set, opening it at the first call.
func (a *Attempt) join(ctx context.Context, store Store, set string) (*joined, error) {
	for _, j := range a.txs {
		if j.store == store && j.set == set {
			return j, nil
		}
	}
	tx, err := store.Begin(ctx, a, set)
	if err != nil {
		return nil, err
	}
	j := &joined{store: store, set: set, tx: tx}
	a.txs = append(a.txs, j)
	a.noteLock(tx)
	return j, nil
}

// noteLock remembers that a transaction of the attempt holds a write lock, which
// no slow call may keep waiting.
func (a *Attempt) noteLock(tx Tx) {
	if locked, _ := tx.State(); locked {
		a.mu.Lock()
		a.writing = true
		a.mu.Unlock()
	}
}

// wrote reports whether any transaction has something to commit.
func (a *Attempt) wrote() bool {
	for _, j := range a.txs {
		if _, wrote := j.tx.State(); wrote {
			return true
		}
	}
	return false
}

func (a *Attempt) admitWriter(store Store, set string) error {
	if s, ok := store.(Spanning); ok && s.SpansSets() {
		return nil
	}
	for _, j := range a.txs {
		if j.written && (j.store != store || j.set != set) {
			return fault.Newf(fault.CrossSet, "this run already writes to the set %q and cannot write to %q too", j.set, set)
		}
	}
	return nil
}

// settle ends a call's own transaction where the run is not atomic.
func (a *Attempt) settle(ctx context.Context, j *joined, err error) error {
	for i, k := range a.txs {
		if k == j {
			a.txs = append(a.txs[:i], a.txs[i+1:]...)
			break
		}
	}
	a.mu.Lock()
	a.writing = false
	a.mu.Unlock()
	if err != nil {
		_ = j.tx.Rollback(ctx)
		return err
	}
	changes, err := j.tx.Changes(ctx)
	_, wrote := j.tx.State()
	if err == nil {
		err = a.run.judgeCall(ctx, a, changes)
	}
	if err == nil {
		err = a.announce(ctx, []*joined{j})
	}
	if err == nil {
		a.run.commits++
		rec := a.run.receipt(a, Return{}, changes)
		rec.Sequence = a.run.commits
		err = j.tx.Commit(ctx, rec)
	}
	if err != nil {
		_ = j.tx.Rollback(ctx)
		return err
	}
	a.run.mu.Lock()
	a.run.applied = append(a.run.applied, changes...)
	a.run.wrote = a.run.wrote || wrote
	a.run.mu.Unlock()
	return nil
}

func (a *Attempt) changes(ctx context.Context) ([]Change, error) {
	var out []Change
	for _, j := range a.txs {
		c, err := j.tx.Changes(ctx)
		if errors.Is(err, ErrStale) {
			return nil, a.restart("the data changed before the run's changes were read")
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c...)
	}
	return out, nil
}

// commit ends all transactions, the writing one last: on a store that cannot
// span sets there is at most one, so the whole is atomic.
func (a *Attempt) commit(ctx context.Context, r Receipt) error {
	if err := a.announce(ctx, a.txs); err != nil {
		return err
	}
	for _, writing := range []bool{false, true} {
		for _, j := range a.txs {
			if j.written != writing {
				continue
			}
			rec := r
			if _, wrote := j.tx.State(); wrote {
				r.Reply = nil // one set keeps it
			}
			if err := j.tx.Commit(ctx, rec); err != nil {
				if errors.Is(err, ErrStale) {
					return a.restart("the data changed before the commit")
				}
				return err
			}
		}
	}
	return nil
}

// announce lets the parts of the run know which sets are about to have a receipt.
func (a *Attempt) announce(ctx context.Context, txs []*joined) error {
	var sets []string
	for p := range each[Committer](a.run) {
		for _, j := range txs {
			if _, wrote := j.tx.State(); wrote && !slices.Contains(sets, j.set) {
				sets = append(sets, j.set)
			}
		}
		if err := p.BeforeCommit(ctx, sets); err != nil {
			return err
		}
	}
	return nil
}

func (a *Attempt) rollback(ctx context.Context) {
	a.serial.Lock()
	defer a.serial.Unlock()
	for _, j := range a.txs {
		_ = j.tx.Rollback(ctx)
	}
	a.txs = nil
	a.mu.Lock()
	a.writing = false
	a.mu.Unlock()
}

// AfterCommit has fn called once the run around ctx has committed: what a hook
// must do outside. It is dropped when the run rolls back, and in a dry run. In a
// context without a run it is called at once.
func AfterCommit(ctx context.Context, fn func(context.Context)) {
	c := currentCall(ctx)
	if c == nil {
		fn(ctx)
		return
	}
	c.attempt.mu.Lock()
	defer c.attempt.mu.Unlock()
	c.attempt.after = append(c.attempt.after, fn)
}
