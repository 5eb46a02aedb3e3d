package engine

import (
	"context"
	"database/sql"

	"github.com/koan-go/koan/entities/internal/backend"
	"github.com/koan-go/koan/framework/run/store"
)

// observedTx is a transaction whose statements are reported to the run's observer.
type observedTx struct {
	backend.Tx
	attempt store.Attempt
	driver  *backend.TxDriver
}

func observe(t backend.Tx, a store.Attempt) backend.Tx { return &observedTx{Tx: t, attempt: a} }

// ExecContext implements backend.Querier.
func (w *observedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	end := w.attempt.Statement(ctx, query)
	r, err := w.Tx.ExecContext(ctx, query, args...)
	end(err)
	return r, err
}

// QueryContext implements backend.Querier. What it takes to read the rows is the
// call's.
func (w *observedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	end := w.attempt.Statement(ctx, query)
	rows, err := w.Tx.QueryContext(ctx, query, args...)
	end(err)
	return rows, err
}

// Driver implements backend.Tx: what ent does is watched too.
func (w *observedTx) Driver() *backend.TxDriver {
	if w.driver == nil {
		w.driver = backend.NewTxDriver(w.Tx.Driver().Dialect(), w)
	}
	return w.driver
}
