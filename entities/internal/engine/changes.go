package engine

import (
	"context"
	"slices"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/run"
)

// rowWrite is one write to one row. A transaction keeps them in the order in which the
// writes began, so that what a write brings with it comes after it.
type rowWrite struct {
	kind   *model.Kind
	id     any
	action run.Action
	links  []*model.Edge // many-to-many edges that the write says something of
	void   bool          // it did not take place
}

// row names a row of a transaction's set.
type row struct {
	kind *model.Kind
	id   string
}

// rowBefore is a row as the transaction found it. That does not depend on what was
// written since, or rolled back to a savepoint, so it is read once.
type rowBefore struct {
	there bool
	seen  []byte // what the caller may see of it
	ahead int    // bytes that are counted for what it becomes
}

// beginWrite records a write that begins.
func (t *tx) beginWrite(n rowWrite) int {
	t.writes = append(t.writes, n)
	return len(t.writes) - 1
}

// pending is a row that a mutation is about to write.
type pending struct {
	kind   *model.Kind
	id     any
	at     int    // of the write among the transaction's
	before []byte // where a hook of the app may do something else instead
}

// expect records writes to rows and, if the run records, what the rows are before them.
func (t *tx) expect(ctx context.Context, k *model.Kind, ids []any, action run.Action, links ...*model.Edge) ([]pending, error) {
	if err := t.holdWrites(len(ids)); err != nil {
		return nil, err
	}
	out := make([]pending, len(ids))
	for i, id := range ids {
		out[i] = pending{kind: k, id: id, at: t.beginWrite(rowWrite{kind: k, id: id, action: action, links: links})}
	}
	if err := t.recordRows(ctx, k, ids); err != nil {
		return nil, err
	}
	if err := t.recordLinks(ctx, k, ids, links, true); err != nil {
		return nil, err
	}
	if action == run.Delete {
		t.markListed(k, ids, links)
	}
	return out, nil
}

// voidWrites takes back writes that did not happen. What hooks wrote in
// between stays, because it did.
func (t *tx) voidWrites(rows ...pending) {
	for _, p := range rows {
		t.writes[p.at].void = true
	}
}

// recordRows keeps rows as they are before they are written for the first time, if the
// run records.
func (t *tx) recordRows(ctx context.Context, k *model.Kind, ids []any) error {
	if !t.attempt.Records() {
		return nil
	}
	var unknown []any
	for _, id := range ids {
		if _, known := t.before[row{k, k.FormatID(id)}]; !known {
			unknown = append(unknown, id)
		}
	}
	unknown = slices.DeleteFunc(unknown, func(id any) bool { return t.createdHere(k, id) })
	if len(unknown) == 0 {
		return nil
	}
	now, err := t.images(ctx, k, unknown)
	if err != nil {
		return err
	}
	for _, id := range unknown {
		if err := ctx.Err(); err != nil {
			return err
		}
		image, there := now[k.FormatID(id)]
		if err := t.recordBefore(ctx, k, id, there, image); err != nil {
			return err
		}
	}
	return nil
}

// creation is the creation of a row while hooks are still running, which may write to the
// row or to what it is linked with.
type creation struct {
	tx      *tx
	kind    *model.Kind
	made    ent.Mutation
	assumed []row
}

func (t *tx) beginCreation(k *model.Kind, m ent.Mutation) *creation {
	b := &creation{tx: t, kind: k, made: m}
	if t.attempt.Records() {
		t.creations = append(t.creations, b)
	}
	return b
}

// end marks the creation as finished.
func (b *creation) end() {
	b.tx.creations = slices.DeleteFunc(b.tx.creations, func(o *creation) bool { return o == b })
}

// forget drops what was assumed of the row when its creation failed.
func (b *creation) forget() {
	for _, at := range b.assumed {
		delete(b.tx.before, at)
	}
}

// createdHere reports whether the transaction has created a row, or is creating it.
func (t *tx) createdHere(k *model.Kind, id any) bool {
	at := row{k, k.FormatID(id)}
	if o, known := t.before[at]; known {
		return !o.there
	}
	for _, b := range t.creations {
		if own, ok := b.kind.ID(b.made); ok && b.kind == k && k.FormatID(own) == at.id {
			b.assumed = append(b.assumed, at)
			t.keepBefore(at, rowBefore{})
			return true
		}
	}
	return false
}

// recordBefore keeps what the transaction found of a row, unless that is already known.
func (t *tx) recordBefore(ctx context.Context, k *model.Kind, id any, there bool, image []byte) (err error) {
	at := row{k, k.FormatID(id)}
	if _, known := t.before[at]; known {
		return nil
	}
	o := rowBefore{there: there}
	if o.seen, err = t.visibleImage(ctx, k, id, image); err != nil {
		return err
	}
	t.keepBefore(at, o)
	return nil
}

func (t *tx) keepBefore(at row, o rowBefore) {
	if t.before == nil {
		t.before = map[row]rowBefore{}
	}
	t.before[at] = o
}

