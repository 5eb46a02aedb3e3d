package run

import (
	"context"
	"errors"
)

// ErrStale is what a store returns (wrapped or not) when the snapshot that a
// transaction read is no longer the newest at its first write or at commit: a
// failed upgrade on SQLite, 40001 or 40P01 on PostgreSQL. The run rolls back and
// starts a new attempt.
var ErrStale = errors.New("run: the snapshot is stale")

var (
	// ErrLost ends a run whose claim has run out, so that somebody else has taken it over.
	ErrLost = errors.New("run: somebody else has taken this run over")
	// ErrCommitted is what a store's Commit returns where the set has a receipt of
	// this run and sequence already: of a holder that was thought to be dead.
	ErrCommitted = errors.New("run: this run has committed already")
)

// Store is what holds data and takes part in runs. It is called by one attempt
// at a time, but by many attempts at once.
type Store interface {
	// Begin opens a transaction on a set for an attempt. All reads in it see one
	// snapshot. Where a.WriteFirst() is true the transaction should take the write
	// lock at once. Begin is called at most once per attempt, store and set.
	Begin(ctx context.Context, a *Attempt, set string) (Tx, error)
}

// Tx is one set's transaction in one attempt.
type Tx interface {
	// Write is called before the first writing call, and takes the write lock
	// fairly and with a bound. It ends in ErrStale where the snapshot is too old,
	// in set_busy where the queue is full.
	Write(ctx context.Context) error
	// Savepoint opens a savepoint; end closes it: released when ok, else rolled
	// back to. Called around every writing call, and around reading ones where the
	// database needs it (the Tx decides; read says which it is). Where end cannot roll back what
	// a call wrote alone it is ErrStale, and nothing of the attempt stays.
	Savepoint(ctx context.Context, read bool) (end func(ok bool) error, err error)
	// State reports whether the transaction holds the write lock, and whether it has
	// written anything, rows that callers do not see included.
	State() (locked, wrote bool)
	// Changes are what the transaction changed so far: one for each row, from what
	// the transaction found to what it is now, in the order of the first write to
	// each. Before and After are there only where the attempt records. It ends in
	// ErrStale as a statement would.
	Changes(ctx context.Context) ([]Change, error)
	// Commit ends the transaction. If it wrote anything, the receipt is written in
	// it; ErrCommitted where there is one of this run and sequence.
	Commit(ctx context.Context, r Receipt) error
	// Rollback ends the transaction without effect. It never fails in a way that
	// leaves an effect; calling it after Commit is a no-op.
	Rollback(ctx context.Context) error
}

// Spanning is a Store whose one transaction can write to several sets. For
// others the second set that is written to is cross_set.
type Spanning interface{ SpansSets() bool }
