package ledger

import (
	"context"
	"fmt"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/run/store"
)

// Committed is a receipt without what the run gave.
type Committed struct {
	store.Receipt
	ResultBytes int
}

// receiptPage is how many receipts are read at once.
const receiptPage = 1000

// EachCommitted hands out a set's receipts from a run on, in the order of runs. A set
// without the table has none.
func EachCommitted(ctx context.Context, d sqltext.Dialect, drv dialect.Driver, from string, fn func(Committed)) error {
	if there, err := hasTable(ctx, drv, "koan_receipts"); err != nil || !there {
		return err
	}
	sequence := -1
	for n := receiptPage; n == receiptPage; {
		b := sqltext.Builder{Dialect: d}
		b.Raw("SELECT run, sequence, attempt, idempotency_key, subject, code_digest, COALESCE(OCTET_LENGTH(result), 0), changes_digest, catalog_version, at FROM koan_receipts WHERE run > ").
			Arg(from).Raw(" OR run = ").Arg(from).Raw(" AND sequence > ").Arg(sequence).Raw(" ORDER BY run, sequence LIMIT ").Arg(receiptPage)
		rows := &entsql.Rows{}
		if err := drv.Query(ctx, string(b.Text()), b.Args(), rows); err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
		n = 0
		err := scanRows(rows, func() error {
			var c Committed
			var at string
			if err := rows.Scan(&c.Run, &c.Sequence, &c.Attempt, &c.IdempotencyKey, &c.Subject, &c.CodeDigest, &c.ResultBytes, &c.ChangesDigest, &c.CatalogVersion, &at); err != nil {
				return err
			}
			var err error
			c.At, err = time.Parse(time.RFC3339Nano, at)
			from, sequence, n = c.Run, c.Sequence, n+1
			fn(c)
			return err
		})
		if err != nil {
			return fmt.Errorf("ledger: %w", err)
		}
	}
	return nil
}

func hasTable(ctx context.Context, drv dialect.Driver, name string) (there bool, err error) {
	query := "SELECT 1 FROM sqlite_master WHERE name = ?"
	if drv.Dialect() != dialect.SQLite {
		query = "SELECT 1 FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1"
	}
	rows := &entsql.Rows{}
	if err := drv.Query(ctx, query, []any{name}, rows); err != nil {
		return false, err
	}
	err = scanRows(rows, func() error {
		there = true
		return nil
	})
	return there, err
}

// scanRows calls fn for each row and closes them.
func scanRows(rows *entsql.Rows, fn func() error) error {
	for rows.Next() {
		if err := fn(); err != nil {
			_ = rows.Close()
			return err
		}
	}
	if err := rows.Err(); err != nil {
		_ = rows.Close()
		return err
	}
	return rows.Close()
}
