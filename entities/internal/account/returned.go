package account

import (
	"fmt"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/database"
)

// Rows are not read for the history where the statement that writes them gives them back: what an UPDATE
// found, and what a row is at the end of the transaction if nothing else was done in it, neither before nor
// after. That saves statements and, on PostgreSQL, the conflict with all others that write rows: who reads
// through an index page is in the way of all who write to it. A run that does more has read anyway, and
// would hold what it writes twice.

// returned are rows as the statement that wrote them gave them back.
type returned struct {
	rows map[changes.Row]HeldRow
	at   int // the number of statements behind it
	held int // bytes that are counted for them
}

// HeldAsReturned returns what a statement that writes to the table of a kind is to give back for KnowReturned,
// nil for nothing: the columns as they are held, and whether the table has a trigger or a rule, which may
// change the row after that. Those of a partitioned table stand at it or at the partition.
func (t *History) HeldAsReturned(k *model.Kind) []string {
	if n, counted := t.statements(); !counted || n > 0 || t.tables[k] == nil || !t.keepsPast() {
		return nil
	}
	b := t.Statement()
	b.Raw("EXISTS (SELECT 1 FROM pg_class WHERE (pg_class.oid = ").Name(k.Entity.Table).Raw(".tableoid OR pg_class.oid IN (SELECT pg_partition_ancestors(").Name(k.Entity.Table).
		Raw(".tableoid))) AND (relhasrules OR EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = pg_class.oid AND NOT tgisinternal)))")
	return append(t.heldColumns(k), string(b.Text()))
}

// heldColumns returns expressions that give the columns of a table as they are held.
func (t *History) heldColumns(k *model.Kind) (out []string) {
	for _, c := range t.tables[k].Columns {
		b := t.Statement()
		holding(b, c)
		out = append(out, string(b.Text()))
	}
	return out
}

// FoundAsReturned returns what an UPDATE of one row is to give back of what it found, for KnowFound; nil where
// the row has to be read before: by a database that gives back only what it wrote, where the transaction
// knows the row, or where nobody may write it before its size is known.
func (t *History) FoundAsReturned(k *model.Kind, id any) []string {
	info := t.tables[k]
	if _, counted := t.statements(); !counted || info == nil || t.Attempt.Records() || !t.keepsPast() || info.asksSize(t.Attempt) {
		return nil
	}
	if t.Rows[changes.RowOf(k, id)] != nil || t.log.CreatedHere(k, id) {
		return nil
	}
	return t.heldColumns(k)
}

// KnowFound keeps what an UPDATE gave back of the row that it found.
func (t *History) KnowFound(k *model.Kind, id any, found []any) error {
	row, err := t.heldRow(k, found)
	if err == nil && t.Attempt.HoldImage(pastBytes+SizeOfRow(row)) {
		_, err = t.add(k, id, row)
	}
	return err
}

// KnowReturned keeps what a statement gave back of a row that it wrote, nil for nothing.
func (t *History) KnowReturned(k *model.Kind, id any, held []any) error {
	now, counted := t.statements()
	if len(held) == 0 || !counted {
		return nil
	}
	if t.returned.at != now {
		t.Attempt.HoldImage(-t.returned.held)
		t.returned = returned{rows: map[changes.Row]HeldRow{}, at: now}
	}
	values, triggered := held[:len(held)-1], held[len(held)-1]
	if triggered != false {
		return nil
	}
	row, err := t.heldRow(k, values)
	if size := pastBytes + SizeOfRow(row); err == nil && t.Attempt.HoldImage(size) {
		t.returned.rows[changes.RowOf(k, id)] = row
		t.returned.held += size
	}
	return err
}

// asReturned returns the rows that are as they were written, since nothing was done after that.
func (t *History) asReturned() map[changes.Row]HeldRow {
	if now, counted := t.statements(); counted && t.returned.at == now {
		return t.returned.rows
	}
	return nil
}

// statements returns how many statements the transaction has made, if the backend counts them.
func (t *History) statements() (int, bool) {
	c, ok := t.SQL.(database.Counter)
	if !ok {
		return 0, false
	}
	return c.Statements()
}

// heldRow makes a row of its columns as they were read.
func (t *History) heldRow(k *model.Kind, values []any) (row HeldRow, err error) {
	row = make(HeldRow, len(values))
	for i, v := range values {
		if row[i], err = Hold(v); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", t.tables[k].Columns[i], k.Name(), err)
		}
	}
	return row, nil
}
