package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/journal"
)

// CommittedRun is a run of which the journal says that it has committed, and in which sets.
type CommittedRun struct {
	Run  string
	Sets []string
}

// CommittedSince returns the runs that began at a time or later and have committed, as far as the
// journal knows.
func (j *Journal) CommittedSince(ctx context.Context, since time.Time) (out []CommittedRun, err error) {
	bytes := ` COLLATE "C"`
	if j.dialect.Name() == dialect.SQLite {
		bytes = ""
	}
	q := j.statement("SELECT id, CAST(record AS text) FROM koan_journal WHERE CAST(record ->> 'committed' AS TEXT) = '1' AND (record ->> 'started')" + bytes + " >= ").
		Arg(since.UTC().Format(timeText))
	err = j.each(ctx, q, func(rows *sql.Rows) error {
		r := CommittedRun{}
		var record string
		if err := rows.Scan(&r.Run, &record); err != nil {
			return err
		}
		var has struct {
			Set     string `json:"set"`
			Changes []struct {
				Set string `json:"set"`
			} `json:"changes"`
		}
		if err := decode(record, &has); err != nil {
			return err
		}
		for _, c := range has.Changes {
			if !slices.Contains(r.Sets, c.Set) {
				r.Sets = append(r.Sets, c.Set)
			}
		}
		if len(r.Sets) == 0 {
			r.Sets = []string{has.Set}
		}
		out = append(out, r)
		return nil
	})
	return out, err
}

// lostMessage is what the journal says of a run whose data is gone.
const lostMessage = "the data no longer has what this run committed: a loss of power took it, or an earlier state of the data was restored"

// MarkLost says of runs that the data has lost what they committed.
func (j *Journal) MarkLost(ctx context.Context, runs []string) error {
	return j.durably(ctx, func(tx *sql.Tx) error {
		for _, id := range runs {
			q := j.statement("SELECT CAST(record AS text) FROM koan_journal WHERE id = ").Arg(id)
			var record string
			if err := tx.QueryRowContext(ctx, string(q.Text()), q.Args()...).Scan(&record); err != nil {
				return err
			}
			var has map[string]any
			if err := decode(record, &has); err != nil {
				return err
			}
			for _, member := range []string{"committed", "created", "updated", "deleted", "changes", "changes_digest"} {
				delete(has, member)
			}
			has["outcome"], has["message"], has["repaired"] = journal.CutOff, lostMessage, 1
			changed, err := json.Marshal(has)
			if err != nil {
				return err
			}
			if _, err := exec(ctx, tx, j.statement("UPDATE koan_journal SET record = ").Arg(string(changed)).Raw(" WHERE id = ").Arg(id)); err != nil {
				return err
			}
		}
		return nil
	})
}

// NewestReceipt returns when the run of a set's last receipt got its id: zero where it has none.
func NewestReceipt(ctx context.Context, drv dialect.Driver) (at time.Time, err error) {
	if there, err := hasTable(ctx, drv, "koan_receipts"); err != nil || !there {
		return at, err
	}
	err = each(ctx, drv, "SELECT run FROM koan_receipts ORDER BY run DESC LIMIT 1", func(rows *entsql.Rows) error {
		var run string
		if err := rows.Scan(&run); err != nil {
			return err
		}
		id, err := uuid.Parse(run)
		if err != nil {
			return err
		}
		at = time.Unix(id.Time().UnixTime())
		return nil
	})
	return at, err
}

// WithReceipt returns those of some runs that have a receipt in a set.
func WithReceipt(ctx context.Context, d sqltext.Dialect, drv dialect.Driver, runs []string) (map[string]bool, error) {
	out := map[string]bool{}
	if there, err := hasTable(ctx, drv, "koan_receipts"); err != nil || !there {
		return out, err
	}
	for chunk := range slices.Chunk(runs, maxRows) {
		ids := make([]any, len(chunk))
		for i, id := range chunk {
			ids[i] = id
		}
		b := sqltext.Builder{Dialect: d}
		b.Raw("SELECT DISTINCT run FROM koan_receipts WHERE run IN (").List(ids).Raw(")")
		rows := &entsql.Rows{}
		if err := drv.Query(ctx, string(b.Text()), b.Args(), rows); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		err := scanRows(rows, func() error {
			var run string
			err := rows.Scan(&run)
			out[run] = true
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
	}
	return out, nil
}
