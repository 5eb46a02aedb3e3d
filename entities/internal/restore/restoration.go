package restore

import (
	"context"
	"slices"
	"strconv"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/undo"
)

// restoration restores one row.
type restoration struct {
	*row
	links *links
}

func (u *Undo) restorationOf(of *undo.Row, all *undo.Restoration) (*restoration, error) {
	x := &row{undo: u, of: of, all: all}
	if err := x.find(); err != nil {
		return nil, err
	}
	return &restoration{x, linksOf(x)}, nil
}

func (x *restoration) restore(ctx context.Context) error {
	linked := x.of.Action() != string(store.Update) || len(x.links.changed) > 0
	if err := x.undo.Past.Keep(ctx, x.k, []any{x.id}, linked); err != nil {
		return err
	}
	past := x.undo.Past.Rows[changes.RowOf(x.k, x.id)]
	if past == nil { // no room for it, which the caller of this reports
		return nil
	}
	found, err := x.undo.Past.Row(past)
	if err != nil {
		return err
	}
	x.found = found
	now, err := x.now(ctx)
	if err != nil {
		return err
	}
	switch x.of.Action() {
	case string(store.Create):
		return x.remove(ctx, found, now)
	case string(store.Delete):
		return x.create(ctx, found, now)
	}
	return x.change(ctx, found, now)
}

// now reads the row as it is held, nil where there is none.
func (x *row) now(ctx context.Context) (account.HeldRow, error) {
	return x.undo.Past.HeldRow(ctx, x.k, x.id)
}

// remove deletes a row that the run created.
func (x *restoration) remove(ctx context.Context, found, now account.HeldRow) error {
	if gone, err := x.isGone(ctx, found, now); err != nil || gone {
		x.failGone()
		return err
	}
	for _, column := range x.changedSince(found, x.After) {
		if !x.hides(column) {
			x.fail(x.field(column), changedSince)
		}
	}
	if err := x.links.check(ctx, true); err != nil || len(x.places) > 0 {
		return err
	}
	if now == nil { // it went with another one
		return nil
	}
	if err := x.checkReferrers(ctx); err != nil || len(x.places) > 0 {
		return err
	}
	if _, err := x.undo.host.Remove(ctx, x.k, x.id); err != nil {
		return x.refused(err)
	}
	if err := x.undo.keep(x.row, nil); err != nil {
		return err
	}
	there, err := x.undo.Exists(ctx, x.k, x.id)
	if err != nil || !there {
		return err
	}
	// A hook has kept it.
	_, err = x.undo.Writer.DeleteMany(ctx, x.undo.SQL, x.k.Entity, x.k.BoundIDs([]any{x.id}))
	if err != nil {
		return x.refused(x.undo.host.DeleteFault(ctx, x.k, x.id, err))
	}
	x.undo.logWrite(x.k, x.id, store.Delete)
	return nil
}

// create stores a row again that the run deleted.
func (x *restoration) create(ctx context.Context, found, now account.HeldRow) error {
	if found != nil {
		x.fail("", "there is a row with this id again")
		return nil
	}
	if err := x.mayRecreate(ctx); err != nil {
		return err
	}
	wanted := make(account.HeldRow, len(x.table.Columns))
	for i, column := range x.table.Columns {
		wanted[i] = x.Before[column]
		if x.isVersion(column) {
			wanted[i] = counted(wanted[i])
		}
	}
	waiting, err := x.checkParents(ctx, wanted)
	if err != nil || len(x.places) > 0 {
		return err
	}
	if now == nil {
		if err := (&builder{x.row, x.links}).build(ctx, now, wanted); err != nil {
			return x.refused(err)
		}
	}
	if err := x.settle(ctx, wanted); err != nil {
		return err
	}
	if err := x.undo.keep(x.row, wanted); err != nil {
		return err
	}
	for _, column := range waiting {
		x.of.Waiting = append(x.of.Waiting, x.place(x.field(column), "what it refers to is not there any more"))
	}
	return x.links.restore(ctx)
}

