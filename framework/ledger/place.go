package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// place is the app's own database, and what all tables in it have in common.
type place struct {
	db      *sql.DB
	dialect sqltext.Dialect
}

// Close closes the database.
func (p place) Close() error { return p.db.Close() }

// clock is the database's, in milliseconds since 1970.
func (p place) clock() string {
	if p.dialect.Name() == dialect.SQLite {
		return "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"
	}
	return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
}

func (p place) statement(text string) *sqltext.Builder {
	b := &sqltext.Builder{Dialect: p.dialect}
	return b.Raw(text)
}

// beginner is a database or a connection.
type beginner interface {
	BeginTx(ctx context.Context, o *sql.TxOptions) (*sql.Tx, error)
}

// durably runs fn in a transaction. It and all before it outlive a loss of power.
func (p place) durably(ctx context.Context, fn func(tx *sql.Tx) error) error {
	return within(ctx, p.db, fn)
}

// withoutSync runs fn in a transaction that outlives the process at once, and a loss of
// power from the next one of in.
func (p place) withoutSync(ctx context.Context, fn func(tx *sql.Tx) error) error {
	if p.dialect.Name() != dialect.SQLite {
		return p.durably(ctx, func(tx *sql.Tx) error {
			if _, err := tx.ExecContext(ctx, "SET LOCAL synchronous_commit TO off"); err != nil {
				return err
			}
			return fn(tx)
		})
	}
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer func() {
		if _, failed := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA synchronous = FULL"); failed != nil {
			_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // nobody else gets it
		}
	}()
	return within(ctx, conn, fn)
}

func within(ctx context.Context, db beginner, fn func(tx *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if err := fn(tx); err != nil {
		_ = tx.Rollback()
		return fmt.Errorf("ledger: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// each runs a query and hands out its rows.
func (p place) each(ctx context.Context, b *sqltext.Builder, fn func(*sql.Rows) error) (err error) {
	rows, err := p.db.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	return rows.Err()
}

// change runs a change of one row, and reports whether there was one to change.
func (p place) change(ctx context.Context, b *sqltext.Builder) (changed bool, err error) {
	err = p.durably(ctx, func(tx *sql.Tx) error {
		n, err := exec(ctx, tx, b)
		changed = n == 1
		return err
	})
	return changed, err
}
