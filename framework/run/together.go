package run

import (
	"context"
	"errors"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/transaction"
	"github.com/koan-go/koan/framework/run/store"
)

// level is a nested call in progress. It has a savepoint in each transaction of the attempt that
// writes, to undo its changes if it fails.
type level struct{ ends []func(ok bool) error }

// mark opens the level's savepoint in a transaction that writes.
func (l *level) mark(ctx context.Context, t *transaction.Transaction) error {
	end, err := t.Savepoint(ctx, false)
	if err != nil {
		return err
	}
	l.ends = append(l.ends, end)
	return nil
}

// close releases the savepoints, or rolls back to them, the last one first.
func (l *level) close(ok bool) error {
	var first error
	for i := len(l.ends) - 1; i >= 0; i-- {
		if err := l.ends[i](ok); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// together runs fn so that the changes of its calls are kept or undone as a whole, in all transactions
// that the attempt has joined or joins meanwhile. With atomic: false they are committed when fn has
// returned.
func (x *transactions) together(ctx context.Context, fn func() error) error {
	a, l := x.attempt, &level{}
	for _, t := range x.group.Writing() { // the others have nothing to undo
		if err := l.mark(ctx, t); err != nil {
			_ = l.close(false)
			return a.stale(err)
		}
	}
	a.mu.Lock()
	after := len(x.after)
	a.mu.Unlock()
	x.levels = append(x.levels, l)
	err := fn()
	x.levels = x.levels[:len(x.levels)-1]
	if Ends(err) {
		return err // the whole attempt is rolled back
	}
	if err != nil {
		a.mu.Lock()
		x.after = x.after[:after]
		a.mu.Unlock()
	}
	serr := l.close(err == nil)
	switch {
	case serr == nil:
	case a.CommitsByCall(): // their transactions are rolled back
		err = errors.Join(err, serr)
	case errors.Is(serr, store.ErrStale):
		return a.stale(serr)
	case err == nil:
		err = serr
	default: // writes of the calls may still be there
		return a.finish(err)
	}
	if !a.CommitsByCall() {
		return err
	}
	if err = x.settle(context.WithoutCancel(ctx), x.group.PartAll(), err); errors.Is(err, store.ErrStale) {
		return staleByCall(err)
	}
	return err
}

// stale converts ErrStale of a store into a restart, or, in a nested call that commits by itself, into
// a fault. It returns other errors unchanged.
func (a *Attempt) stale(err error) error {
	switch {
	case !errors.Is(err, store.ErrStale):
		return err
	case len(a.txs.levels) > 0 && !a.run.spec.Atomic:
		return staleByCall(err)
	}
	return a.restart("the data changed between read and write")
}

// staleByCall returns the fault of a nested call that commits by itself and whose data has changed
// meanwhile. Another attempt would repeat calls that have committed.
func staleByCall(err error) error {
	return fault.New(fault.Conflict, "the data changed between read and write").Because(err)
}

// CommitsByCall implements store.Attempt.
func (a *Attempt) CommitsByCall() bool { return !a.run.spec.Atomic && len(a.txs.levels) == 0 }
