package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/run/store"
)

// state is how far a transaction has come.
type state int

const (
	idle    state = iota // no statement yet
	single               // one statement, without a transaction
	reading              // sees one snapshot
	writing              // holds the write lock
	ended
)

var errEnded = errors.New("sqlite: the transaction has ended")

// Tx is a transaction on one set. It is used by one goroutine at a time.
type Tx struct {
	d      *Database
	conn   *sql.Conn
	state  state
	queued bool // holds the host's write lock
	short  bool // does little after the lock: others may wait for its end
	shared bool // conn is the database's that writes
	group  *group
	lost   error // what SQLite rolled the whole transaction back for

	saves   []savepoint
	careful bool // no savepoint waits
	alone   bool // the statement that runs is alone
}

// Writing reports whether the transaction holds the write lock.
func (t *Tx) Writing() bool { return t.state == writing }

// Ended reports whether the transaction is over.
func (t *Tx) Ended() bool { return t.state == ended }

// Single avoids the transaction for a run that makes one statement only: what it
// reads is one snapshot anyway.
func (t *Tx) Single() {
	if t.state == idle {
		t.state = single
	}
}

// connect takes a connection for the transaction.
func (t *Tx) connect(ctx context.Context) (err error) {
	if t.conn == nil {
		t.conn, err = t.d.runs.Conn(ctx)
	}
	return err
}

// ready begins the transaction as a reader at its first statement.
func (t *Tx) ready(ctx context.Context) error {
	switch {
	case t.state == ended:
		return errEnded
	case t.lost != nil:
		return t.lost
	case t.state == idle:
		if err := t.connect(ctx); err != nil {
			return err
		}
		if _, err := t.conn.ExecContext(ctx, "BEGIN"); err != nil {
			return err
		}
		t.state = reading
	}
	return nil
}

// Write takes the write lock: first the host's, in the order of arrival and in turn
// with other processes, then the file's, which whoever takes no turns may still hold.
// A transaction that has read before ends in store.ErrStale where somebody wrote since,
// or is about to: waiting would not make its snapshot any newer. Nothing is held after
// a failure, so that who catches it can try again.
func (t *Tx) Write(ctx context.Context) error {
	switch t.state {
	case writing:
		return nil
	case ended:
		return errEnded
	default:
	}
	if err := t.d.checkSameFile(); err != nil {
		return err
	}
	switch t.state {
	case reading:
		if err := t.d.tryLock(); err != nil {
			return err
		}
		// Any statement that could write asks for the lock, even where it finds
		// nothing to do.
		if _, err := t.conn.ExecContext(ctx, "DELETE FROM koan_receipts WHERE 0"); err != nil {
			t.d.unlock()
			if Stale(err) {
				return store.ErrStale
			}
			return err
		}
	default:
		g, err := t.d.lock(ctx, t.short)
		if err != nil {
			return err
		}
		if t.conn, err = t.d.beginShared(ctx, g); err != nil {
			return err
		}
		t.shared, t.group = true, g
	}
	t.state, t.queued = writing, true
	return nil
}

// Recover implements database.Tx: a failed statement of SQLite undoes itself only.
func (t *Tx) Recover(context.Context) error { return nil }

// Stale implements database.Tx.
func (t *Tx) Stale(err error) bool { return errors.Is(err, store.ErrStale) }

// QueryContext runs a query in the transaction.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	if t.conn == nil { // one statement, without a transaction
		return t.d.runs.QueryContext(ctx, query, UTC(args)...)
	}
	if err := t.guardStatement(ctx, query); err != nil {
		return nil, err
	}
	rows, err := t.conn.QueryContext(ctx, query, UTC(args)...)
	t.noteLoss(err)
	return rows, err
}

// ExecContext runs a statement in the transaction.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	if t.conn == nil {
		return t.d.runs.ExecContext(ctx, query, UTC(args)...)
	}
	if err := t.guardStatement(ctx, query); err != nil {
		return nil, err
	}
	result, err := t.conn.ExecContext(ctx, query, UTC(args)...)
	t.noteLoss(err)
	return result, err
}

// Commit ends the transaction with its effect.
func (t *Tx) Commit(ctx context.Context) error {
	if t.state == ended {
		return errEnded
	}
	wrote, err := t.state == writing, t.lost
	switch {
	case err != nil:
	case t.shared:
		err = t.commitShared()
	default:
		err = t.endOwn(ctx, "COMMIT")
	}
	switch {
	case err != nil && !errors.Is(err, store.ErrStale):
		return database.At(*t.d.file.Load(), err, fileFault(database.Named(t.d.set), t.d.busyFault(err)))
	case err == nil && wrote && t.d.draft != nil:
		return t.d.draft.move(ctx)
	}
	return err
}

// Rollback ends the transaction without effect. After an end it does nothing.
func (t *Tx) Rollback(ctx context.Context) error {
	switch {
	case t.state == ended:
		return nil
	case t.shared:
		t.rollbackShared()
		return nil
	}
	return t.endOwn(ctx, "ROLLBACK")
}

// endOwn runs the last statement of a transaction with a connection of its own, gives that back and lets
// the next writer in. A failed COMMIT leaves the transaction open for a rollback.
func (t *Tx) endOwn(ctx context.Context, statement string) error {
	var err error
	if t.state == reading || t.state == writing {
		if _, err = t.conn.ExecContext(ctx, statement); err != nil && statement == "COMMIT" {
			return err
		}
	}
	t.state = ended
	if t.conn != nil {
		if err != nil && !sqlitedriver.InAutocommit(t.conn) {
			// Whatever state it is in, nobody else must get it.
			_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = t.conn.Close()
	}
	if t.queued {
		t.queued = false
		t.d.unlock()
	}
	return nil
}
