package postgres

import (
	"context"
	"database/sql"
	"errors"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/run/store"
)

// Tx is what a set takes part with in the transaction of an attempt. It is used by
// one goroutine at a time, together with those of the attempt's other sets.
type Tx struct {
	d       *Database // nil where names are not of a set
	c       *conversation
	writing bool
	ended   bool
}

var _ database.Tx = (*Tx)(nil)

var errEnded = errors.New("postgres: the transaction has ended")

// draft is the set that the transaction makes, nil for one that exists.
func (t *Tx) draft() *Draft {
	if t.d == nil {
		return nil
	}
	return t.d.draft
}

// Single implements database.Tx.
func (t *Tx) Single() {
	if t.c.state == idle && t.draft() == nil {
		t.c.state = single
	}
}

// Writing implements database.Tx.
func (t *Tx) Writing() bool { return t.writing && !t.Ended() }

// Ended implements database.Tx.
func (t *Tx) Ended() bool { return t.ended || t.c.state == over }

// Write implements database.Tx. It waits for nothing: the lock goes out with the
// next statement, which ends in the reason where it is not given.
//
// Who writes shares the set's lock with all others that write, and PostgreSQL finds
// out whether they were in each other's way. A later attempt, and a call that
// commits by itself and so cannot be repeated, takes the lock alone and before it
// reads: then nobody can be in its way.
func (t *Tx) Write(ctx context.Context) error {
	switch {
	case t.Ended():
		return errEnded
	case t.writing:
		return nil
	case t.c.stale:
		return store.ErrStale
	case t.c.replica != nil:
		return t.c.leaveReplica(nil)
	}
	if d := t.draft(); d != nil { // it is nobody else's, and needs no lock
		t.writing = true
		return d.make(ctx)
	}
	mode := "ROW EXCLUSIVE"
	if t.c.hasNotRead() && t.c.locksExclusively() {
		mode = "EXCLUSIVE"
	}
	t.c.setSearchPath(t.d)
	t.c.due += "LOCK TABLE " + quoted(t.d.schema) + ".koan_receipts IN " + mode + " MODE;"
	t.writing = true
	return nil
}

// Savepoint implements database.Tx. Reading leaves nothing behind, so only a run in
// which a read has failed before has savepoints around its reads.
func (t *Tx) Savepoint(ctx context.Context, read bool) (end func(ok bool) error, err error) {
	if t.Ended() {
		return nil, errEnded
	}
	if d := t.draft(); d != nil { // before the savepoint: rolling back to it leaves the draft
		if err := d.make(ctx); err != nil {
			return nil, err
		}
	}
	if t.c.state == single || read && !t.c.careful {
		return func(bool) error { return nil }, nil
	}
	t.c.setSearchPath(t.d)
	s := t.c.openSavepoint()
	clean := context.WithoutCancel(ctx)
	return func(ok bool) error { return t.c.closeSavepoint(clean, s, ok) }, nil
}

// Alone implements database.Tx. A savepoint goes out with the statement.
func (t *Tx) Alone(statement func() (bool, error)) error {
	_, err := statement()
	return err
}

// Recover implements database.Tx.
func (t *Tx) Recover(ctx context.Context) error {
	if t.Ended() || t.c.stale {
		return nil
	}
	return t.c.recoverFromError(context.WithoutCancel(ctx))
}

// Statements implements database.Counter.
func (t *Tx) Statements() (int, bool) { return t.c.statements, true }

// Stale implements database.Tx. Whatever a replica fails in, the server with the data is asked again.
func (t *Tx) Stale(err error) bool {
	if t.c.stale || errors.Is(err, store.ErrStale) || Again(err) {
		return true
	}
	if t.c.replica == nil || err == nil {
		return false
	}
	_, mine := Trouble(t.d.set, err)
	return mine
}

// QueryContext implements database.Querier.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if t.Ended() {
		return nil, errEnded
	}
	t.c.statements++
	if t.writing {
		t.c.replan()
	}
	if err := t.c.ready(ctx, t.d); err != nil {
		return nil, err
	}
	rows, err := t.c.conn.QueryContext(ctx, query, args...)
	return rows, t.c.noteStatementError(ctx, err)
}

// ExecContext implements database.Querier.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if t.Ended() {
		return nil, errEnded
	}
	t.c.statements++
	if t.writing {
		t.c.replan()
	}
	if err := t.c.ready(ctx, t.d); err != nil {
		return nil, err
	}
	result, err := t.c.conn.ExecContext(ctx, query, args...)
	return result, t.c.noteStatementError(ctx, err)
}

// Commit implements database.Tx. The last set of an attempt commits for all; until
// then nothing of any of them is in the data.
func (t *Tx) Commit(ctx context.Context) error {
	if t.Ended() {
		return errEnded
	}
	if d := t.draft(); d != nil {
		if !d.published && t.c.members == 1 { // nothing else is in the transaction
			return t.Rollback(ctx)
		}
		if err := d.finish(ctx); err != nil {
			return err
		}
	}
	if t.c.members > 1 {
		t.c.members--
		t.ended = true
		return nil
	}
	if err := t.c.commit(ctx); err != nil {
		return err
	}
	t.ended = true
	return nil
}

// Rollback implements database.Tx. It ends the transaction for all sets of the
// attempt.
func (t *Tx) Rollback(ctx context.Context) error {
	if !t.Ended() {
		t.ended = true
		t.c.rollback(ctx)
	}
	return nil
}

// Driver implements database.Tx.
func (t *Tx) Driver() *database.TxDriver { return database.NewTxDriver(dialect.Postgres, t) }

// With implements database.Tx.
func (t *Tx) With(ctx context.Context) context.Context { return database.With(ctx, t.d, t) }
