package run

import (
	"context"
	"errors"
	"slices"

	"github.com/koan-go/koan/framework/fault"
)

// transactions are those of an attempt: one for each set that its calls have joined.
type transactions struct {
	attempt *Attempt
	open    []*joined
	levels  []*level                // the nested calls that they are in
	after   []func(context.Context) // what is to be done outside once they are committed
}

// joined is one of them.
type joined struct {
	store   Store
	set     string
	tx      Tx
	written bool
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
	return a.stale(a.txs.within(ctx, store, set, write, fn))
}

func (t *transactions) within(ctx context.Context, store Store, set string, write bool, fn func(context.Context, Tx) error) error {
	a := t.attempt
	if err := a.run.enterSet(ctx, set); err != nil {
		return a.finish(err)
	}
	j, err := t.join(ctx, store, set)
	if err != nil {
		return err
	}
	if write && !j.written {
		if err := a.run.parts.beforeWrite(store); err != nil {
			return err
		}
		if err := t.admitWriter(store, set); err != nil {
			return err
		}
		if err := j.tx.Write(ctx); err != nil {
			return err
		}
		j.written = true
		t.noteLock(j)
		for _, l := range t.levels {
			if err := l.mark(ctx, j); err != nil {
				return err
			}
		}
	}
	end, err := j.tx.Savepoint(ctx, !write)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if !returned { // it panics, which the engine turns into a fault
			t.abandon(context.WithoutCancel(ctx), j, end(false))
		}
	}()
	err = fn(ctx, j.tx)
	returned = true
	serr := end(err == nil)
	switch {
	case err == nil:
		err = serr
	case serr == nil || a.commitsByCall():
	case errors.Is(serr, ErrStale):
		return errors.Join(serr, err)
	default: // what the call wrote may still be there
		return a.finish(err)
	}
	if a.commitsByCall() {
		return t.settle(context.WithoutCancel(ctx), []*joined{j}, err)
	}
	return err
}

// abandon is what a panic of a call means for its transaction; serr is how the
// rollback to the call's savepoint ended.
func (t *transactions) abandon(ctx context.Context, j *joined, serr error) {
	broken := fault.New(fault.Internal, "")
	switch {
	case t.attempt.commitsByCall():
		_ = t.settle(ctx, []*joined{j}, broken)
	case serr != nil:
		_ = t.attempt.finish(broken)
	}
}

// join returns the attempt's transaction on a set, opening it at the first call.
func (t *transactions) join(ctx context.Context, store Store, set string) (*joined, error) {
	for _, j := range t.open {
		if j.store == store && j.set == set {
			return j, nil
		}
	}
	tx, err := store.Begin(ctx, t.attempt, set)
	if err != nil {
		return nil, err
	}
	j := &joined{store: store, set: set, tx: tx}
	t.open = append(t.open, j)
	t.noteLock(j)
	return j, nil
}

func (t *transactions) noteLock(j *joined) {
	if locked, _ := j.tx.State(); locked {
		t.attempt.setWriting(true)
	}
}

// wrote reports whether any transaction has something to commit.
func (t *transactions) wrote() bool {
	for _, j := range t.open {
		if _, wrote := j.tx.State(); wrote {
			return true
		}
	}
	return false
}

func (t *transactions) admitWriter(store Store, set string) error {
	if s, ok := store.(Spanning); ok && s.SpansSets() {
		return nil
	}
	for _, j := range t.open {
		if j.written && (j.store != store || j.set != set) {
			return fault.Newf(fault.CrossSet, "this run already writes to the set %q and cannot write to %q too", j.set, set)
		}
	}
	return nil
}

// settle ends the transactions of a call that commits by itself.
func (t *transactions) settle(ctx context.Context, own []*joined, err error) error {
	t.open = slices.DeleteFunc(t.open, func(j *joined) bool { return slices.Contains(own, j) })
	a, r := t.attempt, t.attempt.run
	a.setWriting(false)
	var changes []Change
	wrote := false
	for _, j := range own {
		if err != nil {
			break
		}
		var some []Change
		some, err = j.tx.Changes(ctx)
		changes = append(changes, some...)
		_, w := j.tx.State()
		wrote = wrote || w
	}
	if err == nil {
		r.progress.mu.Lock()
		all := slices.Concat(r.progress.applied, changes)
		r.progress.mu.Unlock()
		err = r.parts.judge(ctx, a, Effects{Changes: all})
	}
	if err == nil {
		err = t.announce(ctx, own)
	}
	if err == nil {
		r.progress.commits++
		rec := r.receipt(a.number, Return{}, changes)
		rec.Sequence = r.progress.commits
		err = commitAll(ctx, own, rec)
	}
	if err != nil {
		for _, j := range own {
			_ = j.tx.Rollback(ctx)
		}
		return err
	}
	r.progress.mu.Lock()
	r.progress.applied = append(r.progress.applied, changes...)
	r.progress.wrote = r.progress.wrote || wrote
	r.progress.mu.Unlock()
	return nil
}

// commitAll commits transactions, the writing one last: on a store that cannot span sets
// there is at most one, so the whole is atomic. One set keeps the reply.
func commitAll(ctx context.Context, all []*joined, r Receipt) error {
	for _, writing := range []bool{false, true} {
		for _, j := range all {
			if j.written != writing {
				continue
			}
			rec := r
			if _, wrote := j.tx.State(); wrote {
				r.Reply = nil
			}
			if err := j.tx.Commit(ctx, rec); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *transactions) changes(ctx context.Context) ([]Change, error) {
	var out []Change
	for _, j := range t.open {
		c, err := j.tx.Changes(ctx)
		if errors.Is(err, ErrStale) {
			return nil, t.attempt.restart("the data changed before the run's changes were read")
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c...)
	}
	return out, nil
}

// commit ends all transactions.
func (t *transactions) commit(ctx context.Context, r Receipt) error {
	if err := t.announce(ctx, t.open); err != nil {
		return err
	}
	err := commitAll(ctx, t.open, r)
	if errors.Is(err, ErrStale) {
		return t.attempt.restart("the data changed before the commit")
	}
	return err
}

// announce lets the parts of the run know which sets are about to have a receipt.
func (t *transactions) announce(ctx context.Context, txs []*joined) error {
	var sets []string
	for _, j := range txs {
		if _, wrote := j.tx.State(); wrote {
			sets = append(sets, j.set)
		}
	}
	return t.attempt.run.parts.beforeCommit(ctx, sets)
}

// rollback ends all of them without effect.
func (t *transactions) rollback(ctx context.Context) {
	for _, j := range t.open {
		_ = j.tx.Rollback(ctx)
	}
	t.open = nil
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
