package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/replay"
)

// JournalTables make the tables of the journal, where they are missing. A run is one
// row, so that keeping it costs next to nothing: what is known of it, its calls, its
// script, and what an undo needs, which no reader sees. Readers have views of that, which are as entities/internal/records
// describes them. Beside them stand the processes that write, with what each has
// written, and the scripts that each of them is at.
func JournalTables(d sqltext.Dialect) []string {
	object, blob := "jsonb", "bytea"
	if d.Name() == dialect.SQLite {
		object, blob = "text", "blob"
	}
	return append([]string{
		"CREATE TABLE IF NOT EXISTS koan_journal (id text NOT NULL PRIMARY KEY, record " + object + " NOT NULL, calls " + object + ", code text, images " + blob + ")",
		withColumn(d, "koan_journal", "images", blob),
		"CREATE INDEX IF NOT EXISTS koan_journal_subject ON koan_journal ((" + bySubject + "), id)",
		"CREATE INDEX IF NOT EXISTS koan_journal_undoes ON koan_journal (" + byUndone + ") WHERE " + byUndone + " IS NOT NULL",
		`CREATE TABLE IF NOT EXISTS koan_writers (
	id text NOT NULL PRIMARY KEY,
	seen_at bigint NOT NULL,
	lease_until bigint NOT NULL,
	lost_at bigint,
	runs bigint NOT NULL,
	bytes bigint NOT NULL
)`,
		"INSERT INTO koan_writers (id, seen_at, lease_until, runs, bytes) VALUES ('" + gone + "', 0, " + never + ", 0, 0) ON CONFLICT (id) DO NOTHING",
		"CREATE TABLE IF NOT EXISTS koan_begun (run text NOT NULL PRIMARY KEY, writer text NOT NULL, record text NOT NULL)",
	}, journalViews(d)...)
}

// gone stands among the writers for all that are no more; its lease is forever.
const (
	gone  = "gone"
	never = "9000000000000000"
)

// Journal is what ran, in the app's own place. Each method is a transaction of its
// own. It is safe for concurrent use, by several processes too.
type Journal struct {
	place
	writer string // this process
	lease  time.Duration
	// sealing seals the secret values of images; nil keeps no images that have any.
	sealing Sealing
}

// NewJournal returns the journal in a database that has JournalTables, and TapeTables
// where tapes are written. writer names this process (Marked), which others take for
// dead when it has ended, or nothing was heard of it for the lease; "" is one that writes tapes only, which needs
// no JournalTables.
func NewJournal(db *sql.DB, d sqltext.Dialect, writer string, lease time.Duration) *Journal {
	return &Journal{place: place{db: db, dialect: d}, writer: writer, lease: lease}
}

// Batch is what is written at once.
type Batch struct {
	Begun []journal.Record // scripts that are under way
	Ended []journal.Record
	Noted []string // runs that ended, of which an earlier batch had the start
	Tapes []replay.KeptTape
	// Synced has this batch and all before it outlive a loss of power. Else it outlives
	// the process alone, which takes a tenth of the time.
	Synced bool
	// Lost says that records were dropped since the last batch: what is missing can
	// be found in receipts alone, when the process is gone.
	Lost bool
}

// Write keeps a batch, and that the process is alive. An empty batch does that alone.
func (j *Journal) Write(ctx context.Context, b Batch) error {
	if j.writer == "" && len(b.Tapes) == 0 {
		return nil
	}
	if j.dialect.Name() == dialect.SQLite {
		// The driver makes a goroutine for each statement that can be cancelled, which costs
		// more than the statement. None takes longer than it may wait for the file.
		ctx = context.WithoutCancel(ctx)
	}
	rows, bytes := journalRows(b.Ended, j.sealing)
	in := j.withoutSync
	if b.Synced {
		in = j.durably
	}
	return in(ctx, func(tx *sql.Tx) error {
		if err := j.storeTapes(ctx, tx, b.Tapes); err != nil || j.writer == "" {
			return err
		}
		if err := j.begin(ctx, tx, b.Begun); err != nil {
			return err
		}
		runs, less, err := j.replacedRuns(ctx, tx, b.Ended)
		if err != nil {
			return err
		}
		if err := j.insert(ctx, tx, rows, j.completionClause()); err != nil {
			return err
		}
		if err := j.noteHeartbeat(ctx, tx, b.Lost, len(rows)-runs, bytes-less); err != nil {
			return err
		}
		return j.forget(ctx, tx, b.Noted)
	})
}

