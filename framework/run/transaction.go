package run

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/internal/aftercommit"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/internal/transaction"
	"github.com/koan-go/koan/framework/run/store"
)

// transactions are the transactions of an attempt.
type transactions struct {
	attempt *Attempt
	group   transaction.Group
	mu      sync.Mutex
	after   []deferred // to be called after the commit
	left    int        // functions that calls have left so far
}

// deferred is a function for after the commit, and the call that left it.
type deferred struct {
	at     Position
	number int
	fn     aftercommit.Func
}

// Within runs fn in the attempt's transaction on a set, which starts at the first such call, under a
// savepoint, so that a failed fn leaves nothing half-done. With atomic: false the call has a
// transaction of its own, which commits with it. write says that fn may write. Within is for handlers
// of Serial operations, with their context.
func Within(ctx context.Context, s store.Store, set string, write bool, fn func(context.Context, store.Tx) error) (err error) {
	c := currentCall(ctx)
	if c == nil {
		panic("run: Within outside of a call")
	}
	a, x := c.attempt, &c.attempt.txs
	defer func() { err = a.stale(err) }()
	t, err := x.enter(ctx, s, set, write)
	if err != nil {
		return err
	}
	end, err := t.Savepoint(ctx, !write)
	if err != nil {
		return err
	}
	returned := false
	defer func() {
		if err != nil || !returned {
			x.dropAfter(c.position)
		}
		if !returned { // fn panics, which the engine converts into a fault
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
	default: // writes of the call may still be there
		return a.course.End(err)
	}
	if a.CommitsByCall() {
		return x.settle(context.WithoutCancel(ctx), x.group.Part(t), err)
	}
	return err
}

// enter returns the attempt's transaction on a set, which starts at the first call there; with write it
// may write.
func (x *transactions) enter(ctx context.Context, s store.Store, set string, write bool) (*transaction.Transaction, error) {
	a := x.attempt
	if err := a.run.enterSet(ctx, set); err != nil {
		return nil, a.course.End(err)
	}
	t, err := x.group.Join(ctx, a, s, set)
	if err != nil {
		return nil, err
	}
	x.noteLock(t)
	if !write || t.Written() {
		return t, nil
	}
	if err := consult(a.run.parts, func(p Writer) error { return p.BeforeWrite(s) }); err != nil {
		return nil, err
	}
	err = x.group.StartWriting(ctx, t, a.run.spec.anySets)
	x.noteLock(t)
	return t, err
}

// together runs fn so that the changes of its calls are kept or undone as a whole, in all transactions
// that the attempt has joined or joins meanwhile. With atomic: false they are committed when fn has
// returned.
func (x *transactions) together(ctx context.Context, fn func() error) (err error) {
	a := x.attempt
	defer func() {
		if err != nil {
			x.dropAfter(currentCall(ctx).position)
		}
	}()
	level, err := x.group.Enter(ctx)
	if err != nil {
		return a.stale(err)
	}
	if err = fn(); err == nil {
		err = a.stale(x.group.Check(ctx))
	}
	x.group.Leave()
	if course.Ends(err) {
		return err // the whole attempt is rolled back
	}
	serr := level.Close(err == nil)
	switch {
	case serr == nil:
	case a.CommitsByCall(): // their transactions are rolled back
		err = errors.Join(err, serr)
	case errors.Is(serr, store.ErrStale):
		return a.stale(serr)
	case err == nil:
		err = serr
	default: // writes of the calls may still be there
		return a.course.End(err)
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
	case a.txs.group.Nested() && !a.run.spec.Atomic:
		return staleByCall(err)
	}
	return a.restart(err, "the data changed between read and write")
}

// restart ends the attempt because of an ErrStale, so that the next one can start.
func (a *Attempt) restart(err error, why string) error {
	if errors.Is(err, store.ErrRepeat) {
		return a.course.End(&course.Restart{Why: "the store needs it", Uncounted: true})
	}
	return a.course.Restart(why)
}

// staleByCall returns the fault of a nested call that commits by itself and whose data has changed
// meanwhile. Another attempt would repeat calls that have committed.
func staleByCall(err error) error {
	return fault.New(fault.Conflict, "the data changed between read and write").Because(err)
}

// CommitsByCall implements store.Attempt.
func (a *Attempt) CommitsByCall() bool { return !a.run.spec.Atomic && !a.txs.group.Nested() }

// abandon handles a panic of a call in its transaction; serr is the error of the rollback to the call's
// savepoint.
func (x *transactions) abandon(ctx context.Context, t *transaction.Transaction, serr error) {
	broken := fault.New(fault.Internal, "")
	switch {
	case x.attempt.CommitsByCall():
		_ = x.settle(ctx, x.group.Part(t), broken)
	case serr != nil:
		_ = x.attempt.course.End(broken)
	}
}

// settle commits or rolls back the transactions of a call that commits by itself.
func (x *transactions) settle(ctx context.Context, own *transaction.Group, err error) error {
	x.attempt.writing.Store(false)
	if err == nil {
		err = x.commitCall(ctx, own)
	}
	if err != nil {
		own.Rollback(ctx)
	}
	return err
}

// dropAfter drops the functions that a call has left, or calls that it made, since it is rolled back.
func (x *transactions) dropAfter(at Position) { x.dropAfterLeft(at, 0) }

// dropAfterLeft is dropAfter for those behind the first so many functions of the attempt.
func (x *transactions) dropAfterLeft(at Position, before int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.after = slices.DeleteFunc(x.after, func(d deferred) bool {
		return d.number > before && (d.at == at || strings.HasPrefix(string(d.at), string(at)+"."))
	})
}

// takeAfter returns the functions that are left to be called after the commit.
func (x *transactions) takeAfter() (fns []aftercommit.Func) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range x.after {
		fns = append(fns, d.fn)
	}
	x.after = nil
	return fns
}

