package database

import (
	"context"
	"database/sql"
	"errors"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/fault"
)

// TxDriver is a dialect.Driver inside one transaction: what ent begins takes part
// in it, and ends it only when its owner asks for that through End.
type TxDriver struct {
	*entsql.Driver
	tx Tx
	// ending is set while the owner ends the transaction through ent, so that ent's
	// commit hooks run around the real commit.
	ending    context.Context
	committed bool
	// Guard is asked before each statement, where it is set; raw says that the statement is the
	// app's own, and not one that a builder of ent made.
	Guard func(ctx context.Context, query string, raw bool) error
}

var _ dialect.Driver = (*TxDriver)(nil)

// NewTxDriver returns a driver over a transaction, under ent's name of the dialect.
func NewTxDriver(dialect string, t Tx) *TxDriver {
	return &TxDriver{Driver: entsql.NewDriver(dialect, entsql.Conn{ExecQuerier: t}), tx: t}
}

// Exec implements dialect.ExecQuerier.
func (d *TxDriver) Exec(ctx context.Context, query string, args, v any) error {
	ctx, err := d.admit(ctx, query, false)
	if err != nil {
		return err
	}
	return d.Driver.Exec(ctx, query, args, v)
}

// Query implements dialect.ExecQuerier.
func (d *TxDriver) Query(ctx context.Context, query string, args, v any) error {
	ctx, err := d.admit(ctx, query, false)
	if err != nil {
		return err
	}
	return d.Driver.Query(ctx, query, args, v)
}

// ExecContext runs a statement of the app, for ent's feature sql/execquery.
func (d *TxDriver) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, err := d.admit(ctx, query, true)
	if err != nil {
		return nil, err
	}
	return d.Driver.ExecContext(ctx, query, args...)
}

// QueryContext runs a query of the app, like ExecContext.
func (d *TxDriver) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, err := d.admit(ctx, query, true)
	if err != nil {
		return nil, err
	}
	return d.Driver.QueryContext(ctx, query, args...)
}

// admit asks Guard, and returns the context for the statement.
func (d *TxDriver) admit(ctx context.Context, query string, raw bool) (context.Context, error) {
	if d.Guard != nil {
		if err := d.Guard(ctx, query, raw); err != nil {
			return nil, err
		}
	}
	return detachVariables(ctx, d.Dialect())
}

// ErrForeign is what an app's code gets that ends a transaction of a run.
var ErrForeign = errors.New("the transaction belongs to the run, which commits it or rolls it back; return an error to undo")

// Tx takes part in the transaction.
func (d *TxDriver) Tx(context.Context) (dialect.Tx, error) { return boundTx{d}, nil }

// Close does nothing: the transaction has an owner.
func (d *TxDriver) Close() error { return nil }

// End lets fn, which is ent's Commit or Rollback, end the transaction. It returns an error if fn
// panics: hooks of the app run in it.
func (d *TxDriver) End(ctx context.Context, fn func() error) error {
	d.ending = ctx
	defer func() { d.ending = nil }()
	return fault.Guard(fn)
}

// Committed reports whether the transaction has been committed, whatever hooks made of that.
func (d *TxDriver) Committed() bool { return d.committed }

type boundTx struct{ *TxDriver }

func (b boundTx) Commit() error {
	if b.ending == nil {
		return ErrForeign
	}
	err := b.tx.Commit(b.ending)
	b.committed = b.committed || err == nil
	return err
}

func (b boundTx) Rollback() error {
	if b.ending == nil {
		return ErrForeign
	}
	return b.tx.Rollback(b.ending)
}

type currentKey struct{ d Database }

// With carries a transaction of a database in a context.
func With(ctx context.Context, d Database, t Tx) context.Context {
	return context.WithValue(ctx, currentKey{d}, t)
}

// Current returns the transaction of a database that a context carries, nil where
// there is none or it has ended.
func Current(ctx context.Context, d Database) Tx {
	t, _ := ctx.Value(currentKey{d}).(Tx)
	if t == nil || t.Ended() {
		return nil
	}
	return t
}

// NewBaseDriver is the driver of a set's base client: in a context that carries a
// transaction of d it takes part in it; elsewhere it uses d.DB, and begin for
// transactions of its own.
func NewBaseDriver(name string, d Database, begin func(ctx context.Context) (dialect.Tx, error)) dialect.Driver {
	return &baseDriver{Driver: entsql.NewDriver(name, entsql.Conn{ExecQuerier: contextQuerier{d}}), d: d, begin: begin}
}

type baseDriver struct {
	*entsql.Driver
	d     Database
	begin func(ctx context.Context) (dialect.Tx, error)
}

// Tx begins a transaction, or a savepoint inside the one of the context.
func (b *baseDriver) Tx(ctx context.Context) (dialect.Tx, error) {
	t := Current(ctx, b.d)
	if t == nil {
		return b.begin(ctx)
	}
	return Nested(ctx, t)
}

// Exec implements dialect.ExecQuerier.
func (b *baseDriver) Exec(ctx context.Context, query string, args, v any) error {
	ctx, tx, err := b.beginForVariables(ctx)
	switch {
	case err != nil:
		return err
	case tx == nil:
		return b.Driver.Exec(ctx, query, args, v)
	}
	if err := tx.Exec(ctx, query, args, v); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// Query implements dialect.ExecQuerier.
func (b *baseDriver) Query(ctx context.Context, query string, args, v any) error {
	ctx, tx, err := b.beginForVariables(ctx)
	switch {
	case err != nil:
		return err
	case tx == nil:
		return b.Driver.Query(ctx, query, args, v)
	}
	if err := tx.Query(ctx, query, args, v); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if rows, ok := v.(*entsql.Rows); ok {
		rows.ColumnScanner = ownTxRows{rows.ColumnScanner, tx}
	}
	return nil
}

// beginForVariables returns a transaction for a statement with session variables, which last
// as long as one; nil if there are none, or where the statement joins one.
func (b *baseDriver) beginForVariables(ctx context.Context) (context.Context, dialect.Tx, error) {
	ctx, err := detachVariables(ctx, b.Dialect())
	if err != nil || Current(ctx, b.d) != nil {
		return ctx, nil, err
	}
	vars, err := Variables(ctx)
	if err != nil || len(vars) == 0 {
		return ctx, nil, err
	}
	tx, err := b.begin(ctx)
	return ctx, tx, err
}

// ownTxRows are the rows of a statement that has a transaction of its own.
type ownTxRows struct {
	entsql.ColumnScanner
	tx dialect.Tx
}

func (c ownTxRows) Close() error { return errors.Join(c.ColumnScanner.Close(), c.tx.Commit()) }

// Nested returns a driver whose transactions are savepoints of a transaction.
func Nested(ctx context.Context, t Tx) (dialect.Tx, error) {
	end, err := t.Savepoint(ctx, false)
	if err != nil {
		return nil, err
	}
	return savepointTx{t.Driver(), end}, nil
}

func (b *baseDriver) Close() error { return nil }

type savepointTx struct {
	*TxDriver
	end func(ok bool) error
}

func (s savepointTx) Commit() error   { return s.end(true) }
func (s savepointTx) Rollback() error { return s.end(false) }

// contextQuerier runs statements in the context's transaction, else in the pool.
type contextQuerier struct{ d Database }

func (j contextQuerier) querier(ctx context.Context) Querier {
	if t := Current(ctx, j.d); t != nil {
		return t
	}
	return j.d.DB()
}

func (j contextQuerier) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return j.querier(ctx).ExecContext(ctx, query, args...)
}

func (j contextQuerier) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return j.querier(ctx).QueryContext(ctx, query, args...)
}