// begin notes scripts that are under way.
func (j *Journal) begin(ctx context.Context, tx *sql.Tx, begun []journal.Record) error {
	for _, r := range begun {
		raw, err := json.Marshal(r)
		if err != nil {
			return err
		}
		q := j.statement("INSERT INTO koan_begun (run, writer, record) VALUES (").Arg(r.Run).Raw(", ").Arg(j.writer).Raw(", ").Arg(string(raw)).
			Raw(") ON CONFLICT (run) DO UPDATE SET writer = EXCLUDED.writer, record = EXCLUDED.record")
		if _, err := exec(ctx, tx, q); err != nil {
			return err
		}
	}
	return nil
}

// replacedRuns returns how many runs, of how many bytes, are going to be replaced: those
// that were gone on with, under their key or with their plan.
func (j *Journal) replacedRuns(ctx context.Context, tx *sql.Tx, ended []journal.Record) (runs int, bytes int64, err error) {
	var ids []any
	for i := range ended {
		if mayContinue(&ended[i]) {
			ids = append(ids, ended[i].Run)
		}
	}
	if len(ids) == 0 {
		return 0, 0, nil
	}
	q := j.statement("SELECT COUNT(*), COALESCE(SUM(" + rowSize + "), 0) FROM koan_journal WHERE id IN (").List(ids).Raw(")")
	err = tx.QueryRowContext(ctx, string(q.Text()), q.Args()...).Scan(&runs, &bytes)
	return runs, bytes, err
}

// mayContinue reports whether a run may have ended before, or begun in another process.
func mayContinue(r *journal.Record) bool { return r.Keyed || r.Approval.Plan != "" }

// noteHeartbeat notes when the process was last heard of, and what it has written more.
func (j *Journal) noteHeartbeat(ctx context.Context, tx *sql.Tx, lost bool, runs int, bytes int64) error {
	lostAt := "NULL"
	if lost {
		lostAt = j.clock()
	}
	q := j.statement("INSERT INTO koan_writers (id, seen_at, lease_until, lost_at, runs, bytes) VALUES (").Arg(j.writer).Raw(", " + j.clock() + ", " + j.clock() + " + ").
		Arg(j.lease.Milliseconds()).Raw(", " + lostAt + ", ").Arg(runs).Raw(", ").Arg(bytes).
		Raw(") ON CONFLICT (id) DO UPDATE SET seen_at = EXCLUDED.seen_at, lease_until = EXCLUDED.lease_until, lost_at = COALESCE(koan_writers.lost_at, EXCLUDED.lost_at), runs = koan_writers.runs + EXCLUDED.runs, bytes = koan_writers.bytes + EXCLUDED.bytes")
	_, err := exec(ctx, tx, q)
	return err
}

// count adds to what a writer has written.
func (j *Journal) count(ctx context.Context, tx *sql.Tx, writer string, runs int, bytes int64) error {
	if runs == 0 {
		return nil
	}
	_, err := exec(ctx, tx, j.statement("UPDATE koan_writers SET runs = runs + ").Arg(runs).Raw(", bytes = bytes + ").Arg(bytes).Raw(" WHERE id = ").Arg(writer))
	return err
}

// forget takes out the notes of runs' starts.
func (j *Journal) forget(ctx context.Context, tx *sql.Tx, runs []string) error {
	for chunk := range slices.Chunk(runs, maxRows) {
		ids := make([]any, len(chunk))
		for i, id := range chunk {
			ids[i] = id
		}
		if _, err := exec(ctx, tx, j.statement("DELETE FROM koan_begun WHERE run IN (").List(ids).Raw(")")); err != nil {
			return err
		}
	}
	return nil
}

// Leave says goodbye. A process that has lost records stays known, so that what it
// did not write is looked for in receipts.
func (j *Journal) Leave(ctx context.Context) error {
	if j.writer == "" {
		return nil
	}
	return j.durably(ctx, func(tx *sql.Tx) error {
		q := j.statement("UPDATE koan_writers SET lease_until = 0 WHERE lost_at IS NOT NULL AND id = ").Arg(j.writer)
		if n, err := exec(ctx, tx, q); err != nil || n > 0 {
			return err
		}
		return j.retire(ctx, tx, j.writer)
	})
}