func (x *transactions) commitCall(ctx context.Context, own *transaction.Group) error {
	a, r := x.attempt, x.attempt.run
	changes, err := own.Changes(ctx)
	if err != nil {
		return err
	}
	written := own.WrittenSets()
	before, _ := r.progress.Applied()
	all := slices.Concat(before, changes)
	if err := r.parts.judge(ctx, a, Effects{Changes: all}); err != nil {
		return err
	}
	if err := r.parts.beforeCommit(ctx, written); err != nil {
		return err
	}
	images, err := x.images(ctx, own)
	if err != nil {
		return err
	}
	if _, err := r.admitUndo(len(written) > 0, images); err != nil {
		return err
	}
	receipt := a.receipt(Return{}, changes)
	receipt.Sequence = r.progress.NextCommit()
	if err := commitGroup(ctx, own, receipt); err != nil {
		return err
	}
	r.progress.AddImages(images)
	r.progress.Apply(all, len(written) > 0)
	return nil
}

// noteLock records that a transaction holds a write lock, which the attempt must not keep during a slow
// call.
func (x *transactions) noteLock(t *transaction.Transaction) {
	if t.Locked() {
		x.attempt.writing.Store(true)
	}
}

// changes returns the changes of the attempt so far.
func (x *transactions) changes(ctx context.Context) ([]store.Change, error) {
	changes, err := x.group.Changes(ctx)
	if errors.Is(err, store.ErrStale) {
		return nil, x.attempt.restart(err, "the data changed before the run's changes were read")
	}
	return changes, err
}

// images returns what the transactions of a group that is about to commit did to rows.
func (x *transactions) images(ctx context.Context, group *transaction.Group) (out store.Images, err error) {
	switch {
	case len(group.WrittenSets()) == 0:
		return store.Images{}, nil
	case !x.attempt.KeepsImages():
		return store.Images{Incomplete: true}, nil
	}
	out, err = group.Images(ctx)
	if errors.Is(err, store.ErrStale) {
		err = x.attempt.restart(err, "the data changed before the run's changes were read")
	}
	return out, err
}

// commit commits all transactions.
func (x *transactions) commit(ctx context.Context, r store.Receipt) error {
	if err := x.attempt.run.parts.beforeCommit(ctx, x.group.WrittenSets()); err != nil {
		return err
	}
	err := commitGroup(ctx, &x.group, r)
	if errors.Is(err, store.ErrStale) {
		return x.attempt.restart(err, "the data changed before the commit")
	}
	return err
}

// commitGroup commits transactions. If their store panics, nobody knows what it has done.
func commitGroup(ctx context.Context, group *transaction.Group, r store.Receipt) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.OutcomeUnknown, "it is not known whether the data was committed").Because(fault.OfPanic(p).Unwrap())
		}
	}()
	return group.Commit(ctx, r)
}

// receipt returns the receipt of an attempt, or of a call that commits by itself.
func (a *Attempt) receipt(ret Return, changes []store.Change) store.Receipt {
	r := a.run
	return store.Receipt{
		Run: r.ID, Attempt: a.number, IdempotencyKey: r.spec.IdempotencyKey, Subject: r.request.Principal.Subject,
		CodeDigest: r.spec.CodeDigest, ResultDigest: journal.Digest(ret.Result), Result: ret.Result, ChangesDigest: r.ChangesDigest(changes),
		CatalogVersion: r.request.View.Snapshot().Version(), At: r.started.UTC().Truncate(time.Millisecond),
	}
}

// AfterCommit calls fn after the run of ctx has committed, for what hooks and handlers have to do
// outside, such as sending mail. fn is dropped if the run, or the call that left it, is rolled back,
// and in a dry run. The run does not wait for it: fn is called once the run has ended and is in the
// books, by a goroutine of its own, with a context that has the run's values and ends after
// run.afterCommitMs. Functions of one run are called in order, those of several runs side by side.
//
// fn is called at most once: not if the process ends before, or if too many are waiting. Its error or
// panic is logged and counted (koan.after_commits), and changes nothing about the run. What must
// happen is better written in the run, as a row that says what is to be done. Without a run in ctx, fn
// is called at once, and its error is logged.
func AfterCommit[F func(context.Context) | func(context.Context) error](ctx context.Context, fn F) {
	var f aftercommit.Func
	switch fn := any(fn).(type) {
	case func(context.Context) error:
		f = fn
	case func(context.Context):
		f = func(ctx context.Context) error { fn(ctx); return nil }
	}
	c := currentCall(ctx)
	if c == nil || c.attempt == nil {
		if err := f(ctx); err != nil {
			slog.ErrorContext(ctx, "a function after a commit failed", "error", err)
		}
		return
	}
	x := &c.attempt.txs
	x.mu.Lock()
	defer x.mu.Unlock()
	x.left++
	x.after = append(x.after, deferred{c.position, x.left, f})
}

// RollBackAfterCommit returns a function that drops what the call of ctx, and calls that it made, leave with
// AfterCommit until then. A store calls it where it rolls back to a savepoint inside of the call.
func RollBackAfterCommit(ctx context.Context) (drop func()) {
	c := currentCall(ctx)
	if c == nil || c.attempt == nil {
		return func() {}
	}
	x := &c.attempt.txs
	x.mu.Lock()
	defer x.mu.Unlock()
	before := x.left
	return func() { x.dropAfterLeft(c.position, before) }
}
