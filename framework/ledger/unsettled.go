package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// Data that belongs to another program has no table of the system: its receipts stand in the ledger. Two
// databases do not commit together, so an intent stands there before the data commits, and becomes
// the receipt after it. Where the process ends in between, nobody knows which of the two happened.

// unsettled is the table of intents.
const unsettled = `CREATE TABLE IF NOT EXISTS koan_unsettled (
	run TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	writer TEXT NOT NULL,
	idempotency_key TEXT NOT NULL,
	subject TEXT NOT NULL,
	at BIGINT NOT NULL,
	PRIMARY KEY (run, sequence)
)`

// CommitTables are those of commits to data that has no table of the system.
var CommitTables = []string{receipts, keys, replies, unsettled}

// Unsettled is a commit of which nobody knows whether it happened.
type Unsettled struct {
	Run            string
	Sequence       int
	IdempotencyKey string
	Subject        string
	At             time.Time
}

// Commits keeps the receipts of data that has no place for them. It is safe for concurrent use, by
// several processes too.
type Commits struct {
	place
	writer string
}

// NewCommits returns them in a database that has CommitTables. On SQLite its transactions must begin
// with the write lock.
func NewCommits(db *sql.DB, d sqltext.Dialect, writer string) *Commits {
	return &Commits{place{db: db, dialect: d}, Marked(writer)}
}

// Intend notes that the data is about to commit. It ends in store.ErrCommitted where the same commit has a
// receipt, in outcome_unknown where it was intended before and nobody knows how that ended.
func (c *Commits) Intend(ctx context.Context, r store.Receipt) error {
	return c.durably(ctx, func(tx *sql.Tx) error {
		b := c.statement("SELECT 1 FROM koan_receipts WHERE run = ").Arg(r.Run).Raw(" AND sequence = ").Arg(r.Sequence)
		var one int
		switch err := tx.QueryRowContext(ctx, string(b.Text()), b.Args()...).Scan(&one); {
		case err == nil:
			return store.ErrCommitted
		case !errors.Is(err, sql.ErrNoRows):
			return err
		}
		b = c.statement("INSERT INTO koan_unsettled (run, sequence, writer, idempotency_key, subject, at) VALUES (").
			Arg(r.Run).Raw(", ").Arg(r.Sequence).Raw(", ").Arg(c.writer).Raw(", ").Arg(r.IdempotencyKey).Raw(", ").Arg(r.Subject).Raw(", ").Arg(r.At.UnixMilli()).
			Raw(") ON CONFLICT DO NOTHING")
		n, err := exec(ctx, tx, b)
		if err == nil && n == 0 {
			return UnknownOutcome(Unsettled{Run: r.Run, IdempotencyKey: r.IdempotencyKey, At: r.At})
		}
		return err
	})
}

// Settle makes of an intent the receipt of a commit.
func (c *Commits) Settle(ctx context.Context, r store.Receipt) error {
	return c.durably(ctx, func(tx *sql.Tx) error {
		if err := c.remove(ctx, tx, r); err != nil {
			return err
		}
		return Write(ctx, c.dialect, tx, r)
	})
}

// Withdraw takes an intent back: the data has not committed.
func (c *Commits) Withdraw(ctx context.Context, r store.Receipt) error {
	return c.durably(ctx, func(tx *sql.Tx) error { return c.remove(ctx, tx, r) })
}

func (c *Commits) remove(ctx context.Context, tx *sql.Tx, r store.Receipt) error {
	_, err := exec(ctx, tx, c.statement("DELETE FROM koan_unsettled WHERE run = ").Arg(r.Run).Raw(" AND sequence = ").Arg(r.Sequence))
	return err
}

// Unsettled returns the intents of processes that have ended, the oldest first; of one run where it is
// named, whoever has made them.
func (c *Commits) Unsettled(ctx context.Context, run string) (out []Unsettled, err error) {
	b := c.statement("SELECT run, sequence, writer, idempotency_key, subject, at FROM koan_unsettled")
	if run != "" {
		b.Raw(" WHERE run = ").Arg(run)
	}
	err = c.each(ctx, b.Raw(" ORDER BY at, run, sequence"), func(rows *sql.Rows) error {
		var u Unsettled
		var writer string
		var at int64
		if err := rows.Scan(&u.Run, &u.Sequence, &writer, &u.IdempotencyKey, &u.Subject, &at); err != nil {
			return err
		}
		u.At = time.UnixMilli(at)
		if run != "" || c.hasEnded(writer) {
			out = append(out, u)
		}
		return nil
	})
	return out, err
}

// UnknownOutcome is the fault of a commit of which nobody knows whether it happened.
func UnknownOutcome(u Unsettled) *fault.Fault {
	about := fmt.Sprintf("the run %s", u.Run)
	details := map[string]any{"runId": u.Run}
	if u.IdempotencyKey != "" {
		about += fmt.Sprintf(" with the key %q", u.IdempotencyKey)
		details["idempotencyKey"] = u.IdempotencyKey
	}
	return fault.New(fault.OutcomeUnknown, about+" was cut off while the database committed: nobody knows whether it did").
		WithHint("Read the data to see whether the change was made; if it was not, do it with a new key.").WithDetails(details)
}
