// Package store is the contract between runs and what holds data.
//
// What belongs here: what a run asks of a store, what a store may ask of an attempt, and what
// they tell each other: changes and receipts. Not here: how an attempt is made, or SQL.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/koan-go/koan/framework/run/tape"
)

// ErrStale is what a store returns (wrapped or not) when the snapshot that a
// transaction read is no longer the newest at its first write or at commit: a
// failed upgrade on SQLite, 40001 or 40P01 on PostgreSQL. The run rolls back and
// starts a new attempt.
var ErrStale = errors.New("run: the snapshot is stale")

// ErrRepeat is an ErrStale whose reason is not that the data changed: the store has learned during the
// attempt what it has to look at from its beginning. The attempt does not count towards run.maxAttempts,
// so a store must end in it for each reason only once.
var ErrRepeat = fmt.Errorf("run: the store needs another attempt: %w", ErrStale)

// ErrCommitted is what a store's Commit returns where the set has a receipt of
// this run and sequence already: of a holder that was thought to be dead.
var ErrCommitted = errors.New("run: this run has committed already")

// Attempt is what a store knows of the attempt that a transaction belongs to. Its methods may
// be called from several goroutines.
type Attempt interface {
	// Number counts the attempts of a run from 1.
	Number() int
	// Atomic reports whether one transaction covers all of a run's calls; else each call
	// commits by itself.
	Atomic() bool
	// CommitsByCall reports whether the call that is being made commits by itself, and not
	// together with others: where the run is not atomic and no nested call is around it.
	CommitsByCall() bool
	// WriteFirst tells a store to take the write lock when a transaction begins:
	// the attempt is known to write.
	WriteFirst() bool
	// Single reports whether the run is one call that only reads, so that a store may
	// spare the transaction where one statement does the work.
	Single() bool
	// Records reports whether Change.Before and After are wanted.
	Records() bool
	// KeepsImages reports whether Imager.Images is going to be asked. That may end at any
	// time, and does not begin again.
	KeepsImages() bool
	// HoldImage counts n bytes that are kept for images. They make room for everything else
	// that is held for the run: false is that the attempt keeps none any more. A negative n takes off
	// the count what is not kept any more.
	HoldImage(n int) bool

	// Tape is what is not deterministic in the run.
	Tape() *tape.Tape
	// Fresh reports whether nothing can be on the tape that another attempt has left there.
	Fresh() bool

	// Hold counts n bytes that the host is going to keep for the attempt, until it ends or
	// Release. It ends in memory_exceeded, and the attempt with it, where that would be
	// more than run.maxBytes; nothing is to be kept then.
	Hold(n int) error
	// Release takes off the count what Hold has counted and is not kept any more.
	Release(n int)

	// Observed reports whether somebody watches the attempt.
	Observed() bool
	// Statement reports a statement of SQL to the attempt's observer; the returned function
	// reports its end.
	Statement(ctx context.Context, text string) func(error)
}

// Store is what holds data and takes part in runs. It is called by one attempt
// at a time, but by many attempts at once.
type Store interface {
	// Begin opens a transaction on a set for an attempt. All reads in it see one
	// snapshot. Where a.WriteFirst() is true the transaction should take the write
	// lock at once. Begin is called at most once per attempt, store and set.
	Begin(ctx context.Context, a Attempt, set string) (Tx, error)
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

// Checker is a Tx that looks at what the app's own code has written when a nested call has ended well,
// before its savepoint is released. Its error is that of the nested call, which is undone.
type Checker interface {
	Check(ctx context.Context) error
}

// Continued is a Store that took the place of another one over the same data, as where the tables of a
// database have changed. Origin returns the first of them, which is itself where it took nobody's place.
type Continued interface{ Origin() Store }

// Spanning is a Store whose one transaction can write to several sets. For
// others the second set that is written to is cross_set.
type Spanning interface{ SpansSets() bool }

// Receipt is the proof of a commit, written in the data's own transaction.
type Receipt struct {
	Run            string
	Attempt        int
	Sequence       int // 0, or with atomic: false the number of the committed call
	IdempotencyKey string
	Subject        string
	CodeDigest     string // "sha256:…"
	ResultDigest   string // "sha256:…" over the canonical result
	Result         json.RawMessage
	Reply          json.RawMessage // with an idempotency key: all that the caller gets
	ChangesDigest  string
	CatalogVersion string
	At             time.Time
}