// retire takes out a writer, and adds what it has written to what others did before.
func (j *Journal) retire(ctx context.Context, tx *sql.Tx, id string) error {
	q := j.statement("UPDATE koan_writers SET runs = runs + (SELECT COALESCE(SUM(runs), 0) FROM koan_writers WHERE id = ").Arg(id).
		Raw("), bytes = bytes + (SELECT COALESCE(SUM(bytes), 0) FROM koan_writers WHERE id = ").Arg(id).Raw(") WHERE id = '" + gone + "'")
	if _, err := exec(ctx, tx, q); err != nil {
		return err
	}
	_, err := exec(ctx, tx, j.statement("DELETE FROM koan_writers WHERE id = ").Arg(id))
	return err
}

// Dead is what is known of processes that have ended without a goodbye, or of which
// nothing was heard for their lease.
type Dead struct {
	Writers []string
	// Since is the first moment of which their records may be missing.
	Since time.Time
	// Begun are the scripts that they were at.
	Begun []journal.Record
	// Alive are the runs that living processes are at.
	Alive map[string]bool
}

// Dead returns the processes that ended without a goodbye; nil for none.
func (j *Journal) Dead(ctx context.Context) (*Dead, error) {
	d := &Dead{Alive: map[string]bool{}}
	gone := map[string]bool{}
	q := j.statement("SELECT id, COALESCE(lost_at, seen_at), lease_until < " + j.clock() + " FROM koan_writers")
	err := j.each(ctx, q, func(rows *sql.Rows) error {
		var id string
		var at int64
		var over bool
		if err := rows.Scan(&id, &at, &over); err != nil {
			return err
		}
		if !over && !j.hasEnded(id) {
			return nil
		}
		if t := time.UnixMilli(at); len(d.Writers) == 0 || t.Before(d.Since) {
			d.Since = t
		}
		d.Writers, gone[id] = append(d.Writers, id), true
		return nil
	})
	if err != nil || len(d.Writers) == 0 {
		return nil, err
	}
	err = j.each(ctx, j.statement("SELECT run, writer, record FROM koan_begun"), func(rows *sql.Rows) error {
		var id, writer, record string
		if err := rows.Scan(&id, &writer, &record); err != nil {
			return err
		}
		if !gone[writer] {
			d.Alive[id] = true
			return nil
		}
		var r journal.Record
		if err := json.Unmarshal([]byte(record), &r); err != nil {
			return err
		}
		d.Begun = append(d.Begun, r)
		return nil
	})
	return d, err
}

// Bury keeps what was found out about the runs of dead processes, where nobody has
// written it since, and forgets the processes.
func (j *Journal) Bury(ctx context.Context, d *Dead, found []journal.Record) error {
	rows, _ := journalRows(found, nil)
	records := make(map[string]*journal.Record, len(found))
	for i := range found {
		records[found[i].Run] = &found[i]
	}
	return j.durably(ctx, func(tx *sql.Tx) error {
		for _, row := range rows {
			there, err := j.correct(ctx, tx, records[row.id])
			if err != nil {
				return err
			}
			if there {
				continue
			}
			n, err := exec(ctx, tx, j.insertion([]journalRow{row}).Raw(keeping))
			if err != nil {
				return err
			}
			if err := j.count(ctx, tx, gone, int(n), n*row.size()); err != nil {
				return err
			}
		}
		for _, w := range d.Writers {
			// One that was only slow is back since, and sees to itself.
			still := "lease_until < " + j.clock()
			if j.hasEnded(w) {
				still = "TRUE"
			}
			n, err := exec(ctx, tx, j.statement("UPDATE koan_writers SET lost_at = NULL WHERE "+still+" AND id = ").Arg(w))
			if err != nil {
				return err
			}
			if n == 0 {
				continue
			}
			if err := j.retire(ctx, tx, w); err != nil {
				return err
			}
			if _, err := exec(ctx, tx, j.statement("DELETE FROM koan_begun WHERE writer = ").Arg(w)); err != nil {
				return err
			}
		}
		return nil
	})
}

// Size is how much the journal holds.
type Size struct {
	Runs  int
	Bytes int64
	First string // the oldest run's id, "" for none
}

// Size returns how much that is.
func (j *Journal) Size(ctx context.Context) (s Size, err error) {
	q := j.statement("SELECT COALESCE(SUM(runs), 0), COALESCE(SUM(bytes), 0), COALESCE((SELECT MIN(id) FROM koan_journal), '') FROM koan_writers")
	err = j.each(ctx, q, func(rows *sql.Rows) error { return rows.Scan(&s.Runs, &s.Bytes, &s.First) })
	return s, err
}
