package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
)

// utc gives times in UTC, since SQLite compares them as text. The arguments of
// the caller stay as they are.
func utc(args []any) []any {
	out := args
	for i, a := range args {
		var t time.Time
		switch v := a.(type) {
		case time.Time:
			t = v
		case *time.Time:
			if v == nil {
				continue
			}
			t = *v
		case sql.NullTime:
			if !v.Valid {
				continue
			}
			t = v.Time
		default:
			continue
		}
		if &out[0] == &args[0] {
			out = append([]any(nil), args...)
		}
		out[i] = t.UTC()
	}
	return out
}

// Driver gives ent this transaction: what ent begins takes part in it, and ends
// it only when Commit or Rollback of the transaction itself ask for it.
func (t *Tx) Driver() *TxDriver {
	return &TxDriver{Driver: entsql.NewDriver(dialect.SQLite, entsql.Conn{ExecQuerier: t}), tx: t}
}

// TxDriver is a dialect.Driver inside one transaction.
type TxDriver struct {
	*entsql.Driver
	tx *Tx
	// ending is set while the owner ends the transaction through ent, so that ent's
	// commit hooks run around the real commit.
	ending context.Context
}

var _ dialect.Driver = (*TxDriver)(nil)

// errForeign is what an app's code gets that ends a transaction of a run.
var errForeign = errors.New("the transaction belongs to the run, which commits it or rolls it back; return an error to undo")

// Tx takes part in the transaction.
func (d *TxDriver) Tx(context.Context) (dialect.Tx, error) { return boundTx{d}, nil }

// Close does nothing: the transaction has an owner.
func (d *TxDriver) Close() error { return nil }

// End lets fn, which is ent's Commit or Rollback, end the transaction.
func (d *TxDriver) End(ctx context.Context, fn func() error) error {
	d.ending = ctx
	defer func() { d.ending = nil }()
	return fn()
}

type boundTx struct{ *TxDriver }

func (b boundTx) Commit() error {
	if b.ending == nil {
		return errForeign
	}
	return b.tx.Commit(b.ending)
}

func (b boundTx) Rollback() error {
	if b.ending == nil {
		return errForeign
	}
	return b.tx.Rollback(b.ending)
}

type currentKey struct{ d *Database }

// With carries the transaction in a context, so that the set's base client joins
// it instead of waiting for it.
func (t *Tx) With(ctx context.Context) context.Context {
	return context.WithValue(ctx, currentKey{t.d}, t)
}

// Driver is the driver of the set's base client. In a context that carries a
// transaction of the set, it takes part in it; elsewhere it works by itself, and
// a write that a transaction stands in the way of fails after the busy timeout
// instead of waiting forever.
func (d *Database) Driver() dialect.Driver {
	return &baseDriver{Driver: entsql.NewDriver(dialect.SQLite, entsql.Conn{ExecQuerier: joining{d}}), d: d}
}

type baseDriver struct {
	*entsql.Driver
	d *Database
}

// Tx begins a transaction, or a savepoint inside the one of the context.
func (b *baseDriver) Tx(ctx context.Context) (dialect.Tx, error) {
	if t := b.d.current(ctx); t != nil {
		end, err := t.Savepoint(ctx)
		if err != nil {
			return nil, err
		}
		return savepointTx{t.Driver(), end}, nil
	}
	tx, err := b.d.db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &entsql.Tx{Conn: entsql.Conn{ExecQuerier: utcTx{tx}}, Tx: tx}, nil
}

func (b *baseDriver) Close() error { return nil }

func (d *Database) current(ctx context.Context) *Tx {
	t, _ := ctx.Value(currentKey{d}).(*Tx)
	if t == nil || t.state == ended {
		return nil
	}
	return t
}

type savepointTx struct {
	*TxDriver
	end func(ok bool) error
}

func (s savepointTx) Commit() error   { return s.end(true) }
func (s savepointTx) Rollback() error { return s.end(false) }

// joining runs statements in the context's transaction, else in the pool.
type joining struct{ d *Database }

func (j joining) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if t := j.d.current(ctx); t != nil {
		return t.ExecContext(ctx, query, args...)
	}
	return j.d.db.ExecContext(ctx, query, utc(args)...)
}

func (j joining) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if t := j.d.current(ctx); t != nil {
		return t.QueryContext(ctx, query, args...)
	}
	return j.d.db.QueryContext(ctx, query, utc(args)...)
}

type utcTx struct{ *sql.Tx }

func (t utcTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return t.Tx.ExecContext(ctx, query, utc(args)...)
}

func (t utcTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return t.Tx.QueryContext(ctx, query, utc(args)...)
}
