package run

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/run/internal/budget"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/internal/detached"
	"github.com/koan-go/koan/framework/run/observe"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// Attempt is one execution of a run, with transactions of its own. Its methods are safe for
// concurrent use.
type Attempt struct {
	run    *Run
	number int

	serial sync.Mutex // entity calls run one at a time
	txs    transactions
	paused []store.Change // the changes before it paused

	share    *budget.Share  // of the bytes that the host holds for the run
	detached detached.Calls // the calls that no transaction covers

	course     course.Course
	writing    atomic.Bool // a transaction holds a write lock, which must not be kept during a slow call
	committed  atomic.Bool
	unanswered atomic.Int64 // questions to the client
	// unrepeatable counts the calls in progress that make calls of their own and have an effect
	// outside which another attempt would have again.
	unrepeatable atomic.Int64
}

func newAttempt(ctx context.Context, r *Run, n int) *Attempt {
	a := &Attempt{run: r, number: n, share: r.account.Share()}
	a.txs.attempt = a
	a.detached.Run, a.detached.Pending, a.detached.Interval = ctx, &r.progress.Pending, r.engine.opts.Lock
	return a
}

// Number returns the number of the attempt, from 1.
func (a *Attempt) Number() int { return a.number }

// Run returns the attempt's run.
func (a *Attempt) Run() *Run { return a.run }

// Tape implements store.Attempt. It returns the run's tape.
func (a *Attempt) Tape() *tape.Tape { return a.run.tape }

// Clock returns the current time as the run sees it.
func (a *Attempt) Clock() time.Time { return a.run.engine.opts.Clock() }

// Fresh implements store.Attempt.
func (a *Attempt) Fresh() bool { return a.number == 1 && !a.run.tape.Thawed() }

// Set returns the default set of the attempt's calls.
func (a *Attempt) Set() string { return a.run.spec.Set }

// DryRun reports whether the attempt will be rolled back.
func (a *Attempt) DryRun() bool { return a.run.spec.DryRun }

// Atomic implements store.Attempt.
func (a *Attempt) Atomic() bool { return a.run.spec.Atomic }

// Records implements store.Attempt.
func (a *Attempt) Records() bool { return a.run.spec.Record || a.run.spec.DryRun }

// WriteFirst implements store.Attempt.
func (a *Attempt) WriteFirst() bool {
	op := a.run.op // one that cannot be repeated has a second attempt only where it must
	return a.number > 1 || !a.run.composed() && !op.Effects.ReadOnly || op.Converses && op.Effects.RepeatsOutside()
}

// Single implements store.Attempt.
func (a *Attempt) Single() bool {
	return !a.run.composed() && a.run.op.Effects.ReadOnly
}

// Next returns the position of the next call. An executor calls it when the script makes a call, so
// that positions are in the order of the script even if calls run in parallel.
func (a *Attempt) Next() Position { return a.course.Next() }

// Observed implements store.Attempt.
func (a *Attempt) Observed() bool { return a.run.engine.observer != observe.Nobody{} }

// Statement implements store.Attempt.
func (a *Attempt) Statement(ctx context.Context, text string) func(error) {
	return a.run.engine.observer.Statement(ctx, text)
}

// close makes all further calls fail.
func (a *Attempt) close() {
	a.serial.Lock() // waits for an entity call in progress
	defer a.serial.Unlock()
	a.course.Close()
}

// Hold implements store.Attempt.
func (a *Attempt) Hold(n int) error {
	if err := a.share.Take(int64(n)); err != nil {
		return a.course.End(err)
	}
	return nil
}

// Release implements store.Attempt.
func (a *Attempt) Release(n int) { a.share.Give(int64(n)) }

// Room returns how many more bytes Hold would accept now.
func (a *Attempt) Room() int { return int(a.run.account.Free()) }

// KeepsImages implements store.Attempt. A dry run leaves nothing that could be undone; an undo
// needs them to see what it found.
func (a *Attempt) KeepsImages() bool { return a.wantsImages() && a.share.KeepsSpare() }

// HoldImage implements store.Attempt.
func (a *Attempt) HoldImage(n int) bool {
	if n < 0 {
		a.share.GiveSpare(int64(-n))
		return a.KeepsImages()
	}
	return a.wantsImages() && a.share.TakeSpare(int64(n))
}

func (a *Attempt) wantsImages() bool {
	spec := &a.run.spec
	return spec.Undoes != "" || spec.images && !spec.DryRun
}

// rollback rolls back the attempt's transactions.
func (a *Attempt) rollback(ctx context.Context) {
	a.serial.Lock()
	defer a.serial.Unlock()
	a.txs.group.Rollback(ctx)
	a.writing.Store(false)
}
