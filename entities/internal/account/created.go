package account

import (
	"fmt"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/database"
)

// A row that the transaction inserted is not read again at its end if nothing else was done in it, neither
// before nor after. That saves the statement and, on PostgreSQL, the conflict with all others that insert
// rows: who reads through an index page is in the way of all who write to it. A run that does more has
// read anyway, and would hold what it inserts twice.

// created are rows as the statement that inserted them gave them back.
type created struct {
	rows map[changes.Row]HeldRow
	at   int // the number of statements behind it
}

// HeldAsReturned returns what an INSERT into the table of a kind is to give back for KnowCreated, nil for
// nothing: the columns as they are held, and whether the table has a trigger or a rule, which may change
// the row after that. Those of a partitioned table stand at it or at the partition.
func (t *History) HeldAsReturned(k *model.Kind) (out []string) {
	info := t.tables[k]
	if n, counted := t.statements(); !counted || n > 0 || info == nil || !t.keepsPast() {
		return nil
	}
	for _, c := range info.Columns {
		b := t.Statement()
		t.holding(b, c)
		out = append(out, string(b.Text()))
	}
	b := t.Statement()
	b.Raw("EXISTS (SELECT 1 FROM pg_class WHERE (pg_class.oid = ").Name(k.Entity.Table).Raw(".tableoid OR pg_class.oid IN (SELECT pg_partition_ancestors(").Name(k.Entity.Table).
		Raw(".tableoid))) AND (relhasrules OR EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = pg_class.oid AND NOT tgisinternal)))")
	return append(out, string(b.Text()))
}

// KnowCreated keeps what an INSERT gave back of a row, nil for nothing.
func (t *History) KnowCreated(k *model.Kind, id any, held []any) error {
	now, counted := t.statements()
	if len(held) == 0 || !counted {
		return nil
	}
	if t.created.at != now {
		t.created = created{map[changes.Row]HeldRow{}, now}
	}
	values, triggered := held[:len(held)-1], held[len(held)-1]
	if triggered != false {
		return nil
	}
	row, size, err := t.heldRow(k, values)
	if err == nil && t.Attempt.HoldImage(size) {
		t.created.rows[changes.RowOf(k, id)] = row
	}
	return err
}

// asCreated returns the rows that are as they were inserted, since nothing was done after that.
func (t *History) asCreated() map[changes.Row]HeldRow {
	if now, counted := t.statements(); counted && t.created.at == now {
		return t.created.rows
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

// heldRow makes a row of its columns as they were read, and counts its bytes.
func (t *History) heldRow(k *model.Kind, values []any) (row HeldRow, size int, err error) {
	row, size = make(HeldRow, len(values)), beforeBytes
	for i, v := range values {
		if row[i], err = Hold(v); err != nil {
			return nil, 0, fmt.Errorf("%s of %s: %w", t.tables[k].Columns[i], k.Name(), err)
		}
		if row[i] != nil {
			size += len(*row[i]) + 16
		}
	}
	return row, size, nil
}
