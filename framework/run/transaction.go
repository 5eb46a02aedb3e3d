package run

import (
	"context"
	"errors"
	"slices"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/internal/transaction"
	"github.com/koan-go/koan/framework/run/store"
)

// transactions are those of an attempt.
type transactions struct {
	attempt *Attempt
	group   transaction.Group
	levels  []*level                // the nested calls that they are in
	after   []func(context.Context) // what is to be done outside once they are committed
	images  images                  // of what is about to be committed
}

// Within runs fn in the attempt's transaction on a set, which begins at the
// first such call, under a savepoint: a failing fn leaves nothing half-done.
// With atomic: false the transaction is the call's own and commits with it.
// write reports that fn may write. It is for handlers of Serial operations, in the
// context they got.
func Within(ctx context.Context, s store.Store, set string, write bool, fn func(context.Context, store.Tx) error) (err error) {
	c := currentCall(ctx)
	if c == nil {
		panic("run: Within outside of a call")
	}
	a, x := c.attempt, &c.attempt.txs
	defer func() { err = a.stale(err) }()
	if err := a.run.enterSet(ctx, set); err != nil {
		return a.finish(err)
	}
	t, err := x.group.Join(ctx, a, s, set)
	if err != nil {
		return err
	}
	x.noteLock(t)
	if write && !t.Written() {
		if err := consult(a.run.parts, func(p Writer) error { return p.BeforeWrite(s) }); err != nil {
			return err
		}
		if err := x.group.StartWriting(ctx, t); err != nil {
			return err
		}
		x.noteLock(t)
		for _, l := range x.levels {
			if err := l.mark(ctx, t); err != nil {
				return err
			}
		}
	}
	end, err := t.Savepoint(ctx, !write)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned { // it panics, which the engine turns into a fault
			x.abandon(context.WithoutCancel(ctx), t, end(false))
		}
	}()
	err = fn(ctx, t.Tx)
	returned = true
	serr := end(err == nil)
	switch {
	case err == nil:
		err = serr
	case serr == nil || a.CommitsByCall():
	case errors.Is(serr, store.ErrStale):
		return errors.Join(serr, err)
	default: // what the call wrote may still be there
		return a.finish(err)
	}
	if a.CommitsByCall() {
		return x.settle(context.WithoutCancel(ctx), x.group.Part(t), err)
	}
	return err
}

// abandon is what a panic of a call means for its transaction; serr is how the
// rollback to the call's savepoint ended.
func (x *transactions) abandon(ctx context.Context, t *transaction.Transaction, serr error) {
	broken := fault.New(fault.Internal, "")
	switch {
	case x.attempt.CommitsByCall():
		_ = x.settle(ctx, x.group.Part(t), broken)
	case serr != nil:
		_ = x.attempt.finish(broken)
	}
}

// settle ends the transactions of a call that commits by itself.
func (x *transactions) settle(ctx context.Context, own *transaction.Group, err error) error {
	x.attempt.setWriting(false)
	if err == nil {
		err = x.commitCall(ctx, own)
	}
	if err != nil {
		own.Rollback(ctx)
	}
	return err
}

func (x *transactions) commitCall(ctx context.Context, own *transaction.Group) error {
	a, r := x.attempt, x.attempt.run
	changes, err := own.Changes(ctx)
	if err != nil {
		return err
	}
	written := own.WrittenSets()
	r.progress.mu.Lock()
	all := slices.Concat(r.progress.applied, changes)
	r.progress.mu.Unlock()
	if err := r.parts.judge(ctx, a, Effects{Changes: all}); err != nil {
		return err
	}
	if err := r.parts.beforeCommit(ctx, written); err != nil {
		return err
	}
	if err := x.noteImages(ctx, own); err != nil {
		return err
	}
	r.progress.commits++
	receipt := r.receipt(a.number, Return{}, changes)
	receipt.Sequence = r.progress.commits
	if err := own.Commit(ctx, receipt); err != nil {
		return err
	}
	x.confirmImages()
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	r.progress.applied, r.progress.wrote = all, r.progress.wrote || len(written) > 0
	return nil
}

// noteLock notes that a transaction holds a write lock, which no slow call may keep waiting.
func (x *transactions) noteLock(t *transaction.Transaction) {
	if t.Locked() {
		x.attempt.setWriting(true)
	}
}

// changes returns what the attempt changed so far.
func (x *transactions) changes(ctx context.Context) ([]store.Change, error) {
	changes, err := x.group.Changes(ctx)
	if errors.Is(err, store.ErrStale) {
		return nil, x.attempt.restart("the data changed before the run's changes were read")
	}
	return changes, err
}

// commit ends all transactions with their effects.
func (x *transactions) commit(ctx context.Context, r store.Receipt) error {
	if err := x.attempt.run.parts.beforeCommit(ctx, x.group.WrittenSets()); err != nil {
		return err
	}
	err := x.group.Commit(ctx, r)
	if errors.Is(err, store.ErrStale) {
		return x.attempt.restart("the data changed before the commit")
	}
	return err
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
	c.attempt.txs.after = append(c.attempt.txs.after, fn)
}
