package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"github.com/koan-go/koan/entities/descriptor"
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
	info *table
	id   any
	row  *undo.Row
	all  *undo.Restoration
	rowState
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
			err = x.restoreLastly(ctx)
		}
		if err != nil {
			return err
		}
		places = append(places, x.places...)
	}
	if len(places) > 0 {
		return undo.Conflict(places)
	}
	if !t.attempt.KeepsImages() {
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
	if x.rowState, err = joinStates(row); err != nil {
		return nil, fault.New(fault.ServiceUnavailable, "the journal has the run in a form that cannot be read").Because(err)
	}
	for _, part := range []map[string]held{x.Before, x.After} {
		for column := range part {
			if !slices.Contains(x.info.columns, column) {
				x.fail("", "the entity has no column "+strconv.Quote(column)+" any more")
				return x, nil
			}
		}
	}
	return x, nil
}

// joinStates joins the images of a row into what it was before all of them and after.
func joinStates(row *undo.Row) (out rowState, err error) {
	for i := range row.Images {
		image := &row.Images[i]
		var s rowState
		for _, part := range []json.RawMessage{image.State, image.Secret} {
			var one rowState
			if part == nil {
				continue
			}
			if err := json.Unmarshal(part, &one); err != nil {
				return out, err
			}
			s.Before, s.After = merged(s.Before, one.Before), merged(s.After, one.After)
			s.Links = append(s.Links, one.Links...)
		}
		out.Before, out.After = merged(s.Before, out.Before), merged(out.After, s.After)
		out.Links = append(out.Links, s.Links...)
	}
	return out, nil
}

// merged adds columns to others, in whose place they come.
func merged(to, more map[string]held) map[string]held {
	if to == nil {
		to = make(map[string]held, len(more))
	}
	for column, v := range more {
		to[column] = v
	}
	return to
}

// fail notes why the row cannot be restored.
func (x *restoration) fail(field, message string) {
	x.places = append(x.places, x.place(field, message))
}

func (x *restoration) place(field, message string) undo.Place {
	return undo.Place{Entity: x.row.Entity, Set: x.row.Set, ID: x.row.ID, Field: field, Message: message}
}

// field is the name of a column as the caller knows it, "" where he does not.
func (x *restoration) field(column string) string {
	if seen := x.t.caller.of(x.k); seen != nil {
		return seen.ColumnField(column)
	}
	return ""
}

