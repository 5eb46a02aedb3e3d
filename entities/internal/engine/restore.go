package engine

import (
	"context"
	"slices"
	"strconv"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/undo"
)

// restoration restores one row: through ent's builders, so that hooks, policies and recorded
// changes are those of any write, and then to the last bit, whatever hooks have added.
type restoration struct {
	*Engine
	t    *tx
	k    *model.Kind
	info *account.Table
	id   any
	row  *undo.Row
	all  *undo.Restoration
	account.RowState
	places []undo.Place // why the row cannot be restored
}

// restore restores rows in place of the operation that the call names.
func (e *Engine) restore(ctx context.Context, t *tx, all *undo.Restoration) error {
	ctx = undo.With(ctx, nil) // hooks make calls of their own
	var places []undo.Place
	for _, row := range all.Rows {
		row.Left, row.Waiting = nil, nil
		x, err := e.restorationOf(t, row, all)
		if err == nil && len(x.places) == 0 {
			err = x.disclosePlaces(x.restoreLastly(ctx))
		}
		if err != nil {
			return err
		}
		places = append(places, x.places...)
	}
	if len(places) > 0 {
		return undo.Conflict(places)
	}
	if !t.Attempt.KeepsImages() {
		return fault.New(fault.MemoryExceeded, "the undo would have to hold more of the rows than a run may").
			WithHint("Raise run.maxBytes: a third of it is for that.")
	}
	for _, row := range all.Rows {
		row.Restored = true
	}
	return nil
}

func (e *Engine) restorationOf(t *tx, row *undo.Row, all *undo.Restoration) (*restoration, error) {
	x := &restoration{Engine: e, t: t, k: e.ByName[row.Entity], row: row, all: all}
	if x.k != nil {
		x.info = e.tables[x.k]
	}
	if x.info == nil {
		x.fail("", "the app has no table of this entity any more")
		return x, nil
	}
	var err error
	if x.id, err = x.k.ParseID(row.ID); err != nil {
		x.fail("", "the entity's ids have another form now")
		return x, nil
	}
	if x.RowState, err = account.JoinStates(row.Images); err != nil {
		return nil, err
	}
	for _, part := range []map[string]account.Held{x.Before, x.After} {
		for column := range part {
			if !slices.Contains(x.info.Columns, column) {
				x.fail("", "the entity has no column "+strconv.Quote(column)+" any more")
				return x, nil
			}
		}
	}
	return x, nil
}

// fail notes why the row cannot be restored.
func (x *restoration) fail(field, message string) {
	x.places = append(x.places, x.place(field, message))
}

func (x *restoration) place(field, message string) undo.Place {
	if x.k != nil && x.isBlind() {
		return undo.Place{Set: x.row.Set, Message: message}
	}
	return undo.Place{Entity: x.row.Entity, Set: x.row.Set, ID: x.row.ID, Field: field, Message: message}
}

// field is the name of a column as the caller knows it, "" where he does not.
func (x *restoration) field(column string) string {
	if seen := x.t.caller.Of(x.k); seen != nil {
		return seen.ColumnField(column)
	}
	return ""
}

func (x *restoration) restore(ctx context.Context) error {
	t := x.t
	linked := x.row.Action() != string(store.Update) || len(x.links()) > 0
	if err := t.Past.Keep(ctx, x.k, []any{x.id}, linked); err != nil {
		return err
	}
	found := t.Past.Rows[changes.RowOf(x.k, x.id)]
	if found == nil { // no room for it, which the caller of this reports
		return nil
	}
	now, err := x.now(ctx)
	if err != nil {
		return err
	}
	switch x.row.Action() {
	case string(store.Create):
		return x.remove(ctx, found, now)
	case string(store.Delete):
		return x.create(ctx, found, now)
	}
	return x.change(ctx, found, now)
}

