package sqlite

import (
	"context"
	"database/sql"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/database"
)

// UTC returns times in UTC, since SQLite compares them as text. The arguments of
// the caller stay as they are.
func UTC(args []any) []any {
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

// Driver implements database.Tx.
func (t *Tx) Driver() *database.TxDriver { return database.NewTxDriver(dialect.SQLite, t) }

// With implements database.Tx.
func (t *Tx) With(ctx context.Context) context.Context { return database.With(ctx, t.d, t) }

// Driver implements database.Database. A write by itself that a transaction stands
// in the way of fails after the busy timeout instead of waiting forever.
func (d *Database) Driver() dialect.Driver {
	return database.NewBaseDriver(dialect.SQLite, d, func(ctx context.Context) (dialect.Tx, error) {
		tx, err := d.db.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		return &entsql.Tx{Conn: entsql.Conn{ExecQuerier: inUTC{tx}}, Tx: tx}, nil
	})
}

// DB implements database.Database.
func (d *Database) DB() database.Querier { return inUTC{d.db} }

// inUTC binds times in UTC.
type inUTC struct{ database.Querier }

func (q inUTC) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return q.Querier.ExecContext(ctx, query, UTC(args)...)
}

func (q inUTC) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return q.Querier.QueryContext(ctx, query, UTC(args)...)
}
