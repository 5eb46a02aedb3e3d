package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"time"

	"github.com/koan-go/koan/entities/sqltext"
	"github.com/koan-go/koan/framework/journal"
)

// maxRows is how many rows a statement takes at most, below what databases bind.
const maxRows = 256

// keeping leaves what stands there already as it is.
const keeping = " ON CONFLICT (id) DO NOTHING"

var runColumns = []string{
	"id", "bytes", "started", "duration_ms", "surface", "subject", "tool", "operation", "set", "outcome", "message", "line", "committed", "dry_run",
	"atomic", "attempts", "call_count", "outside_count", "created", "updated", "deleted", "changes", "changes_digest", "code_digest", "input_digest",
	"result_bytes", "approval", "plan_id", "approved_by", "redactions", "correlation_id", "trace_id", "keyed", "repeat_of", "runtime",
	"catalog_version", "tool_version", "repaired", "lost", "code",
}

var callColumns = []string{
	"id", "run_id", "sequence", "position", "tool", "operation", "entity", "set", "outcome", "started_ms", "duration_ms", "input_digest", "output_bytes",
	"outside",
}

// rowBytes is about what a row takes beside its texts, with its place in indexes.
const rowBytes = 400

// insert keeps runs and their calls; ending says what becomes of runs that stand
// there already.
func (j *Journal) insert(ctx context.Context, tx *sql.Tx, records []journal.Record, ending string) error {
	var runs, calls [][]any
	last := map[string]int{}
	for i, r := range records {
		last[r.Run] = i
	}
	for i, r := range records {
		if last[r.Run] != i {
			continue // a run that was gone on with at once
		}
		bytes := 0
		for i, c := range r.Trail {
			row := callRow(r.Run, i+1, c)
			bytes += sizeOf(row)
			calls = append(calls, row)
		}
		row, err := runRow(r)
		if err != nil {
			return err
		}
		row[1] = int64(bytes + sizeOf(row))
		runs = append(runs, row)
	}
	if err := j.rows(ctx, tx, "koan_runs", runColumns, runs, ending); err != nil {
		return err
	}
	return j.rows(ctx, tx, "koan_calls", callColumns, calls, keeping)
}

// completing replaces what was repaired by what its process wrote after all, and
// what became of a run that was gone on with under its key.
var completing = func() string {
	text := " ON CONFLICT (id) DO UPDATE SET "
	for i, c := range runColumns[1:] {
		if i > 0 {
			text += ", "
		}
		name := string(sqltext.AppendName(nil, c))
		text += name + " = EXCLUDED." + name
	}
	return text + " WHERE koan_runs.repaired OR NOT koan_runs.committed"
}()

// rows inserts rows, in pieces whose lengths are powers of two, so that there are
// few statements to prepare.
func (j *Journal) rows(ctx context.Context, tx *sql.Tx, table string, columns []string, rows [][]any, ending string) error {
	for len(rows) > 0 {
		n := maxRows
		for n > len(rows) {
			n /= 2
		}
		b := j.statement("INSERT INTO " + table + " (")
		for i, c := range columns {
			if i > 0 {
				b.Raw(",")
			}
			b.Name(c)
		}
		b.Raw(") VALUES ")
		for i, row := range rows[:n] {
			if i > 0 {
				b.Raw(",")
			}
			for k, v := range row {
				if k > 0 {
					b.Raw(",")
				} else {
					b.Raw("(")
				}
				b.Arg(v)
			}
			b.Raw(")")
		}
		if _, err := exec(ctx, tx, b.Raw(ending)); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

func runRow(r journal.Record) ([]any, error) {
	var changes any
	if len(r.Changes) > 0 {
		raw, err := json.Marshal(r.Changes)
		if err != nil {
			return nil, err
		}
		changes = string(raw)
	}
	var line any
	if r.Line > 0 {
		line = r.Line
	}
	approval := r.Approval.State
	if approval == "" {
		approval = journal.NotRequired
	}
	return []any{
		r.Run, 0, r.Started.UTC().Truncate(time.Millisecond), milliseconds(r.Duration), r.Surface, unlost(r.Subject), r.Tool, r.Operation, unlost(r.Set), r.Outcome,
		optional(r.Message), line, r.Committed, r.DryRun,
		r.Atomic, r.Attempts, r.Calls, r.Outside, r.Created, r.Updated, r.Deleted, changes, optional(r.ChangesDigest), optional(r.CodeDigest), optional(r.InputDigest),
		r.ResultBytes, approval, optional(r.Approval.Plan), optional(r.Approval.By), r.Redactions, optional(r.CorrelationID), r.Trace, r.Keyed, optional(r.RepeatOf), optional(r.Runtime),
		r.CatalogVersion, r.ToolVersion, r.Repaired, r.Lost, optional(r.Code),
	}, nil
}

func callRow(run string, sequence int, c journal.Call) []any {
	return []any{
		run + ":" + c.Position, run, sequence, c.Position, unlost(c.Tool), unlost(c.Operation), optional(c.Entity), optional(c.Set), c.Outcome,
		milliseconds(c.Started), milliseconds(c.Duration), c.InputDigest, c.OutputBytes, c.Outside,
	}
}

// milliseconds has microseconds behind the point.
func milliseconds(d time.Duration) float64 { return math.Round(float64(d)/1e3) / 1e3 }

// optional is null for an empty text.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return unlost(s)
}

// sizeOf is about what a row takes.
func sizeOf(row []any) int {
	n := rowBytes
	for _, v := range row {
		if s, ok := v.(string); ok {
			n += len(s)
		}
	}
	return n
}
