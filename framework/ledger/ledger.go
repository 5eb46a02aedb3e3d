// Package ledger keeps the tables that are the system's own, beside the app's in
// each set, and those of the app that stand in no set: plain SQL, no ent.
//
// What belongs here: tables and statements of receipts, of what is known of sets and their
// migrations, of runs with an idempotency key, plans, tapes, the journal and the change log.
// Not here: when they are opened and tidied (package books), entities, and any table that
// an app declares.
package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/run/store"
)

// Version identifies the ledger's tables; it is part of a set's schema version.
const Version = 5

// receipts is the table of receipts, without the end that dialects differ in.
const receipts = `CREATE TABLE IF NOT EXISTS koan_receipts (
	run TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	idempotency_key TEXT NOT NULL,
	subject TEXT NOT NULL,
	code_digest TEXT NOT NULL,
	result_digest TEXT NOT NULL,
	result TEXT,
	changes_digest TEXT NOT NULL,
	catalog_version TEXT NOT NULL,
	at TEXT NOT NULL,
	PRIMARY KEY (run, sequence)
)`

const keys = `CREATE INDEX IF NOT EXISTS koan_receipts_key ON koan_receipts (idempotency_key) WHERE idempotency_key <> ''`

// replies is what callers got of runs with an idempotency key. It is apart from the
// receipts since they are for good, and it is not.
const replies = `CREATE TABLE IF NOT EXISTS koan_replies (run TEXT NOT NULL PRIMARY KEY, reply TEXT NOT NULL)`

const columns = "run, sequence, attempt, idempotency_key, subject, code_digest, result_digest, result, changes_digest, catalog_version, at"

// Querier is where the ledger reads and writes: the transaction of the data.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Migrate makes the tables of a set where they are missing.
func Migrate(ctx context.Context, drv dialect.Driver) error {
	statements := append([]string{receiptTable(drv), keys, replies, changeTable(drv)}, setTables...)
	if drv.Dialect() == dialect.Postgres {
		statements = append(statements, fold.PostgresFunction())
	}
	return execRow(ctx, drv, statements)
}

// MigrateCommits makes the tables that a commit writes to, where they are missing: all that a
// database needs whose tables are the app's own business. The change log is one of them if changes
// are kept. Where a table is there, nothing is made, so that a user of the database who may not
// make any can have had somebody else make them.
func MigrateCommits(ctx context.Context, drv dialect.Driver, changes bool) error {
	tables := []struct {
		name string
		make []string
	}{{"koan_receipts", []string{receiptTable(drv), keys}}, {"koan_replies", []string{replies}}, {"koan_identity", []string{identity}}, {"koan_changes", []string{changeTable(drv)}}}
	if !changes {
		tables = tables[:3]
	}
	for _, t := range tables {
		there, err := hasTable(ctx, drv, t.name)
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		if there {
			continue
		}
		if err := execRow(ctx, drv, t.make); err != nil {
			return err
		}
	}
	return nil
}

func receiptTable(drv dialect.Driver) string {
	if drv.Dialect() == dialect.SQLite {
		return receipts + " WITHOUT ROWID"
	}
	return receipts
}

func execRow(ctx context.Context, drv dialect.Driver, statements []string) error {
	for _, statement := range statements {
		if err := drv.Exec(ctx, statement, []any{}, nil); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	return nil
}

// KeepsChanges reports whether a set has a change log.
func KeepsChanges(ctx context.Context, drv dialect.Driver) (bool, error) {
	there, err := hasTable(ctx, drv, "koan_changes")
	if err != nil {
		return false, fmt.Errorf("ledger: %w", err)
	}
	return there, nil
}

// Write keeps a receipt. A run has one for each transaction it committed.
func Write(ctx context.Context, d sqltext.Dialect, q Querier, r store.Receipt) error {
	b := sqltext.Builder{Dialect: d}
	insertReceipt(&b, r)
	if err := execBuilder(ctx, q, &b); err != nil {
		return err
	}
	return writeReply(ctx, d, q, r)
}

func insertReceipt(b *sqltext.Builder, r store.Receipt) {
	b.Raw("INSERT INTO koan_receipts (" + columns + ") VALUES (")
	for i, v := range []any{
		r.Run, r.Sequence, r.Attempt, r.IdempotencyKey, r.Subject, r.CodeDigest, r.ResultDigest, text(r.Result), r.ChangesDigest, r.CatalogVersion, r.At.UTC().Format(time.RFC3339Nano),
	} {
		if i > 0 {
			b.Raw(",")
		}
		b.Arg(v)
	}
	b.Raw(")")
}

// writeReply keeps the reply of a run with an idempotency key.
func writeReply(ctx context.Context, d sqltext.Dialect, q Querier, r store.Receipt) error {
	if r.Reply == nil {
		return nil
	}
	b := sqltext.Builder{Dialect: d}
	b.Raw("INSERT INTO koan_replies (run, reply) VALUES (").Arg(r.Run).Raw(", ").Arg(string(r.Reply)).Raw(")")
	return execBuilder(ctx, q, &b)
}

// ForgetReply takes out what is kept of a run's reply. Its receipt stays.
func ForgetReply(ctx context.Context, d sqltext.Dialect, q Querier, runID string) error {
	b := sqltext.Builder{Dialect: d}
	b.Raw("DELETE FROM koan_replies WHERE run = ").Arg(runID)
	if _, err := q.ExecContext(ctx, string(b.Text()), b.Args()...); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return nil
}

// Reply returns what is kept of a run's reply in this set, nil for nothing.
func Reply(ctx context.Context, d sqltext.Dialect, q Querier, runID string) (out json.RawMessage, err error) {
	b := sqltext.Builder{Dialect: d}
	b.Raw("SELECT reply FROM koan_replies WHERE run = ").Arg(runID)
	rows, err := q.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var reply sql.NullString
		if err := rows.Scan(&reply); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		out = raw(reply)
	}
	return out, rows.Err()
}

// Receipts returns a run's receipts by sequence, without the reply: none where it
// committed nothing in this set.
func Receipts(ctx context.Context, d sqltext.Dialect, q Querier, runID string) (out []store.Receipt, err error) {
	b := sqltext.Builder{Dialect: d}
	b.Raw("SELECT " + columns + " FROM koan_receipts WHERE run = ").Arg(runID).Raw(" ORDER BY sequence")
	rows, err := q.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var r store.Receipt
		var result sql.NullString
		var at string
		if err := rows.Scan(&r.Run, &r.Sequence, &r.Attempt, &r.IdempotencyKey, &r.Subject, &r.CodeDigest, &r.ResultDigest, &result, &r.ChangesDigest, &r.CatalogVersion, &at); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		r.Result = raw(result)
		if r.At, err = time.Parse(time.RFC3339Nano, at); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}
