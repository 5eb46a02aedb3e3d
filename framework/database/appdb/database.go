package appdb

import (
	"context"
	"database/sql"
	"fmt"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/run/store"
)

// Database is one open set. It is safe for concurrent use.
type Database struct {
	set  string
	drv  dialect.Driver // the app's
	name string         // of the dialect
	lock string         // the table by which writers lock the set, "" where they do not
	turn chan struct{}  // on SQLite: held by the run that writes
}

var _ database.Database = (*Database)(nil)

// Set implements database.Database.
func (d *Database) Set() string { return d.set }

// Begin implements database.Database.
func (d *Database) Begin(ctx context.Context, a store.Attempt, write bool) (database.Tx, error) {
	number, atomic := 1, true
	if a != nil { // nil is no attempt of a run: housekeeping
		number, atomic = a.Number(), a.Atomic()
	}
	t := &Tx{d: d, alone: number > 1 || !atomic}
	if write || d.name == dialect.Postgres && number > 2 {
		if err := t.Write(ctx); err != nil {
			_ = t.Rollback(ctx)
			return nil, err
		}
	}
	return t, nil
}

// Driver implements database.Database.
func (d *Database) Driver() dialect.Driver {
	return database.NewBaseDriver(d.name, d, func(ctx context.Context) (dialect.Tx, error) {
		tx, err := d.drv.Tx(ctx)
		if err != nil {
			return nil, err
		}
		t := &Tx{d: d, tx: tx, state: reading}
		return ownTx{t.Driver(), t}, nil
	})
}

// ownTx is a transaction of the app's own code, outside of all runs.
type ownTx struct {
	*database.TxDriver
	t *Tx
}

func (o ownTx) Commit() error   { return o.t.Commit(context.Background()) }
func (o ownTx) Rollback() error { return o.t.Rollback(context.Background()) }

// DB implements database.Database.
func (d *Database) DB() database.Querier { return through{d.drv, d.name} }

// through runs statements through what an app gave: a driver, or a transaction of
// one. Session variables are not for ent to set there: it would leave them on the
// connection.
type through struct {
	to   dialect.ExecQuerier
	name string
}

func (t through) args(args []any) []any {
	if t.name == dialect.SQLite {
		args = sqlite.UTC(args)
	}
	if args == nil {
		args = []any{}
	}
	return args
}

func (t through) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	var result sql.Result
	err := t.to.Exec(database.WithoutVariables(ctx), query, t.args(args), &result)
	return result, err
}

func (t through) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	var rows entsql.Rows
	if err := t.to.Query(database.WithoutVariables(ctx), query, t.args(args), &rows); err != nil {
		return nil, err
	}
	out, ok := rows.ColumnScanner.(*sql.Rows)
	if !ok {
		return nil, fmt.Errorf("appdb: the app's driver returned rows of the type %T, not those of database/sql", rows.ColumnScanner)
	}
	return out, nil
}
