package account

import (
	"context"
	"encoding/json"
	"reflect"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// No write leaves a row that a caller could not read, whoever makes it: what inputs, hooks and the app's
// own code write is weighed as it stands in the database. What the engine's own statements return is
// weighed at once. Rows that ent has written wait, to be looked at together: at the end of the call, of the
// action, or after many or large ones.

// Weighing is which rows of a transaction are to be weighed, and what they were.
type Weighing struct {
	*transaction.Tx
	tables   Tables
	log      *changes.Log
	past     *History
	found    map[changes.Row]*read.Burden // before their first write, nil for rows that were readable, unasked
	due      []writtenRow
	size     int                  // bytes that were written to those that are due
	restored map[changes.Row]bool // by an undo: they may be what they were
}

// writtenRow is a row that was written.
type writtenRow struct {
	kind *model.Kind
	id   any
}

const (
	// maxDue is how many rows wait at most when the app's code has made a mutation.
	maxDue = 512
	// largeWrite is from how many bytes on a mutation of the app's code is weighed at once.
	largeWrite = 256 << 10
)

// unasked stands for the burden of a row whose size nobody asked for before its first write.
var unasked = &read.Burden{}

// NoteBurdens notes which rows nobody could read before they are written for the first time. Such rows
// are rare, and asking is a statement before nearly every update. So an attempt that can be made again
// asks only in tables where a row was too large once, and is made again at the first one.
func (t *Weighing) NoteBurdens(ctx context.Context, k *model.Kind, ids []any) error {
	info := t.tables[k]
	if info == nil || !info.sizeable {
		return nil
	}
	if t.found == nil {
		t.found = map[changes.Row]*read.Burden{}
	}
	var unknown []any
	for _, id := range ids {
		at := changes.RowOf(k, id)
		if _, known := t.found[at]; known || t.log.CreatedHere(k, id) {
			continue
		}
		t.found[at] = nil
		p := t.past.Rows[at]
		row, err := t.past.Row(p)
		switch {
		case err != nil:
			return err
		case p == nil && !info.asksSize(t.Attempt):
			t.found[at] = unasked
		case p == nil || info.mayBurden(row):
			unknown = append(unknown, id)
		}
	}
	return t.burdens(ctx, k, unknown, func(id any, b *read.Burden) error {
		t.found[changes.RowOf(k, id)] = b
		return nil
	})
}

// burdens calls found for each of some rows that nobody could read.
func (t *Weighing) burdens(ctx context.Context, k *model.Kind, ids []any, found func(id any, b *read.Burden) error) error {
	if len(ids) == 0 {
		return nil
	}
	if len(ids) == 1 {
		ctx = t.RowContext(ctx)
	}
	keys, err := t.Reader.Sizeable(ctx, t.SQL, k.Entity, k.BoundIDs(ids))
	if err != nil || len(keys) == 0 {
		return err
	}
	if ids, err = k.ScanIDs(keys); err != nil {
		return err
	}
	return t.Reader.Images(ctx, t.SQL, k.Entity, k.BoundIDs(ids), func(key any, row []byte) error {
		b := t.Reader.Burden(row)
		if b == nil {
			return nil
		}
		id, err := k.ScanID(key)
		if err != nil {
			return err
		}
		return found(id, b)
	})
}

// WeighLater has rows that a mutation wrote be weighed with others; m is nil for what inputs write.
func (t *Weighing) WeighLater(k *model.Kind, m ent.Mutation, ids ...any) {
	if info := t.tables[k]; info == nil || !info.sizeable {
		return
	}
	if m != nil {
		t.size += sizeOf(m)
	}
	for _, id := range ids {
		t.due = append(t.due, writtenRow{k, id})
	}
}

// Weigh refuses rows that wait and that nobody could read, unless they were no better before.
func (t *Weighing) Weigh(ctx context.Context, by *rules.View) error {
	if len(t.due) == 0 { // as after nearly all writes, whose rows came back with them
		t.size = 0
		return nil
	}
	ids, order, seen := map[*model.Kind][]any{}, []*model.Kind(nil), map[changes.Row]bool{}
	for _, w := range t.due {
		at := changes.RowOf(w.kind, w.id)
		if seen[at] || t.restored[at] { // an undo restores what was there
			continue
		}
		seen[at] = true
		if ids[w.kind] == nil {
			order = append(order, w.kind)
		}
		ids[w.kind] = append(ids[w.kind], w.id)
	}
	for _, k := range order {
		err := t.burdens(ctx, k, ids[k], func(id any, is *read.Burden) error {
			if excused, err := t.excuses(k, id, is); excused || err != nil {
				return err
			}
			return t.unreadableFault(by, k, id, is)
		})
		if err != nil {
			return t.Verdict(err)
		}
	}
	t.due, t.size = t.due[:0], 0
	return nil
}

// excuses reports whether a row may be left with a burden because of what it was before. Where nobody
// asked what it was, the attempt is made again, and asks.
func (t *Weighing) excuses(k *model.Kind, id any, is *read.Burden) (bool, error) {
	was := t.found[changes.RowOf(k, id)]
	if was == unasked {
		t.tables[k].burdened.Store(true)
		return false, store.ErrRepeat
	}
	return t.Reader.Excuses(was, is), nil
}

// Check implements store.Checker.
func (t *Account) Check(ctx context.Context) error {
	return t.Weighing.Weigh(ctx, t.ReportedTo)
}

// unreadableFault is the fault of a row that nobody could read, with what the caller may know of it.
func (t *Weighing) unreadableFault(by *rules.View, k *model.Kind, id any, b *read.Burden) *fault.Fault {
	f := t.Reader.Unreadable(k.Entity, b, by.FieldName(k, b.Field()))
	if by != nil && by.Shows(k) && !by.MayHide(k) {
		f.Message += " (id " + filter.Quote(k.FormatID(id)) + ")"
	}
	return f
}

// CheckReturned weighs what a statement of the engine's own has returned of a row, and returns what its
// caller gets: of a row that has a burden and may keep it, only the id.
func (t *Weighing) CheckReturned(by *rules.View, k *model.Kind, m *model.Values, id any, row json.RawMessage) (json.RawMessage, error) {
	b := t.Reader.Burden(row)
	if b == nil {
		t.weighed(by, k, id)
		return row, nil
	}
	if t.restored[changes.RowOf(k, id)] {
		return OnlyID(k, id), nil
	}
	switch excused, err := t.excuses(k, id, b); {
	case err != nil:
		return nil, err
	case excused:
		return OnlyID(k, id), nil
	}
	field := by.FieldName(k, b.Field())
	return nil, t.Reader.Unreadable(k.Entity, b, field).WithPath(PathOf(m, field))
}

// weighed takes a row whose answer has just been weighed from those that wait, where it is the last one.
func (t *Weighing) weighed(by *rules.View, k *model.Kind, id any) {
	last := len(t.due) - 1
	if last < 0 || by.Of(k) == nil || by.Of(k).Partial { // it was not the whole row
		return
	}
	if w := t.due[last]; changes.RowOf(w.kind, w.id) == changes.RowOf(k, id) {
		t.due = t.due[:last]
	}
}

// PathOf returns where an input has a field, or the model where it has it not.
func PathOf(m *model.Values, field string) string {
	if m == nil || field == "" || !m.Has(field) {
		return atOf(m)
	}
	return m.At + "/" + filter.Escape(field)
}

func atOf(m *model.Values) string {
	if m == nil {
		return ""
	}
	return m.At
}

// OnlyID is the answer for a row that the caller may not or cannot read.
func OnlyID(k *model.Kind, id any) json.RawMessage {
	return model.Encode(model.Object{k.KeyField().Name: k.FormatID(id)})
}

// WeighMany weighs the rows that wait, if they are many or what was written to them is large: so the app's
// own code mostly learns where it is that it goes too far.
func (t *Weighing) WeighMany(ctx context.Context, by *rules.View) error {
	if t.size < largeWrite && len(t.due) < maxDue {
		return nil
	}
	return t.Weigh(ctx, by)
}

// sizeOf is about how many bytes the values of a write take.
func sizeOf(m ent.Mutation) (n int) {
	for _, name := range m.Fields() {
		v, _ := m.Field(name)
		switch r := reflect.ValueOf(v); r.Kind() {
		case reflect.String:
			n += r.Len()
		case reflect.Slice, reflect.Map, reflect.Struct, reflect.Pointer:
			if r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.Uint8 {
				n += r.Len()
			} else if text, err := json.Marshal(v); err == nil {
				n += len(text)
			}
		}
	}
	return n
}

// Excuse has a row that an undo has restored pass with any burden: it may be what it was.
func (t *Weighing) Excuse(k *model.Kind, id any) {
	if t.restored == nil {
		t.restored = map[changes.Row]bool{}
	}
	t.restored[changes.RowOf(k, id)] = true
}