// restoreLastly restores the row, and once more the rows restored before that hooks have written
// to meanwhile.
func (x *restoration) restoreLastly(ctx context.Context) error {
	mark := x.t.Log.Len()
	if err := x.restore(ctx); err != nil || len(x.places) > 0 {
		return err
	}
	own := changes.RowOf(x.k, x.id)
	again := map[changes.Row]*restored{}
	for _, w := range x.t.Log.Since(mark) {
		at := changes.RowOf(w.Kind, w.ID)
		if r := x.t.restored[at]; r != nil && at != own && !w.Void {
			again[at] = r
		}
	}
	for _, r := range again {
		if err := r.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

// restored is a row that was restored, and what it has to be in the end; nil is gone.
type restored struct {
	*restoration
	wanted account.HeldRow
}

// keepRestored notes what the row has to be in the end.
func (x *restoration) keepRestored(wanted account.HeldRow) {
	if x.t.restored == nil {
		x.t.restored = map[changes.Row]*restored{}
	}
	x.t.restored[changes.RowOf(x.k, x.id)] = &restored{x, wanted}
	x.t.Weighing.Excuse(x.k, x.id)
}

// settle undoes what hooks have done to the row since it was restored.
func (r *restored) settle(ctx context.Context) error {
	if r.wanted != nil {
		return r.restoration.settle(ctx, r.wanted)
	}
	there, err := r.t.Exists(ctx, r.k, r.id)
	if err != nil || !there {
		return err
	}
	_, err = r.t.Writer.DeleteMany(ctx, r.t.SQL, r.k.Entity, r.k.BoundIDs([]any{r.id}))
	return err
}

// now reads the row as it is held, nil where there is none.
func (x *restoration) now(ctx context.Context) (account.HeldRow, error) {
	return x.t.Past.HeldRow(ctx, x.k, x.id)
}

// remove deletes a row that the run created.
func (x *restoration) remove(ctx context.Context, found *account.Past, now account.HeldRow) error {
	if gone, err := x.isGone(ctx, found, now); err != nil || gone {
		x.failGone()
		return err
	}
	for _, column := range x.changedSince(found.Row, x.After) {
		if !x.hides(column) {
			x.fail(x.field(column), changedSince)
		}
	}
	if err := x.checkLinks(ctx, found, true); err != nil || len(x.places) > 0 {
		return err
	}
	if now == nil { // it went with another one
		return nil
	}
	if err := x.checkReferrers(ctx); err != nil || len(x.places) > 0 {
		return err
	}
	if _, err := x.Engine.remove(ctx, x.t, x.k, x.id); err != nil {
		return x.refused(err)
	}
	x.keepRestored(nil)
	there, err := x.t.Exists(ctx, x.k, x.id)
	if err != nil || !there {
		return err
	}
	// A hook has kept it.
	_, err = x.t.Writer.DeleteMany(ctx, x.t.SQL, x.k.Entity, x.k.BoundIDs([]any{x.id}))
	if err != nil {
		return x.refused(x.deleteFault(ctx, x.t, x.k, x.id, err))
	}
	x.t.Log.Begin(changes.Write{Kind: x.k, ID: x.id, Action: store.Delete})
	return nil
}

// create stores a row again that the run deleted.
func (x *restoration) create(ctx context.Context, found *account.Past, now account.HeldRow) error {
	if found.Row != nil {
		x.fail("", "there is a row with this id again")
		return nil
	}
	if err := x.mayRecreate(ctx); err != nil {
		return err
	}
	wanted := make(account.HeldRow, len(x.info.Columns))
	for i, column := range x.info.Columns {
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
		if err := x.build(ctx, now, wanted); err != nil {
			return x.refused(err)
		}
	}
	if err := x.settle(ctx, wanted); err != nil {
		return err
	}
	x.keepRestored(wanted)
	for _, column := range waiting {
		x.row.Waiting = append(x.row.Waiting, x.place(x.field(column), "what it refers to is not there any more"))
	}
	return x.restoreLinks(ctx)
}

// change restores the values of a row that the run updated.
func (x *restoration) change(ctx context.Context, found *account.Past, now account.HeldRow) error {
	if gone, err := x.isGone(ctx, found, now); err != nil || gone || now == nil {
		x.failGone()
		return err
	}
	x.row.Unread = x.hidesAny()
	var left []undo.Place
	skipped := map[string]bool{}
	for _, column := range x.changedSince(found.Row, x.After) {
		if skipped[column] = true; !x.hides(column) {
			left = append(left, x.place(x.field(column), changedSince))
		}
	}
	if len(left) > 0 && !x.all.Skip {
		x.places = left
		return nil
	}
	if err := x.checkLinks(ctx, found, false); err != nil || len(x.places) > 0 {
		return err
	}
	wanted, changed := slices.Clone(found.Row), map[string]account.Held{}
	for i, column := range x.info.Columns {
		v, ok := x.Before[column]
		switch {
		case x.isVersion(column):
			wanted[i] = counted(wanted[i])
		case ok && x.isStamp(column) && !account.SameHeld(x.After[column], found.Row[i]): // of a later update
		case ok && !skipped[column] && !(x.hides(column) && !x.t.caller.WritesColumn(x.k, column)):
			wanted[i], changed[column] = v, v
		}
	}
	waiting, err := x.checkParents(ctx, wanted)
	if err != nil || len(x.places) > 0 {
		return err
	}
	x.row.Left = append(left, x.row.Left...)
	if len(changed) == 0 && len(x.links()) == 0 && !x.row.Unread {
		return nil
	}
	if err := x.mayWrite(changed, found.Row); err != nil {
		return err
	}
	if !x.row.Restored {
		if err := x.freeUnique(ctx, now, wanted); err != nil || len(x.places) > 0 {
			return err
		}
		if x.row.Unread { // whether anything of it changes is not for the caller
			if _, err := x.t.Expect(ctx, x.k, []any{x.id}, store.Update); err != nil {
				return err
			}
		}
		if err := x.build(ctx, now, wanted); err != nil {
			return x.refused(err)
		}
	}
	if err := x.settle(ctx, wanted); err != nil {
		return err
	}
	x.keepRestored(wanted)
	for _, column := range waiting {
		x.row.Waiting = append(x.row.Waiting, x.place(x.field(column), "what it referred to is not there any more"))
	}
	return x.restoreLinks(ctx)
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

// settle gives the row what is wanted, to the last bit: what hooks have added, and what the
// builders cannot write. Then it does the same for rows restored before that hooks of this one
// have changed again.
func (x *restoration) settle(ctx context.Context, wanted account.HeldRow) error {
	now, err := x.now(ctx)
	if err != nil {
		return err
	}
	if now == nil {
		x.fail("", "a rule of the app kept it from being stored")
		return undo.Conflict(x.places)
	}
	b := x.t.Statement()
	b.Raw("UPDATE ").Name(x.k.Entity.Table).Raw(" SET ")
	n := 0
	for i, column := range x.info.Columns {
		if account.SameHeld(now[i], wanted[i]) {
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
	b.Raw(" WHERE ").Name(x.k.Entity.Key.Name).Raw(" = ").Arg(x.k.BoundID(x.id))
	if _, err := x.t.SQL.ExecContext(ctx, string(b.Text()), b.Args()...); err != nil {
		return x.refused(x.writeFault(ctx, x.t, x.k, x.values(), err))
	}
	x.t.Touched = true
	x.t.Log.Begin(changes.Write{Kind: x.k, ID: x.id, Action: store.Update})
	return nil
}

// values names the row's fields for faults about a statement.
func (x *restoration) values() *model.Values {
	m := &model.Values{ID: x.id, Shown: x.row.ID, At: ""}
	for i := range x.k.Entity.Columns {
		c := &x.k.Entity.Columns[i]
		if f := x.k.FieldNamed(c.Field); f != nil {
			if _, ok := x.Before[c.Name]; ok {
				m.Fields = append(m.Fields, model.FieldValue{Column: c, Field: f})
			}
		}
	}
	return m
}
