package restore

import (
	"context"
	"math"
	"slices"

	"entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/undo"
)

// occupied says why a row cannot have a unique value back.
const occupied = "another row that the run changed has this value now, and cannot be restored before this one"

// uniqueKeys are the unique values that a row is going to have.
type uniqueKeys struct{ *row }

// free frees them. A row that has one now and
// that this undo restores as well gets a temporary value until it is its turn: values that a run
// has exchanged have no order in which they can go back. A row that is left, which skip is for,
// would keep that value, so nothing is freed then.
func (x *uniqueKeys) free(ctx context.Context, now, wanted account.HeldRow) error {
	for _, key := range x.table.Unique {
		id, err := x.otherWith(ctx, key, now, wanted)
		if err != nil {
			return err
		}
		if id == nil {
			continue
		}
		did, restored := x.all.Fate(x.of.Set, x.k.Name(), x.k.FormatID(id))
		if restored || did != string(store.Update) {
			continue // the statement will say it
		}
		freed := false
		for i := 0; i < len(key) && !freed && !x.all.Skip; i++ {
			if freed, err = x.freeColumn(ctx, key[i], id); err != nil {
				return err
			}
		}
		if !freed {
			x.fail(x.field(key[0].Name), occupied)
		}
	}
	return nil
}

// otherWith returns the id of another row that has what the row is going to have in the columns
// of a key, nil for none.
func (x *uniqueKeys) otherWith(ctx context.Context, key []*schema.Column, now, wanted account.HeldRow) (any, error) {
	changes := false
	b := x.undo.Statement()
	b.Raw("SELECT ")
	filter.OwnKey(b, &x.k.Entity.Key)
	b.Raw(" FROM ").Name(x.k.Entity.Table).Raw(" WHERE ")
	for _, c := range key {
		i := slices.Index(x.table.Columns, c.Name)
		if i < 0 || wanted[i] == nil {
			return nil, nil
		}
		changes = changes || !account.SameHeld(now[i], wanted[i])
		v, err := account.Bound(wanted[i])
		if err != nil {
			return nil, err
		}
		if len(x.k.Entity.FoldedColumns([]string{c.Name})) > 0 {
			b.Raw(fold.Function + "(").Name(c.Name).Raw(") = " + fold.Function + "(").Arg(v).Raw(") AND ")
		} else {
			b.Name(c.Name).Raw(" = ").Arg(v).Raw(" AND ")
		}
	}
	b.Raw("NOT (")
	filter.OwnKeyIs(b, &x.k.Entity.Key, x.k.BoundID(x.id))
	b.Raw(")")
	if !changes {
		return nil, nil
	}
	ids, err := x.undo.IDs(ctx, x.k, b)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return ids[0], nil
}

// freeColumn sets a column of another row to a temporary value, so that this row can have its old one, and
// reports whether it did. It leaves columns alone whose type may have no value that is free. If a check of the
// database refuses the value, that is a conflict.
func (x *uniqueKeys) freeColumn(ctx context.Context, c *schema.Column, id any) (freed bool, err error) {
	var v any
	switch {
	case c.Nullable:
	case account.Referred(x.undo.Model, x.k, c.Name) != nil || len(c.SchemaType) > 0:
		return false, nil
	case c.Type == field.TypeUUID, c.Type == field.TypeString && (c.Size == 0 || c.Size >= 36):
		v = uuid.NewString()
	case c.Type.Integer():
		b := x.undo.Statement()
		b.Raw("SELECT MIN(").Name(c.Name).Raw(") FROM ").Name(x.k.Entity.Table)
		least, err := x.undo.Integer(ctx, b)
		if err != nil || least <= math.MinInt16 { // which is the least that some columns hold
			return false, err
		}
		v = least - 1
	default:
		return false, nil
	}
	if err := x.undo.Past.Keep(ctx, x.k, []any{id}, true); err != nil {
		return false, err
	}
	if _, err := x.undo.Expect(ctx, x.k, []any{id}, store.Update); err != nil {
		return false, err
	}
	b := x.undo.Statement()
	b.Raw("UPDATE ").Name(x.k.Entity.Table).Raw(" SET ").Name(c.Name).Raw(" = ").Arg(v)
	b.Raw(" WHERE ")
	filter.OwnKeyIs(b, &x.k.Entity.Key, x.k.BoundID(id))
	_, err = x.undo.SQL.ExecContext(ctx, string(b.Text()), b.Args()...)
	if err != nil && x.undo.Backend.Violation(err) != nil {
		x.fail(x.field(c.Name), occupied)
		return false, undo.Conflict(x.places)
	}
	return err == nil, err
}
