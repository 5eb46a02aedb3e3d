package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// A ledger that stands beside its data must know which data that is: what it says of commits would
// be wrong of any other.

// identity is the table that names a database; it has one row.
const identity = "CREATE TABLE IF NOT EXISTS koan_identity (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, ledger TEXT NOT NULL)"

// Identity returns the name of a database, which it gets at the first call.
func Identity(ctx context.Context, d sqltext.Dialect, drv dialect.Driver) (string, error) {
	b := sqltext.Builder{Dialect: d}
	b.Raw("INSERT INTO koan_identity (one, id, ledger) VALUES (1, ").Arg(uuid.NewString()).Raw(", '') ON CONFLICT DO NOTHING")
	id, err := identityOf(ctx, drv)
	if err != nil || id != "" {
		return id, err
	}
	if err := drv.Exec(ctx, string(b.Text()), b.Args(), nil); err != nil {
		return "", fmt.Errorf("ledger: %w", err)
	}
	return identityOf(ctx, drv)
}

func identityOf(ctx context.Context, drv dialect.Driver) (id string, err error) {
	rows := &entsql.Rows{}
	if err := drv.Query(ctx, "SELECT id FROM koan_identity", []any{}, rows); err != nil {
		return "", fmt.Errorf("ledger: %w", err)
	}
	err = scanRows(rows, func() error { return rows.Scan(&id) })
	if err != nil {
		return "", fmt.Errorf("ledger: %w", err)
	}
	return id, nil
}

// Attach notes which ledger a database has, and reports whether it had another one.
func Attach(ctx context.Context, d sqltext.Dialect, drv dialect.Driver, ledger string) (another bool, err error) {
	rows := &entsql.Rows{}
	if err := drv.Query(ctx, "SELECT ledger FROM koan_identity", []any{}, rows); err != nil {
		return false, fmt.Errorf("ledger: %w", err)
	}
	var had string
	if err := scanRows(rows, func() error { return rows.Scan(&had) }); err != nil {
		return false, fmt.Errorf("ledger: %w", err)
	}
	if had == ledger {
		return false, nil
	}
	b := sqltext.Builder{Dialect: d}
	b.Raw("UPDATE koan_identity SET ledger = ").Arg(ledger)
	if err := drv.Exec(ctx, string(b.Text()), b.Args(), nil); err != nil {
		return false, fmt.Errorf("ledger: %w", err)
	}
	return had != "", nil
}

// DataTables are where a ledger beside its data notes which data that is.
var DataTables = []string{"CREATE TABLE IF NOT EXISTS koan_data (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL, ledger TEXT NOT NULL)"}

// Bind returns whose ledger a place has, that of the database with this id unless it is another's
// already, and the ledger's own name.
func Bind(ctx context.Context, d sqltext.Dialect, db *sql.DB, id string) (whose, ledger string, err error) {
	b := sqltext.Builder{Dialect: d}
	b.Raw("INSERT INTO koan_data (one, id, ledger) VALUES (1, ").Arg(id).Raw(", ").Arg(uuid.NewString()).Raw(") ON CONFLICT DO NOTHING")
	if _, err := db.ExecContext(ctx, string(b.Text()), b.Args()...); err != nil {
		return "", "", fmt.Errorf("ledger: %w", err)
	}
	if err := db.QueryRowContext(ctx, "SELECT id, ledger FROM koan_data").Scan(&whose, &ledger); err != nil {
		return "", "", fmt.Errorf("ledger: %w", err)
	}
	return whose, ledger, nil
}
