package postgres

import (
	"context"
	"database/sql"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/run/store"
)

// Database is one set: a schema. It is safe for concurrent use.
type Database struct {
	server *Server
	set    string
	schema string // its name
	draft  *Draft // nil for a set that exists
}

var _ database.Database = (*Database)(nil)

// Set implements database.Database.
func (d *Database) Set() string { return d.set }

// Begin implements database.Database. Nothing happens on the server until the first
// statement; all sets of an attempt share one transaction there.
func (d *Database) Begin(ctx context.Context, a store.Attempt, write bool) (database.Tx, error) {
	t := &Tx{d: d, c: d.server.join(ctx, a, d.draft == nil && !write)}
	if t.c.replica != nil && d.draft != nil { // of which a replica knows nothing
		return nil, t.c.leaveReplica(nil)
	}
	t.c.members++
	if d.draft != nil {
		d.draft.begin(t)
	}
	if write || t.c.locksAlways() {
		if err := t.Write(ctx); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Driver implements database.Database.
func (d *Database) Driver() dialect.Driver {
	return database.NewBaseDriver(dialect.Postgres, d, func(context.Context) (dialect.Tx, error) {
		t := d.server.beginOwn(d.server.pool, "") // in the level of isolation that the server is set to
		t.d = d
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
func (d *Database) DB() database.Querier { return pooled{d} }

// pooled runs statements on any connection.
type pooled struct{ d *Database }

func (p pooled) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	conn, err := p.d.session(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.ExecContext(ctx, query, args...)
}

func (p pooled) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	conn, err := p.d.session(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := conn.QueryContext(ctx, query, args...)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	go conn.Close() // which waits until the rows are closed
	return rows, nil
}
