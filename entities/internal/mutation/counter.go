package mutation

import (
	"context"
	"math"
	"strconv"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// Counter is what the database counts ids on from.
type Counter struct {
	*transaction.Tx
	past map[*model.Kind]int64 // the largest chosen ids
}

// countsIDs reports whether the database counts the ids of new rows, and callers may choose others.
func countsIDs(k *model.Kind) bool {
	return k.Entity != nil && k.SettableID && k.Entity.Key.Storage == descriptor.Int && k.Entity.Resource.Key.Generated
}

// number returns an id that the database could have counted to; ok is false for any other.
func number(k *model.Kind, id any) (n int64, ok bool) {
	n, err := strconv.ParseInt(k.FormatID(id), 10, 64)
	return n, err == nil
}

// CountPast has the database count on from an id that was chosen for a new row. SQLite does by
// itself once the row is there.
func (t *Counter) CountPast(ctx context.Context, k *model.Kind, id any) error {
	if id == nil || !countsIDs(k) || t.Backend.Dialect().Name() == dialect.SQLite {
		return nil
	}
	return t.moveCounter(ctx, k, id)
}

func (t *Counter) moveCounter(ctx context.Context, k *model.Kind, id any) error {
	n, ok := number(k, id)
	if past, known := t.past[k]; !ok || n > sqltext.MaxCounted || known && n <= past {
		return nil
	}
	b := t.Statement()
	b.Dialect.CountPast(b, k.Entity.Table, k.Entity.Key.Name, n)
	if _, err := t.SQL.ExecContext(ctx, string(b.Text()), b.Args()...); err != nil {
		return t.Verdict(err)
	}
	if t.Backend.Dialect().Name() == dialect.SQLite { // where it is rolled back with the rows
		return nil
	}
	if t.past == nil {
		t.past = map[*model.Kind]int64{}
	}
	t.past[k] = n
	return nil
}

// CountPastAll does so for the models of one call before any is stored: a row without an id must not
// be given one that a model behind it has chosen, which would then change that row.
func (t *Counter) CountPastAll(ctx context.Context, k *model.Kind, models []*model.Values) error {
	if !countsIDs(k) {
		return nil
	}
	var last any
	chosen, free := int64(math.MinInt64), false
	for _, m := range models {
		free = free || m.ID == nil
		if m.ID == nil {
			continue
		}
		if n, ok := number(k, m.ID); ok && n > chosen && n <= sqltext.MaxCounted {
			chosen, last = n, m.ID
		}
	}
	if last == nil || !free && t.Backend.Dialect().Name() == dialect.SQLite {
		return nil
	}
	if t.Backend.Dialect().Name() == dialect.SQLite && !CountsByTable(ctx, t.Tx) {
		return nil
	}
	return t.moveCounter(ctx, k, last)
}

// CountsByTable reports whether a SQLite database has the table of counters, which comes with the first
// AUTOINCREMENT.
func CountsByTable(ctx context.Context, t *transaction.Tx) bool {
	ok, err := t.HasRow(ctx, "SELECT 1 FROM sqlite_master WHERE name='sqlite_sequence'")
	return err == nil && ok
}
