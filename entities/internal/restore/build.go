package restore

import (
	"context"
	"fmt"
	"slices"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/run/store"
)

// builder writes a row through ent's builder.
type builder struct {
	*row
	links *links
}

// build writes the row through ent's builder, so that the app's hooks and policies see what is
// going to be there. What a builder cannot express is left to settle.
func (x *builder) build(ctx context.Context, now, wanted account.HeldRow) error {
	creating := x.of.Action() == string(store.Delete)
	var w shim.Write
	if creating {
		w = x.k.Create(x.undo.Ent)
		if x.k.Restores() {
			if err := x.k.SetID(w.Mutation, x.id); err != nil {
				return err
			}
		}
	} else {
		w = x.k.Update(x.undo.Ent, x.id)
	}
	says := false
	for i, column := range x.table.Columns {
		switch {
		case column == x.k.Entity.Key.Name, creating && wanted[i] == nil:
			continue
		case creating && !x.k.Restores() && x.refersToItself(column, wanted[i]):
			continue // its id is another one until the end; settle sets the column then
		case !creating && (x.isVersion(column) || account.SameHeld(wanted[i], x.found[i])):
			continue
		case now != nil && account.SameHeld(wanted[i], now[i]): // another row's restoration has brought it along
			continue
		}
		if err := x.set(w, column, wanted[i]); err == nil {
			says = true
		}
	}
	linked, err := x.links.build(ctx, w, creating)
	if err != nil {
		return err
	}
	if !says && !linked && !creating && !x.of.Unread { // columns that no builder knows
		_, err := x.undo.Expect(ctx, x.k, []any{x.id}, store.Update)
		return err
	}
	x.undo.host.KeepChosen(x.k, w.Mutation)
	mark := x.undo.Log.Len()
	id, err := w.Save(ctx)
	if err != nil {
		return x.undo.host.WriteFault(ctx, x.k, x.values(), err)
	}
	if !creating || id == x.id {
		return nil
	}
	return x.renumber(ctx, id, mark)
}

// refersToItself reports whether a column has the row's own id, as a reference.
func (x *builder) refersToItself(column string, v account.Held) bool {
	if v == nil || account.Referred(x.undo.Model, x.k, column) != x.k {
		return false
	}
	id, err := x.k.ParseID((*v)[1:])
	return err == nil && id == x.id
}

// renumber sets the id of a row, for which the database has made another one, to what it was.
func (x *builder) renumber(ctx context.Context, made any, mark int) error {
	b := x.undo.Statement()
	b.Raw("UPDATE ").Name(x.k.Entity.Table).Raw(" SET ").Name(x.k.Entity.Key.Name).Raw(" = ").Arg(x.k.BoundID(x.id))
	b.Raw(" WHERE ")
	filter.OwnKeyIs(b, &x.k.Entity.Key, x.k.BoundID(made))
	if _, err := x.undo.SQL.ExecContext(ctx, string(b.Text()), b.Args()...); err != nil {
		return x.undo.host.WriteFault(ctx, x.k, x.values(), err)
	}
	writes := x.undo.Log.Since(mark)
	for i := range writes {
		if writes[i].Kind == x.k && writes[i].ID == made {
			writes[i].ID = x.id
		}
	}
	if x.undo.Attempt.Records() {
		return x.undo.RecordBefore(ctx, x.k, x.id, false, nil)
	}
	return nil
}

// set sets a column in a builder, by its field or by the edge whose key it is.
func (x *builder) set(w shim.Write, column string, v account.Held) error {
	for i := range x.k.Edges {
		e := &x.k.Edges[i]
		if e.Column.OwnKey != column || e.JSON.Reference != "" {
			continue
		}
		if v == nil {
			return x.k.Edge(w.Mutation, e.Column.Ent, shim.Clear, nil)
		}
		id, err := e.Target.ParseID((*v)[1:])
		if err != nil {
			return err
		}
		return x.k.Edge(w.Mutation, e.Column.Ent, shim.Link, []any{id})
	}
	i := slices.IndexFunc(x.k.Entity.Columns, func(c descriptor.Column) bool { return c.Name == column })
	if i < 0 {
		return fmt.Errorf("entities: no field has the column %s", column)
	}
	if v == nil {
		return w.Mutation.ClearField(column)
	}
	seen, err := seenOf(&x.k.Entity.Columns[i], v)
	if err != nil {
		return err
	}
	return x.k.Set(w.Mutation, column, seen)
}