// images reads rows as they are now, by their id as callers see it. Each is counted
// before it is kept.
func (t *tx) images(ctx context.Context, k *model.Kind, ids []any) (map[string][]byte, error) {
	if len(ids) == 1 { // takes less time than watching for a cancel would
		ctx = context.WithoutCancel(ctx)
	}
	out := make(map[string][]byte, len(ids))
	err := t.engine.reader.Images(ctx, t.sql, k.Entity, k.BoundIDs(ids), func(key any, image []byte) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		id, err := k.ScanID(key)
		if err == nil {
			err = t.attempt.Hold(len(image))
		}
		if err == nil {
			out[k.FormatID(id)] = read.Own(image)
		}
		return err
	})
	return out, err
}

// netChange is the sum of all writes to one row.
type netChange struct {
	row
	native    any
	was, is   bool // whether there is a row
	links     []*model.Edge
	from, to  []byte // as the caller may see them
	forbidden bool   // the caller may see it neither before nor after
}

// netChanges joins the writes to each row, in the order of the first ones.
func (t *tx) netChanges() []*netChange {
	out := make([]*netChange, 0, len(t.writes))
	at := make(map[row]*netChange, len(t.writes))
	for i := range t.writes {
		n := &t.writes[i]
		if n.void {
			continue
		}
		key := row{n.kind, n.kind.FormatID(n.id)}
		r := at[key]
		if r == nil {
			was := n.action != run.Create
			r = &netChange{row: key, native: n.id, was: was, is: was}
			at[key] = r
			out = append(out, r)
		}
		switch n.action {
		case run.Create:
			r.is = true
		case run.Delete:
			r.is = false
		}
		for _, e := range n.links {
			if !slices.Contains(r.links, e) {
				r.links = append(r.links, e)
			}
		}
	}
	return out
}

// Changes implements run.Tx: one change for each row, from what the transaction
// found to what it is now. A change to a row that the caller might see neither
// before nor after stands there without its id: that something happened is said,
// and nothing more.
func (t *tx) Changes(ctx context.Context) ([]run.Change, error) {
	if !t.attempt.Records() {
		return t.countChanges(), nil
	}
	rows := t.netChanges()
	if err := t.completeChanges(ctx, rows); err != nil {
		return nil, t.verdict(err)
	}
	out := make([]run.Change, 0, len(rows))
	for _, r := range rows {
		if !r.was && !r.is {
			continue
		}
		c := run.Change{Entity: r.kind.Name(), Set: t.set, ID: r.id, Action: actionOf(r.was, r.is), Before: r.from, After: r.to, Hidden: !t.caller.knows(r.kind)}
		if r.forbidden {
			c.ID = ""
		}
		out = append(out, c)
	}
	return out, nil
}

// countChanges is Changes for a run that does not record: there may be many changes, so
// it keeps nothing of a row but what is reported.
func (t *tx) countChanges() []run.Change {
	type fate struct{ was, is bool } // whether there is a row
	at := make(map[row]int32, len(t.writes))
	out, fates := make([]run.Change, 0, len(t.writes)), make([]fate, 0, len(t.writes))
	for i := range t.writes {
		n := &t.writes[i]
		if n.void {
			continue
		}
		key := row{n.kind, n.kind.FormatID(n.id)}
		j, known := at[key]
		if !known {
			j = int32(len(out))
			at[key] = j
			was := n.action != run.Create
			out, fates = append(out, run.Change{Entity: n.kind.Name(), Set: t.set, ID: key.id, Hidden: !t.caller.knows(n.kind)}), append(fates, fate{was, was})
		}
		switch n.action {
		case run.Create:
			fates[j].is = true
		case run.Delete:
			fates[j].is = false
		}
	}
	kept := out[:0]
	for j, f := range fates {
		if f.was || f.is {
			out[j].Action = actionOf(f.was, f.is)
			kept = append(kept, out[j])
		}
	}
	return kept
}

// actionOf returns what happened to a row, given whether it existed before and exists
// now.
func actionOf(was, is bool) run.Action {
	switch {
	case !was:
		return run.Create
	case !is:
		return run.Delete
	}
	return run.Update
}

// completeChanges adds to net changes what the rows were and what they are.
func (t *tx) completeChanges(ctx context.Context, rows []*netChange) error {
	if len(rows) == 0 {
		return nil
	}
	if t.caller != nil { // the call that it was made for may be over
		t.caller = t.caller.forLater(t)
		if t.engine.viewer != nil {
			var err error
			if ctx, err = t.caller.viewer(); err != nil {
				return err
			}
		}
	}
	t.attempt.Release(t.ahead) // what the rows are now is counted as it is read
	t.ahead = 0
	ids := map[*model.Kind][]any{}
	for _, r := range rows {
		ids[r.kind] = append(ids[r.kind], r.native)
	}
	now := make(map[*model.Kind]map[string][]byte, len(ids))
	for k, some := range ids {
		var err error
		if now[k], err = t.images(ctx, k, some); err != nil {
			return err
		}
	}
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		o := t.before[r.row]
		r.was, r.from = o.there, o.seen
		image, there := now[r.kind][r.id]
		r.is = there
		var err error
		if r.to, err = t.visibleImage(ctx, r.kind, r.native, image); err != nil {
			return err
		}
		r.forbidden = r.from == nil && r.to == nil
		if err := t.joined(ctx, r); err != nil {
			return err
		}
	}
	return nil
}
