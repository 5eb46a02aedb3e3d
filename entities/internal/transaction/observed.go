package transaction

import (
	"context"
	"database/sql"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/run/store"
)

// observedTx is a transaction whose statements are reported to the run's observer.
type observedTx struct {
	database.Tx
	attempt store.Attempt
	driver  *database.TxDriver
}

func observe(t database.Tx, a store.Attempt) database.Tx { return &observedTx{Tx: t, attempt: a} }

// ExecContext implements database.Querier.
func (w *observedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	end := w.attempt.Statement(ctx, query)
	r, err := w.Tx.ExecContext(ctx, query, args...)
	end(err)
	return r, err
}

// QueryContext implements database.Querier. What it takes to read the rows is the
// call's.
func (w *observedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	end := w.attempt.Statement(ctx, query)
	rows, err := w.Tx.QueryContext(ctx, query, args...)
	end(err)
	return rows, err
}

// Statements implements database.Counter.
func (w *observedTx) Statements() (int, bool) {
	if c, ok := w.Tx.(database.Counter); ok {
		return c.Statements()
	}
	return 0, false
}

// Locate implements database.Locator.
func (w *observedTx) Locate(ctx context.Context, table, column string, key any) (string, error) {
	l, ok := w.Tx.(database.Locator)
	if !ok {
		return "", nil
	}
	end := w.attempt.Statement(ctx, "SELECT the place of a row of "+table)
	place, err := l.Locate(ctx, table, column, key)
	end(err)
	return place, err
}

// Apart implements database.Grouped.
func (w *observedTx) Apart(ctx context.Context) error { return database.Apart(ctx, w.Tx) }

// Driver implements database.Tx: what ent does is watched too.
func (w *observedTx) Driver() *database.TxDriver {
	if w.driver == nil {
		w.driver = database.NewTxDriver(w.Tx.Driver().Dialect(), w)
	}
	return w.driver
}
