package appdb

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/postgres"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// patience is how long a run waits for its turn to write.
const patience = 20 * time.Second

// state is how far a transaction has come.
type state int

const (
	idle    state = iota // no statement yet
	single               // one statement, without a transaction
	reading              // sees one snapshot
	writing
	ended
)

var errEnded = errors.New("appdb: the transaction has ended")

// Tx is a transaction that the app's driver began. It is used by one goroutine at
// a time.
type Tx struct {
	d     *Database
	tx    dialect.Tx // nil until the first statement
	state state
	alone bool        // it cannot afford to meet others
	turn  bool        // it holds the database's turn
	saves []savepoint // that are open
	vars  []database.Variable
	stale bool // only a new attempt can succeed
}

// savepoint is one that is open, with the session variables that it goes back to.
type savepoint struct {
	name string
	vars []database.Variable
}

var _ database.Tx = (*Tx)(nil)

func (t *Tx) onSQLite() bool { return t.d.name == dialect.SQLite }

// Single implements database.Tx.
func (t *Tx) Single() {
	if t.state == idle {
		t.state = single
	}
}

// begin asks the app's driver for a transaction. On PostgreSQL it is one in which
// nothing that was read can change before it commits; on SQLite all are.
func (t *Tx) begin(ctx context.Context) error {
	tx, err := t.d.drv.Tx(context.WithoutCancel(ctx)) // database/sql ends a transaction with its context
	if err != nil {
		return err
	}
	t.tx, t.state = tx, reading
	if t.onSQLite() {
		return nil
	}
	_, err = t.run().ExecContext(ctx, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
	return err
}

// run is where statements go.
func (t *Tx) run() through {
	if t.tx == nil {
		return through{t.d.drv, t.d.name}
	}
	return through{t.tx, t.d.name}
}

func (t *Tx) mustBeActive(ctx context.Context) error {
	switch t.state {
	case ended:
		return errEnded
	case idle:
		return t.begin(ctx)
	case single, reading, writing:
	}
	return nil
}

// prepareStatement makes the transaction ready for a statement.
func (t *Tx) prepareStatement(ctx context.Context) error {
	if err := t.mustBeActive(ctx); err != nil {
		return err
	}
	return t.setVariables(ctx)
}

// setVariables sets in the transaction the session variables of a statement's context. They
// hold in a transaction, so a statement with any is not without one.
func (t *Tx) setVariables(ctx context.Context) error {
	want, err := database.Variables(ctx)
	if err == nil {
		err = database.CheckVariables(t.d.name, want)
	}
	if err != nil || slices.Equal(t.vars, want) {
		return err
	}
	if t.tx == nil {
		if err := t.begin(ctx); err != nil {
			return err
		}
	}
	for _, statement := range postgres.Variables(t.vars, want) {
		if _, err := t.run().ExecContext(ctx, statement); err != nil {
			return t.noteError(err)
		}
	}
	t.vars = want
	return nil
}

// Write implements database.Tx. On SQLite writers of this process take turns.
func (t *Tx) Write(ctx context.Context) error {
	switch {
	case t.state == writing:
		return nil
	case t.state == ended:
		return errEnded
	}
	fresh := t.state != reading
	if err := t.awaitTurn(ctx, fresh); err != nil {
		return err
	}
	if fresh {
		if err := t.begin(ctx); err != nil {
			return err
		}
	}
	if err := takeLock(ctx, t, fresh); err != nil {
		return err
	}
	t.state = writing
	return nil
}

// takeLock takes the lock for writing in a transaction. fresh says that nothing was read before.
func takeLock(ctx context.Context, t *Tx, fresh bool) error {
	if t.d.lock == "" {
		return nil
	}
	_, err := t.run().ExecContext(ctx, lock(t.onSQLite(), fresh && t.alone, t.d.lock))
	switch {
	case err == nil:
		return nil
	case !isRetryable(err):
		return t.noteError(err)
	case fresh && t.onSQLite():
		return fault.Newf(fault.SetBusy, "somebody else has locked the set %q for writing", t.d.set).Because(err)
	}
	return store.ErrStale
}

// lock is the statement that takes the lock. On SQLite any statement that could
// write does, even where it finds nothing to do. On PostgreSQL those who write share
// it, and it is found out whether they were in each other's way; a later attempt,
// and a call that cannot be repeated, take it alone, before they read.
func lock(onSQLite, alone bool, table string) string {
	switch {
	case onSQLite:
		return "DELETE FROM " + table + " WHERE 0"
	case alone:
		return "LOCK TABLE " + table + " IN EXCLUSIVE MODE"
	}
	return "LOCK TABLE " + table + " IN ROW EXCLUSIVE MODE"
}

// awaitTurn takes the turn to write. A transaction that has read before does not wait:
// what it read would not get any newer.
func (t *Tx) awaitTurn(ctx context.Context, fresh bool) error {
	if !t.onSQLite() || t.turn {
		return nil
	}
	select {
	case t.d.turn <- struct{}{}:
		t.turn = true
		return nil
	default:
		if !fresh {
			return store.ErrStale
		}
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case t.d.turn <- struct{}{}:
		t.turn = true
		return nil
	case <-timer.C:
		return fault.Newf(fault.SetBusy, "the set %q was not free for writing within %s", t.d.set, patience)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Writing implements database.Tx.
func (t *Tx) Writing() bool { return t.state == writing }

// Ended implements database.Tx.
func (t *Tx) Ended() bool { return t.state == ended }

// Savepoint implements database.Tx. Where a failed statement spoils the transaction,
// reading has savepoints too.
func (t *Tx) Savepoint(ctx context.Context, read bool) (func(ok bool) error, error) {
	if t.state == single || t.onSQLite() && (read || t.state != writing) {
		return func(bool) error { return nil }, nil
	}
	if err := t.mustBeActive(ctx); err != nil {
		return nil, err
	}
	s := savepoint{"koan_" + strconv.Itoa(len(t.saves)+1), t.vars}
	if _, err := t.run().ExecContext(ctx, "SAVEPOINT "+s.name); err != nil {
		return nil, t.noteError(err)
	}
	depth := len(t.saves)
	t.saves = append(t.saves, s)
	return func(ok bool) error {
		t.saves = t.saves[:depth] // a panic may have left those inside of it
		if t.state == ended {
			return nil
		}
		return t.closeSavepoint(context.WithoutCancel(ctx), s, ok)
	}, nil
}

// closeSavepoint ends a savepoint. One that cannot be released, since a statement failed
// that somebody passed over, is rolled back.
func (t *Tx) closeSavepoint(ctx context.Context, s savepoint, ok bool) error {
	var failed error
	if ok {
		if _, failed = t.run().ExecContext(ctx, "RELEASE SAVEPOINT "+s.name); failed == nil {
			return nil
		}
	}
	if err := t.rollbackTo(ctx, s); err != nil {
		return errors.Join(failed, err)
	}
	_, err := t.run().ExecContext(ctx, "RELEASE SAVEPOINT "+s.name)
	return errors.Join(failed, err)
}

// rollbackTo undoes what happened since a savepoint, which stays open.
func (t *Tx) rollbackTo(ctx context.Context, s savepoint) error {
	_, err := t.run().ExecContext(ctx, "ROLLBACK TO SAVEPOINT "+s.name)
	t.vars = s.vars
	return err
}

// Alone implements database.Tx.
func (t *Tx) Alone(statement func() (bool, error)) error {
	_, err := statement()
	return err
}

// Recover implements database.Tx. On SQLite a failed statement undoes itself only.
func (t *Tx) Recover(ctx context.Context) error {
	if t.onSQLite() || t.state != writing || len(t.saves) == 0 {
		return nil
	}
	return t.rollbackTo(context.WithoutCancel(ctx), t.saves[len(t.saves)-1])
}

// Stale implements database.Tx.
func (t *Tx) Stale(err error) bool {
	return t.stale || errors.Is(err, store.ErrStale) || isRetryable(err) && !(t.onSQLite() && t.state == writing)
}

func (t *Tx) noteError(err error) error {
	t.stale = t.stale || err != nil && isRetryable(err) && !t.onSQLite()
	return err
}

// ExecContext implements database.Querier.
func (t *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := t.prepareStatement(ctx); err != nil {
		return nil, err
	}
	result, err := t.run().ExecContext(ctx, query, args...)
	return result, t.noteError(endOf(ctx, err))
}

// QueryContext implements database.Querier.
func (t *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := t.prepareStatement(ctx); err != nil {
		return nil, err
	}
	rows, err := t.run().QueryContext(ctx, query, args...)
	return rows, t.noteError(endOf(ctx, err))
}

// endOf says of a statement that failed when its call had ended that this is why: PostgreSQL calls it a request of
// the user's, as if somebody else had asked for it.
func endOf(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	return errors.Join(err, ctx.Err())
}

// Driver implements database.Tx.
func (t *Tx) Driver() *database.TxDriver { return database.NewTxDriver(t.d.name, t) }

// With implements database.Tx.
func (t *Tx) With(ctx context.Context) context.Context { return database.With(ctx, t.d, t) }

// Commit implements database.Tx. database/sql ends a transaction whose commit
// failed, so nothing is left to roll back.
func (t *Tx) Commit(context.Context) error {
	if t.state == ended {
		return errEnded
	}
	if t.stale {
		return store.ErrStale
	}
	tx, wrote := t.tx, t.state == writing
	t.end()
	if tx == nil {
		return nil
	}
	err := tx.Commit()
	if err == nil || !wrote {
		return err
	}
	return commitError(t.d, err)
}

// Rollback implements database.Tx.
func (t *Tx) Rollback(context.Context) error {
	tx := t.tx
	t.end()
	if tx == nil {
		return nil
	}
	if err := tx.Rollback(); err != nil && !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// end lets the next writer in.
func (t *Tx) end() {
	t.state, t.tx = ended, nil
	if t.turn {
		t.turn = false
		<-t.d.turn
	}
}
