package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/sqltext"
	"github.com/koan-go/koan/framework/run"
)

// TapeTables make the table of what is kept of runs for a replay, where it is missing.
// Run ids are in the order of time. size is of the body, compressed.
func TapeTables(d sqltext.Dialect) []string {
	blob := "bytea"
	if d.Name() == dialect.SQLite {
		blob = "blob"
	}
	return []string{
		`CREATE TABLE IF NOT EXISTS koan_tapes (
	run text NOT NULL PRIMARY KEY,
	at bigint NOT NULL,
	operation text NOT NULL,
	outcome text NOT NULL,
	bytes bigint NOT NULL,
	size bigint NOT NULL,
	why text NOT NULL,
	body ` + blob + `
)`,
		`CREATE INDEX IF NOT EXISTS koan_tapes_size ON koan_tapes (run, at, size)`,
	}
}

// Tapes is what is kept of runs for a replay, for those who read it; it is written
// with the journal. It is safe for concurrent use, by several processes too.
type Tapes struct{ place }

// NewTapes gives the tapes in a database that has TapeTables.
func NewTapes(db *sql.DB, d sqltext.Dialect) *Tapes { return &Tapes{place{db: db, dialect: d}} }

// shelve keeps tapes. A run that was gone on with, under its key or with its plan, has
// one: of when it began last, whichever process writes first.
func (p place) shelve(ctx context.Context, tx *sql.Tx, tapes []run.KeptTape) error {
	for _, k := range tapes {
		q := p.statement("INSERT INTO koan_tapes (run, at, operation, outcome, bytes, size, why, body) VALUES (").Arg(k.Run).Raw(", ").Arg(k.At.UnixMilli()).Raw(", ").
			Arg(k.Operation).Raw(", ").Arg(k.Outcome).Raw(", ").Arg(int64(k.Bytes)).Raw(", ").Arg(int64(len(k.Body))).Raw(", ").Arg(k.Why).Raw(", ").Arg(k.Body).
			Raw(") ON CONFLICT (run) DO UPDATE SET at = EXCLUDED.at, operation = EXCLUDED.operation, outcome = EXCLUDED.outcome, bytes = EXCLUDED.bytes, size = EXCLUDED.size, why = EXCLUDED.why, body = EXCLUDED.body WHERE koan_tapes.at <= EXCLUDED.at")
		if _, err := exec(ctx, tx, q); err != nil {
			return err
		}
	}
	return nil
}

// Get gives the tape of a run, nil where there is none.
func (t *Tapes) Get(ctx context.Context, id string) (out *run.KeptTape, err error) {
	q := t.statement("SELECT run, at, operation, outcome, bytes, why, body FROM koan_tapes WHERE run = ").Arg(id)
	err = t.each(ctx, q, func(rows *sql.Rows) error {
		var k run.KeptTape
		var at int64
		if err := rows.Scan(&k.Run, &at, &k.Operation, &k.Outcome, &k.Bytes, &k.Why, &k.Body); err != nil {
			return err
		}
		k.At, out = time.UnixMilli(at).UTC(), &k
		return nil
	})
	return out, err
}

var errEnough = errors.New("enough")

// Trim forgets what is older than before, and the oldest ones above so many bytes of
// bodies. It takes time as the runs' ids tell it.
func (t *Tapes) Trim(ctx context.Context, before time.Time, most int64) error {
	_, bytes, err := t.Size(ctx)
	if err != nil {
		return err
	}
	last := "" // the newest that goes
	free := bytes - most
	q := t.statement("SELECT run, at, size FROM koan_tapes ORDER BY run")
	err = t.each(ctx, q, func(rows *sql.Rows) error {
		var id string
		var at, size int64
		if err := rows.Scan(&id, &at, &size); err != nil {
			return err
		}
		if free <= 0 && at >= before.UnixMilli() {
			return errEnough
		}
		last, free = id, free-size
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	if last == "" {
		return nil
	}
	return t.in(ctx, func(tx *sql.Tx) error {
		_, err := exec(ctx, tx, t.statement("DELETE FROM koan_tapes WHERE run <= ").Arg(last))
		return err
	})
}

// Size tells how many runs are kept, and how many bytes their bodies take.
func (t *Tapes) Size(ctx context.Context) (runs int, bytes int64, err error) {
	err = t.each(ctx, t.statement("SELECT COUNT(*), COALESCE(SUM(size), 0) FROM koan_tapes"), func(rows *sql.Rows) error {
		return rows.Scan(&runs, &bytes)
	})
	return runs, bytes, err
}
