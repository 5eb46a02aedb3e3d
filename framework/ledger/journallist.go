package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

// beginning is how much of a script a list has, in bytes.
const beginning = 240

// errPageFull ends the reading of a page.
var errPageFull = errors.New("ledger: the page is full")

// listed is a run of a list.
type listed struct {
	id, record string
	calls      *string // nil where the list has none
	code       sql.NullString
}

// Runs returns a part of the list of the runs that a reader may see, the latest first. Of these it
// looks at so many as Recent does, so a page may be short, or empty, and have a next one all the
// same. Of others nothing shows, neither in the pages nor in the time that they take.
func (j *Journal) Runs(ctx context.Context, q journal.Query, r Reader) (*journal.Page, error) {
	out := &journal.Page{Runs: []json.RawMessage{}}
	if cannotStartID(q.Before) {
		return out, nil
	}
	b := j.statement("SELECT j.id, CAST(j.record AS text), CAST(j.calls AS text), j.code FROM koan_journal j WHERE 1 = 1")
	if q.Before != "" {
		b.Raw(" AND j.id < ").Arg(q.Before)
	}
	looked, found := 0, []listed(nil)
	err := j.each(ctx, r.restrict(b).Raw(" ORDER BY j.id DESC LIMIT ").Arg(recent), func(rows *sql.Rows) error {
		var one listed
		var calls sql.NullString
		if err := rows.Scan(&one.id, &one.record, &calls, &one.code); err != nil {
			return err
		}
		looked++
		ok, err := admits(q, one.id, one.record, one.code.String)
		if err == nil && ok {
			has, trail, perr := parts(one.record, calls.String)
			ok, err = r.sees(has, trail), perr
		}
		if err != nil {
			return err
		}
		out.Next = one.id
		if !ok {
			return nil
		}
		if q.Whole {
			one.calls = &calls.String
		} else {
			one.code.String = fault.Clip(one.code.String, beginning)
		}
		if found = append(found, one); len(found) == q.Most {
			return errPageFull
		}
		return nil
	})
	switch {
	case errors.Is(err, errPageFull):
	case err != nil:
		return nil, err
	case looked < recent: // all have been looked at
		out.Next = ""
	}
	return out, j.listReports(ctx, out, found, r)
}

// listReports adds the reports of runs to a page.
func (j *Journal) listReports(ctx context.Context, out *journal.Page, found []listed, r Reader) error {
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].id
	}
	undone, err := j.undoings(ctx, ids, r)
	if err != nil {
		return err
	}
	for i := range found {
		one, err := report(found[i].id, found[i].record, found[i].calls, found[i].code, r, undone)
		if err != nil {
			return err
		}
		out.Runs = append(out.Runs, one)
	}
	return nil
}

// keptAtOnce is how many runs one statement asks for.
const keptAtOnce = 500

// Kept returns which of these runs the journal has.
func (j *Journal) Kept(ctx context.Context, runs []string) (map[string]bool, error) {
	out := map[string]bool{}
	for some := range slices.Chunk(runs, keptAtOnce) {
		ids := make([]any, len(some))
		for i, id := range some {
			ids[i] = id
		}
		b := j.statement("SELECT id FROM koan_journal WHERE id IN (").List(ids)
		err := j.each(ctx, b.Raw(")"), func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			out[id] = true
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// admits reports whether a query asks for a run.
func admits(q journal.Query, id, record, code string) (bool, error) {
	var has struct {
		Outcome, Message, Tool string
		Created                int
		Updated                int
		Deleted                int
		OutsideCount           int         `json:"outside_count"`
		DryRun                 json.Number `json:"dry_run"`
	}
	if err := decode(record, &has); err != nil {
		return false, err
	}
	switch {
	case q.Outcome == "!"+journal.OK && has.Outcome == journal.OK, q.Outcome != "" && q.Outcome[0] != '!' && has.Outcome != q.Outcome:
		return false, nil
	case q.Changed && has.Created+has.Updated+has.Deleted == 0:
		return false, nil
	case q.NoReads && code == "" && has.Outcome == journal.OK && (has.DryRun == "1" || has.Created+has.Updated+has.Deleted+has.OutsideCount == 0):
		return false, nil
	case q.Text == "":
		return true, nil
	}
	text := strings.ToLower(q.Text)
	for _, s := range []string{id, has.Tool, has.Message, code} {
		if strings.Contains(strings.ToLower(s), text) {
			return true, nil
		}
	}
	return false, nil
}