func (x *restoration) restore(ctx context.Context) error {
	t := x.t
	if err := t.keepPast(ctx, x.k, []any{x.id}, true); err != nil {
		return err
	}
	found := t.past.rows[changes.RowOf(x.k, x.id)]
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
	mark := x.t.log.Len()
	if err := x.restore(ctx); err != nil || len(x.places) > 0 {
		return err
	}
	own := changes.RowOf(x.k, x.id)
	again := map[changes.Row]*restored{}
	for _, w := range x.t.log.Since(mark) {
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
	wanted heldRow
}

// keepRestored notes what the row has to be in the end.
func (x *restoration) keepRestored(wanted heldRow) {
	if x.t.restored == nil {
		x.t.restored = map[changes.Row]*restored{}
	}
	x.t.restored[changes.RowOf(x.k, x.id)] = &restored{x, wanted}
}

// settle undoes what hooks have done to the row since it was restored.
func (r *restored) settle(ctx context.Context) error {
	if r.wanted != nil {
		return r.restoration.settle(ctx, r.wanted)
	}
	there, err := r.t.exists(ctx, r.k, r.id)
	if err != nil || !there {
		return err
	}
	_, err = r.writer.DeleteMany(ctx, r.t.sql, r.k.Entity, r.k.BoundIDs([]any{r.id}))
	return err
}

// now reads the row as it is held, nil where there is none.
func (x *restoration) now(ctx context.Context) (heldRow, error) {
	rows, err := x.t.heldRows(ctx, x.k, []any{x.id})
	if errors.Is(err, errNoImages) {
		return nil, nil
	}
	return rows[x.k.FormatID(x.id)], err
}

// isVersion reports whether a column counts changes: it counts on.
func (x *restoration) isVersion(column string) bool { return column == x.k.Entity.VersionColumn }

// isStamp reports whether a column has the time that ent's default made, as of the last update:
// that it is another one says no more than the other columns do.
func (x *restoration) isStamp(column string) bool {
	return slices.Contains(x.k.Generated, column) && slices.ContainsFunc(x.k.Entity.Columns, func(c descriptor.Column) bool {
		return c.Name == column && c.Storage == descriptor.Time
	})
}

// changedSince returns the columns, of some that a run has left with values, that have others
// in what the undo found.
func (x *restoration) changedSince(found heldRow, after map[string]held) (columns []string) {
	for i, column := range x.info.columns {
		if v, ok := after[column]; ok && !x.isVersion(column) && !x.isStamp(column) && !sameHeld(v, found[i]) {
			columns = append(columns, column)
		}
	}
	return columns
}

const changedSince = "it was changed since"

// remove deletes a row that the run created.
func (x *restoration) remove(ctx context.Context, found *past, now heldRow) error {
	if found.row == nil {
		x.fail("", "it was deleted since")
		return nil
	}
	for _, column := range x.changedSince(found.row, x.After) {
		x.fail(x.field(column), changedSince)
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
	if err := x.visible(ctx); err != nil {
		return err
	}
	if _, err := x.Engine.remove(ctx, x.t, x.k, x.id); err != nil {
		return x.refused(err)
	}
	x.keepRestored(nil)
	there, err := x.t.exists(ctx, x.k, x.id)
	if err != nil || !there {
		return err
	}
	// A hook has kept it.
	_, err = x.writer.DeleteMany(ctx, x.t.sql, x.k.Entity, x.k.BoundIDs([]any{x.id}))
	if err != nil {
		return x.refused(x.deleteFault(ctx, x.t, x.k, x.id, err))
	}
	x.t.log.Begin(changes.Write{Kind: x.k, ID: x.id, Action: store.Delete})
	return nil
}

// checkReferrers notes the rows that refer to the row, which is about to go, and that this undo
// does not make let go: those that come to that later are met in another round.
func (x *restoration) checkReferrers(ctx context.Context) error {
	for i := range x.k.Entity.Referrers {
		r := &x.k.Entity.Referrers[i]
		child := x.ByName[r.Entity]
		found, err := x.t.referringThrough(ctx, child, r, x.k.BoundIDs([]any{x.id}))
		if err != nil {
			return err
		}
		for _, id := range found {
			other := x.all.Row(x.row.Set, child.Name(), child.FormatID(id))
			if child == x.k && id == x.id || other != nil && other.Action() == string(store.Create) && (r.Cascade || r.SetNull) {
				continue
			}
			what := "another row"
			if x.t.caller.knows(child) {
				what = child.Name() + " " + strconv.Quote(child.FormatID(id))
			}
			x.fail("", what+" refers to it now")
			if len(x.places) >= fault.MaxFound {
				return nil
			}
		}
	}
	return nil
}

// visible refuses to change a row that the caller may not read.
func (x *restoration) visible(ctx context.Context) error {
	if x.t.caller.of(x.k) == nil {
		return nil // what rules of the app wrote
	}
	there, err := x.t.visible(ctx, x.k, x.id)
	if err == nil && !there {
		err = fault.New(fault.Forbidden, "it is not yours to see")
	}
	return err
}

// refused turns what keeps a row from being written into a conflict: the caller's input is not
// what is wrong.
func (x *restoration) refused(err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) || errors.Is(err, store.ErrStale) {
		return err
	}
	switch f.Code {
	case fault.Conflict, fault.InvalidPayload, fault.NotFound:
	default:
		return err
	}
	details, _ := f.Details.([]fault.Detail)
	if len(details) == 0 {
		details = []fault.Detail{{Path: f.Path, Message: f.Message}}
	}
	for _, d := range details {
		field := ""
		if steps := fault.Steps(d.Path); len(steps) > 0 {
			field = steps[len(steps)-1]
		}
		x.fail(field, d.Message)
	}
	return undo.Conflict(x.places)
}

// create stores a row again that the run deleted.
func (x *restoration) create(ctx context.Context, found *past, now heldRow) error {
	if found.row != nil {
		x.fail("", "there is a row with this id again")
		return nil
	}
	wanted := make(heldRow, len(x.info.columns))
	for i, column := range x.info.columns {
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
		if err := x.mayWrite(x.Before, nil); err != nil {
			return err
		}
		if err := x.build(ctx, wanted); err != nil {
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

// change gives a row that the run updated the values back that it had.
func (x *restoration) change(ctx context.Context, found *past, now heldRow) error {
	if found.row == nil || now == nil {
		x.fail("", "it was deleted since")
		return nil
	}
	var left []undo.Place
	skipped := map[string]bool{}
	for _, column := range x.changedSince(found.row, x.After) {
		left, skipped[column] = append(left, x.place(x.field(column), changedSince)), true
	}
	if len(left) > 0 && !x.all.Skip {
		x.places = left
		return nil
	}
	if err := x.checkLinks(ctx, found, false); err != nil || len(x.places) > 0 {
		return err
	}
	wanted, changed := slices.Clone(found.row), map[string]held{}
	for i, column := range x.info.columns {
		v, ok := x.Before[column]
		switch {
		case x.isVersion(column):
			wanted[i] = counted(wanted[i])
		case ok && x.isStamp(column) && !sameHeld(x.After[column], found.row[i]): // of a later update
		case ok && !skipped[column]:
			wanted[i], changed[column] = v, v
		}
	}
	waiting, err := x.checkParents(ctx, wanted)
	if err != nil || len(x.places) > 0 {
		return err
	}
	x.row.Left = append(left, x.row.Left...)
	if len(changed) == 0 && len(x.links()) == 0 {
		return nil
	}
	if err := x.mayWrite(changed, found.row); err != nil {
		return err
	}
	if err := x.visible(ctx); err != nil {
		return err
	}
	if !x.row.Restored {
		if err := x.build(ctx, wanted); err != nil {
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
func counted(v held) held {
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

// mayWrite refuses to restore fields that others may write, and the caller may not. What nobody
// may write follows from what was written.
func (x *restoration) mayWrite(values map[string]held, now heldRow) error {
	seen := x.t.caller.of(x.k)
	if seen == nil {
		return nil // rules of the app wrote the row
	}
	if err := x.mayLink(); err != nil {
		return err
	}
	for i, column := range x.info.columns {
		v, ok := values[column]
		if !ok || now == nil && v == nil || now != nil && sameHeld(v, now[i]) {
			continue
		}
		c := slices.IndexFunc(x.k.Entity.Columns, func(c descriptor.Column) bool { return c.Name == column })
		if c < 0 {
			continue
		}
		whole := x.k.FieldNamed(x.k.Entity.Columns[c].Field)
		if whole == nil || whole.ReadOnly {
			continue
		}
		if own := seen.FieldNamed(whole.Name); own == nil || own.ReadOnly {
			return fault.New(fault.Forbidden, "it changes a field that you may not write")
		}
	}
	return nil
}

// checkParents looks for the rows that the row is going to refer to. A column that can be null
// stays so until its row is there, which another round may bring.
func (x *restoration) checkParents(ctx context.Context, wanted heldRow) (waiting []string, err error) {
	for i, column := range x.info.columns {
		target := x.refers(column)
		if target == nil || wanted[i] == nil {
			continue
		}
		id, err := target.ParseID((*wanted[i])[1:])
		if err != nil {
			continue // the statement will say it
		}
		if target == x.k && id == x.id {
			continue
		}
		there, err := x.t.exists(ctx, target, id)
		if err != nil {
			return nil, err
		}
		if there {
			continue
		}
		if other := x.all.Row(x.row.Set, target.Name(), target.FormatID(id)); other != nil && x.nullable(column) {
			wanted[i] = nil
			waiting = append(waiting, column)
			continue
		}
		if x.all.Skip && x.nullable(column) && x.row.Action() == string(store.Update) {
			if found := x.t.past.rows[changes.RowOf(x.k, x.id)]; found != nil {
				wanted[i] = found.row[i]
			}
			x.row.Left = append(x.row.Left, x.place(x.field(column), "what it referred to is not there any more"))
			continue
		}
		x.fail(x.field(column), "what it referred to is not there any more")
	}
	return waiting, nil
}

// refers returns what a column refers to, nil for nothing that is exposed.
func (x *restoration) refers(column string) *model.Kind {
	for i := range x.k.Entity.Columns {
		if c := &x.k.Entity.Columns[i]; c.Name == column && c.Refers != "" {
			return x.ByName[c.Refers]
		}
	}
	for i := range x.k.Edges {
		if e := &x.k.Edges[i]; e.Column.OwnKey == column {
			return e.Target
		}
	}
	return nil
}

func (x *restoration) nullable(column string) bool {
	for i := range x.k.Entity.Columns {
		if c := &x.k.Entity.Columns[i]; c.Name == column {
			return c.Nullable
		}
	}
	for i := range x.k.Edges {
		if e := &x.k.Edges[i]; e.Column.OwnKey == column {
			return !e.JSON.Required
		}
	}
	return true
}

// settle gives the row what is wanted, to the last bit: what hooks have added, and what the
// builders cannot write. Then it does the same for rows restored before that hooks of this one
// have changed again.
func (x *restoration) settle(ctx context.Context, wanted heldRow) error {
	now, err := x.now(ctx)
	if err != nil {
		return err
	}
	if now == nil {
		x.fail("", "a rule of the app kept it from being stored")
		return undo.Conflict(x.places)
	}
	b := x.t.newStatement()
	b.Raw("UPDATE ").Name(x.k.Entity.Table).Raw(" SET ")
	n := 0
	for i, column := range x.info.columns {
		if sameHeld(now[i], wanted[i]) {
			continue
		}
		if n++; n > 1 {
			b.Raw(", ")
		}
		v, err := bound(wanted[i])
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
	if _, err := x.t.sql.ExecContext(ctx, string(b.Text()), b.Args()...); err != nil {
		return x.refused(x.writeFault(ctx, x.t, x.k, x.values(), err))
	}
	x.t.touched = true
	x.t.log.Begin(changes.Write{Kind: x.k, ID: x.id, Action: store.Update})
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
