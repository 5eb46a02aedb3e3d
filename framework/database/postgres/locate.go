package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/koan-go/koan/framework/database"
)

var _ database.Locator = (*Tx)(nil)

// Locate implements database.Locator, for the one call of a run that writes. A serializable transaction that
// reads a row by its key locks the page of the index for that, and on a small table all rows: every row that
// is written on another page, so that the index gets an entry, is then in its way, and it in that one's. One
// that reads a row by its place locks that row. So the place is looked up before the transaction begins, and the
// server is kept from reading the whole table, which it likes to do where that is a page or two.
func (t *Tx) Locate(ctx context.Context, table, column string, key any) (place string, err error) {
	c := t.c
	if !t.writing || t.d == nil || t.d.draft != nil || c.attempt == nil || !c.attempt.WriteFirst() || c.locksExclusively() || c.state != open || !c.hasNotRead() {
		return "", nil
	}
	if v, err := database.Variables(ctx); err != nil || len(v) > 0 { // which rows there are may depend on them
		return "", err
	}
	if err := c.connect(ctx); err != nil {
		return "", err
	}
	// Outside of a transaction no lock_timeout holds. Where the table is locked, as by a migration, the write itself
	// waits and says so.
	limited, cancel := context.WithTimeout(ctx, c.server.patience)
	defer cancel()
	err = c.conn.QueryRowContext(limited, "SELECT CAST(ctid AS TEXT) FROM "+quoted(t.d.schema)+"."+quoted(table)+" WHERE "+quoted(column)+"=$1", key).Scan(&place)
	var refused *pgconn.PgError
	switch {
	case errors.Is(err, sql.ErrNoRows), errors.As(err, &refused): // a view has no places; the statement itself will tell what else is wrong
		return "", nil
	case limited.Err() != nil && ctx.Err() == nil: // the connection is lost with it
		_ = c.conn.Close()
		c.conn = nil
		return "", nil
	case err != nil:
		return "", err
	}
	c.due += "SET LOCAL enable_seqscan TO off;"
	return place, nil
}