// change restores the values of a row that the run updated.
func (x *restoration) change(ctx context.Context, found, now account.HeldRow) error {
	if gone, err := x.isGone(ctx, found, now); err != nil || gone || now == nil {
		x.failGone()
		return err
	}
	x.of.Unread = x.hidesAny()
	var left []undo.Place
	skipped := map[string]bool{}
	for _, column := range x.changedSince(found, x.After) {
		if skipped[column] = true; !x.hides(column) {
			left = append(left, x.place(x.field(column), changedSince))
		}
	}
	if len(left) > 0 && !x.all.Skip {
		x.places = left
		return nil
	}
	if err := x.links.check(ctx, false); err != nil || len(x.places) > 0 {
		return err
	}
	wanted, changed := slices.Clone(found), map[string]account.Held{}
	for i, column := range x.table.Columns {
		v, ok := x.Before[column]
		switch {
		case x.isVersion(column):
			wanted[i] = counted(wanted[i])
		case ok && x.isStamp(column) && !account.SameHeld(x.After[column], found[i]): // of a later update
		case ok && !skipped[column] && !(x.hides(column) && !x.undo.caller.WritesColumn(x.k, column)):
			wanted[i], changed[column] = v, v
		}
	}
	waiting, err := x.checkParents(ctx, wanted)
	if err != nil || len(x.places) > 0 {
		return err
	}
	x.of.Left = append(left, x.of.Left...)
	if len(changed) == 0 && len(x.links.changed) == 0 && !x.of.Unread {
		return nil
	}
	if err := x.mayWrite(changed, found); err != nil {
		return err
	}
	if !x.of.Restored {
		if err := (&uniqueKeys{x.row}).free(ctx, now, wanted); err != nil || len(x.places) > 0 {
			return err
		}
		if err := x.undo.RecordRows(ctx, x.k, []any{x.id}); err != nil {
			return err
		}
		if err := (&builder{x.row, x.links}).build(ctx, now, wanted); err != nil {
			return x.refused(err)
		}
		if x.of.Unread { // whether anything of it changes is not for the caller
			if err := x.logUpdate(); err != nil {
				return err
			}
		}
	}
	if err := x.settle(ctx, wanted); err != nil {
		return err
	}
	if err := x.undo.keep(x.row, wanted); err != nil {
		return err
	}
	for _, column := range waiting {
		x.of.Waiting = append(x.of.Waiting, x.place(x.field(column), "what it referred to is not there any more"))
	}
	return x.links.restore(ctx)
}

// counted is the version after one.
func counted(v account.Held) account.Held {
	if v == nil {
		return nil
	}
	n, err := strconv.ParseInt((*v)[1:], 10, 64)
	if err != nil {
		return v
	}
	s := (*v)[:1] + strconv.FormatInt(n+1, 10)
	return &s
}

// settle writes the wanted values to the row where it still differs from them: hooks may have changed it,
// and some values cannot be written by ent's builders.
func (x *row) settle(ctx context.Context, wanted account.HeldRow) error {
	now, err := x.now(ctx)
	if err != nil {
		return err
	}
	if now == nil {
		x.fail("", "a rule of the app kept it from being stored")
		return undo.Conflict(x.places)
	}
	b := x.undo.Statement()
	b.Raw("UPDATE ").Name(x.k.Entity.Table).Raw(" SET ")
	n := 0
	for i, column := range x.table.Columns {
		if account.SameHeld(now[i], wanted[i]) || x.isComputed(column) {
			continue
		}
		if n++; n > 1 {
			b.Raw(", ")
		}
		v, err := account.Bound(wanted[i])
		if err != nil {
			return err
		}
		b.Name(column).Raw(" = ")
		b.Arg(v)
	}
	if n == 0 {
		return nil
	}
	b.Raw(" WHERE ")
	filter.OwnKeyIs(b, &x.k.Entity.Key, x.k.BoundID(x.id))
	if _, err := x.undo.SQL.ExecContext(ctx, string(b.Text()), b.Args()...); err != nil {
		return x.refused(x.undo.host.WriteFault(ctx, x.k, x.values(), err))
	}
	return x.logUpdate()
}
