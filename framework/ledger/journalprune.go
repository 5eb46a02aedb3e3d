package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// bySubject is who called, as a column of the journal.
const bySubject = "COALESCE(record ->> 'subject', '')"

// Excess is by how many bytes the runs of one caller pass its share, of the journal or of
// what is kept for replays.
type Excess struct {
	Subject string
	Bytes   int64
}

// Excess returns the callers whose runs have to go so that no more than so many bytes
// are left. A caller who uses less than an even share keeps everything, and what it
// leaves is shared by the others: no caller's runs push out another's.
func (j *Journal) Excess(ctx context.Context, most int64) (out []Excess, err error) {
	q := j.statement("SELECT " + bySubject + ", SUM(" + rowSize + ") FROM koan_journal GROUP BY 1")
	err = j.each(ctx, q, func(rows *sql.Rows) error {
		var used Excess
		if err := rows.Scan(&used.Subject, &used.Bytes); err != nil {
			return err
		}
		out = append(out, used)
		return nil
	})
	return aboveShare(out, most), err
}

// aboveShare reduces what callers use to what is above their shares of so many bytes.
func aboveShare(used []Excess, most int64) []Excess {
	slices.SortFunc(used, func(a, b Excess) int { return cmp.Compare(a.Bytes, b.Bytes) })
	for i := range used {
		share := max(most, 0) / int64(len(used)-i)
		if used[i].Bytes <= share {
			most -= used[i].Bytes
			continue
		}
		above := used[i:]
		for k := range above {
			above[k].Bytes -= share
		}
		return above
	}
	return nil
}

// Expire removes at most so many of the oldest runs, of those before an id. It returns
// how many.
func (j *Journal) Expire(ctx context.Context, before string, most int) (runs int, err error) {
	q := j.statement("SELECT id, " + rowSize + " FROM koan_journal WHERE id < ").Arg(before).Raw(" ORDER BY id LIMIT ").Arg(most)
	runs, _, err = j.remove(ctx, q, nil, most)
	return runs, err
}

// Prune removes at most so many of a caller's oldest runs, as many as it takes to free
// so many bytes. It returns how many, and how much they took.
func (j *Journal) Prune(ctx context.Context, subject string, free int64, most int) (runs int, bytes int64, err error) {
	q := j.statement("SELECT id, " + rowSize + " FROM koan_journal WHERE " + bySubject + " = ").Arg(subject).Raw(" ORDER BY id LIMIT ").Arg(most)
	return j.remove(ctx, q, func(removed int64) bool { return removed < free }, most)
}

// remove removes the runs that a query names with their sizes, while more of them are
// to go: nil is all.
func (j *Journal) remove(ctx context.Context, q *sqltext.Builder, more func(removed int64) bool, most int) (runs int, bytes int64, err error) {
	var ids []any
	err = j.each(ctx, q, func(rows *sql.Rows) error {
		var id string
		var size int64
		if err := rows.Scan(&id, &size); err != nil {
			return err
		}
		if more == nil || more(bytes) {
			ids, bytes = append(ids, id), bytes+size
		}
		return nil
	})
	if err != nil || len(ids) == 0 {
		return 0, 0, err
	}
	err = j.durably(ctx, func(tx *sql.Tx) error {
		n, err := exec(ctx, tx, j.statement("DELETE FROM koan_journal WHERE id IN (").List(ids).Raw(")"))
		if err != nil || int(n) != len(ids) {
			return errors.Join(err, errRaced(len(ids)-int(n)))
		}
		return j.count(ctx, tx, gone, -len(ids), -bytes)
	})
	if errors.As(err, new(errRaced)) { // another process prunes, too
		return most, 0, nil
	}
	return len(ids), bytes, err
}

// errRaced ends a transaction that found fewer rows than it had seen.
type errRaced int

func (e errRaced) Error() string { return fmt.Sprintf("%d rows are gone already", int(e)) }
