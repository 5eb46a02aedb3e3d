package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/replay"
)

// TapeTables make the table of what is kept of runs for a replay, where it is missing.
// Run ids are in the order of time. size is of the body, compressed; subject is who
// called, "" in what an earlier version kept.
func TapeTables(d sqltext.Dialect) []string {
	blob := "bytea"
	if d.Name() == dialect.SQLite {
		blob = "blob"
	}
	return []string{
		`CREATE TABLE IF NOT EXISTS koan_tapes (
	run text NOT NULL PRIMARY KEY,
	at bigint NOT NULL,
	subject text NOT NULL DEFAULT '',
	operation text NOT NULL,
	outcome text NOT NULL,
	bytes bigint NOT NULL,
	size bigint NOT NULL,
	why text NOT NULL,
	body ` + blob + `
)`,
		withColumn(d, "koan_tapes", "subject", "text NOT NULL DEFAULT ''"),
		`CREATE INDEX IF NOT EXISTS koan_tapes_room ON koan_tapes (subject, run, at, size)`,
		`DROP INDEX IF EXISTS koan_tapes_size`,
	}
}

// Tapes is what is kept of runs for a replay, for those who read it; it is written
// with the journal. It is safe for concurrent use, by several processes too.
type Tapes struct{ place }

// NewTapes returns the tapes in a database that has TapeTables.
func NewTapes(db *sql.DB, d sqltext.Dialect) *Tapes { return &Tapes{place{db: db, dialect: d}} }

// storeTapes keeps tapes. A run that was gone on with, under its key or with its plan, has
// one: of when it began last, whichever process writes first.
func (p place) storeTapes(ctx context.Context, tx *sql.Tx, tapes []replay.KeptTape) error {
	for _, k := range tapes {
		q := p.statement("INSERT INTO koan_tapes (run, at, subject, operation, outcome, bytes, size, why, body) VALUES (").Arg(k.Run).Raw(", ").Arg(k.At.UnixMilli()).Raw(", ").Arg(journal.BoundedName(k.Subject)).Raw(", ").
			Arg(k.Operation).Raw(", ").Arg(k.Outcome).Raw(", ").Arg(int64(k.Bytes)).Raw(", ").Arg(int64(len(k.Body))).Raw(", ").Arg(k.Why).Raw(", ").Arg(k.Body).
			Raw(") ON CONFLICT (run) DO UPDATE SET at = EXCLUDED.at, subject = EXCLUDED.subject, operation = EXCLUDED.operation, outcome = EXCLUDED.outcome, bytes = EXCLUDED.bytes, size = EXCLUDED.size, why = EXCLUDED.why, body = EXCLUDED.body WHERE koan_tapes.at <= EXCLUDED.at")
		if _, err := exec(ctx, tx, q); err != nil {
			return err
		}
	}
	return nil
}

// Get returns the tape of a run, nil if there is none.
func (t *Tapes) Get(ctx context.Context, id string) (out *replay.KeptTape, err error) {
	q := t.statement("SELECT run, at, subject, operation, outcome, bytes, why, body FROM koan_tapes WHERE run = ").Arg(id)
	err = t.each(ctx, q, func(rows *sql.Rows) error {
		var k replay.KeptTape
		var at int64
		if err := rows.Scan(&k.Run, &at, &k.Subject, &k.Operation, &k.Outcome, &k.Bytes, &k.Why, &k.Body); err != nil {
			return err
		}
		k.At, out = time.UnixMilli(at).UTC(), &k
		return nil
	})
	return out, err
}

// Trim removes what is older than before, and where there are more than so many bytes of
// bodies, the oldest runs of those callers who have more than their share of it. It takes
// time as the runs' ids have it.
func (t *Tapes) Trim(ctx context.Context, before time.Time, most int64) error {
	if err := t.expire(ctx, before); err != nil {
		return err
	}
	_, bytes, err := t.Size(ctx)
	if err != nil || bytes <= most {
		return err
	}
	used, err := t.usage(ctx)
	if err != nil {
		return err
	}
	for _, e := range aboveShare(used, most) {
		if err := t.free(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// expire removes what is older than before, and takes the write lock for that alone.
func (t *Tapes) expire(ctx context.Context, before time.Time) error {
	old := false
	err := t.each(ctx, t.statement("SELECT 1 FROM koan_tapes WHERE at < ").Arg(before.UnixMilli()).Raw(" LIMIT 1"), func(*sql.Rows) error {
		old = true
		return nil
	})
	if err != nil || !old {
		return err
	}
	return t.remove(ctx, t.statement("DELETE FROM koan_tapes WHERE at < ").Arg(before.UnixMilli()))
}

// usage returns how many bytes the bodies of each caller take.
func (t *Tapes) usage(ctx context.Context) (out []Excess, err error) {
	err = t.each(ctx, t.statement("SELECT subject, SUM(size) FROM koan_tapes GROUP BY subject"), func(rows *sql.Rows) error {
		var used Excess
		err := rows.Scan(&used.Subject, &used.Bytes)
		out = append(out, used)
		return err
	})
	return out, err
}

// free removes as many of a caller's oldest runs as it takes to free so many bytes.
func (t *Tapes) free(ctx context.Context, e Excess) error {
	last := "" // the newest that goes
	q := t.statement("SELECT run, size FROM koan_tapes WHERE subject = ").Arg(e.Subject).Raw(" ORDER BY run")
	err := t.each(ctx, q, func(rows *sql.Rows) error {
		if e.Bytes <= 0 {
			return errEnough
		}
		var size int64
		err := rows.Scan(&last, &size)
		e.Bytes -= size
		return err
	})
	if err != nil && !errors.Is(err, errEnough) || last == "" {
		return err
	}
	return t.remove(ctx, t.statement("DELETE FROM koan_tapes WHERE subject = ").Arg(e.Subject).Raw(" AND run <= ").Arg(last))
}

var errEnough = errors.New("enough")

func (t *Tapes) remove(ctx context.Context, b *sqltext.Builder) error {
	return t.durably(ctx, func(tx *sql.Tx) error {
		_, err := exec(ctx, tx, b)
		return err
	})
}

// Size returns how many runs are kept, and how many bytes their bodies take.
func (t *Tapes) Size(ctx context.Context) (runs int, bytes int64, err error) {
	err = t.each(ctx, t.statement("SELECT COUNT(*), COALESCE(SUM(size), 0) FROM koan_tapes"), func(rows *sql.Rows) error {
		return rows.Scan(&runs, &bytes)
	})
	return runs, bytes, err
}
