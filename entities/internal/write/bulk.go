package write

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/refusal"
	"github.com/koan-go/koan/entities/internal/statement"
	"github.com/koan-go/koan/framework/fault"
)

// maxPendingRows bounds the rows that wait to be inserted together.
const maxPendingRows = 512

// maxStored bounds what one call returns of what it stored, in bytes.
const maxStored = 8 << 20

// bulk is one call that stores many models. They are stored in their order as far as
// that can make a difference: new rows are collected, and inserted before anything else
// is written. All problems of all models are found before the call fails.
type bulk struct {
	Rows
	progress Progress
	models   []*model.Values

	ready    []*prepared     // by model; nil where a model goes its own way
	existing map[string]bool // ids that exist, those of this call included
	pending  []int           // models whose rows wait
	items    [][]byte        // the answer, by model
	size     int             // of the answer, in bytes
	problems map[int]*fault.Fault
}

// storeAll stores models in order.
func (t Rows) storeAll(ctx context.Context, models []*model.Values, to Progress) (json.RawMessage, error) {
	if err := t.Counts.CountPastAll(ctx, t.k, models); err != nil {
		return nil, err
	}
	b := &bulk{Rows: t, progress: to, models: models, items: make([][]byte, len(models)), problems: map[int]*fault.Fault{}}
	if t.native() {
		if err := b.prepareAll(ctx); err != nil {
			return nil, err
		}
	}
	// What refers to a model that is not stored would seem to lead nowhere.
	if len(b.problems) == 0 || !t.k.PointsTo(t.k) {
		if err := b.store(ctx); err != nil {
			return nil, err
		}
	}
	if len(b.problems) > 0 {
		return nil, b.failure()
	}
	out := make([]byte, 0, b.size+len(models)+len(`{"items":[]}`))
	out = append(out, `{"items":[`...)
	for i, item := range b.items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
	return append(out, `]}`...), nil
}

// prepareAll prepares the rows of all plain models, and finds out which of them exist.
func (b *bulk) prepareAll(ctx context.Context) error {
	late, err := b.findAll(ctx)
	if err != nil {
		return err
	}
	var keys []any
	for _, m := range b.models {
		if m.ID != nil {
			keys = append(keys, b.k.BoundID(m.ID))
		}
	}
	found, err := b.Writer.Present(ctx, b.SQL, b.k.Entity, keys)
	if err != nil {
		return err
	}
	b.existing = make(map[string]bool, len(b.models))
	for _, key := range found {
		id, err := b.k.ScanID(key)
		if err != nil {
			return err
		}
		b.existing[b.k.FormatID(id)] = true
	}
	b.ready = make([]*prepared, len(b.models))
	apart := map[string]bool{} // entities that models store which go their own way
	for i, m := range b.models {
		if late[i] || len(b.k.Entity.Key.Parts) > 0 || apart[m.Shown] || len(m.Refused) > 0 || m.ID != nil && m.MayShowOthers() || !b.plain(m) || m.Immutable() || m.ID != nil && (m.Empty() || !b.k.SettableID) {
			apart[m.Shown] = m.ID != nil
			continue
		}
		p, err := b.prepareOne(ctx, m)
		if err != nil && m.ID != nil && m.HasJSON() { // perhaps it is what is stored
			apart[m.Shown] = true
			continue
		}
		if err != nil {
			if err := b.noteProblem(i, err); err != nil {
				return err
			}
			continue
		}
		b.ready[i] = p
	}
	return nil
}

// findAll looks for the entities of models that name theirs by its unique key.
// late are the models whose entity this very call stores, perhaps with its id in another spelling, or renames, before
// them.
func (b *bulk) findAll(ctx context.Context) (late map[int]bool, err error) {
	if err := b.nameAsKept(ctx, b.models...); err != nil {
		return nil, err
	}
	late, seen, renamed, spelled := map[int]bool{}, map[string]bool{}, false, map[string]string{}
	for i, m := range b.models {
		if !m.HasUniqueKey(b.k) {
			late[i] = b.otherSpelling(spelled, m)
			renamed = renamed || m.ID != nil && len(m.Key) > 0
			continue
		}
		key := string(model.Encode(foldedKey(b.k.Entity, m.Key)))
		if late[i] = renamed || seen[key]; late[i] {
			continue
		}
		seen[key] = true
		if err := (models{b.Rows}).find(ctx, m, false); err != nil {
			return nil, err
		}
	}
	return late, nil
}

func (b *bulk) prepareOne(ctx context.Context, m *model.Values) (*prepared, error) {
	if m.ID != nil && b.existing[m.Shown] {
		return rowWriter{b.Rows}.prepareUpdate(ctx, m.ID, m)
	}
	if missing := m.Missing(b.by.Of(b.k)); len(missing) > 0 {
		return nil, fault.Invalid(missing...)
	}
	p, err := rowWriter{b.Rows}.prepare(ctx, m)
	if err == nil && m.ID != nil {
		b.existing[m.Shown] = true
	}
	return p, err
}

// store goes through the models in order.
func (b *bulk) store(ctx context.Context) error {
	for i := range b.models {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.storeOne(ctx, i); err != nil {
			return err
		}
		if (i+1)%progressEvery == 0 || i+1 == len(b.models) {
			b.progress.Progress(float64(i+1), float64(len(b.models)), "")
		}
	}
	return b.flush(ctx)
}

func (b *bulk) storeOne(ctx context.Context, i int) error {
	if b.problems[i] != nil {
		return nil
	}
	var p *prepared
	if b.ready != nil {
		p = b.ready[i]
	}
	if p != nil && p.fresh {
		// A row that refers to another one of this call goes in behind it.
		if n := len(b.pending); n == maxPendingRows || n > 0 && b.k.PointsTo(b.k) && !p.row.SameShape(b.ready[b.pending[n-1]].row) {
			if err := b.flush(ctx); err != nil {
				return err
			}
		}
		b.pending = append(b.pending, i)
		return nil
	}
	if err := b.flush(ctx); err != nil {
		return err
	}
	return b.storeAlone(ctx, i)
}

// storeAlone stores one model, or records what is wrong with it and leaves nothing of
// it behind.
func (b *bulk) storeAlone(ctx context.Context, i int) error {
	var p *prepared
	if b.ready != nil {
		p = b.ready[i]
	}
	end, err := b.Savepoint(ctx, false)
	if err != nil {
		return err
	}
	var out []byte
	switch {
	case p == nil, p.fresh && b.models[i].ID != nil && b.k.Entity.Key.MeetsOthers(): // perhaps the database finds a row by its id
		out, err = models{b.Rows}.upsert(ctx, b.models[i], false, nil)
	case p.fresh:
		out, err = rowWriter{b.Rows}.insert(ctx, p)
	default:
		out, err = rowWriter{b.Rows}.update(ctx, p, nil)
		if err == nil && out == nil { // this very call should have stored it, and could not
			out, err = models{b.Rows}.upsert(ctx, b.models[i], false, nil)
		}
	}
	if serr := end(err == nil); serr != nil {
		return errors.Join(err, serr)
	}
	if err != nil {
		return b.noteProblem(i, err)
	}
	return b.keepItem(i, out)
}

// flush inserts the pending rows. If the database refuses one of them, each is inserted
// by itself to find out which.
func (b *bulk) flush(ctx context.Context) error {
	pending := b.pending
	b.pending = b.pending[:0]
	if len(pending) == 0 {
		return nil
	}
	done, err := b.tryTogether(ctx, func() error { return b.insertAll(ctx, pending) })
	if done || err != nil {
		return err
	}
	for _, i := range pending {
		if err := b.storeAlone(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// insertAll inserts rows, those of one shape together.
func (b *bulk) insertAll(ctx context.Context, pending []int) error {
	for rest := pending; len(rest) > 0; {
		shape := b.ready[rest[0]].row
		var some, other []int
		for _, i := range rest {
			if b.ready[i].row.SameShape(shape) {
				some = append(some, i)
			} else {
				other = append(other, i)
			}
		}
		if err := b.insertAlike(ctx, some); err != nil {
			return err
		}
		rest = other
	}
	return nil
}

// insertAlike inserts rows of one shape and matches what comes back with their models:
// by id or, if the database generates the ids, by order, which is that of the rows.
func (b *bulk) insertAlike(ctx context.Context, some []int) error {
	rows, at := make([]statement.Row, len(some)), make(map[string]int, len(some))
	named := false
	for n, i := range some {
		p := b.ready[i]
		rows[n] = p.row
		named = named || p.model.ID != nil
		if p.id != nil {
			at[b.k.FormatID(p.id)] = i
		}
	}
	type stored struct {
		id   any
		json []byte
		held []any
	}
	if err := b.HoldWrites(len(some)); err != nil {
		return err
	}
	back := make([]stored, 0, len(some))
	err := b.Writer.Insert(ctx, b.SQL, b.k.Entity, rows, named, b.Past.HeldAsReturned(b.k), func(key any, row []byte, held []any) error {
		id, err := b.k.ScanID(key)
		back = append(back, stored{id, read.Own(row), held})
		return err
	})
	if err != nil {
		if f := b.faults().Exhausted(ctx, b.k, "/models", err); f != nil {
			return f
		}
		return err
	}
	if len(back) != len(some) {
		return b.unseenRow(b.ready[some[0]].model)
	}
	if len(at) == 0 {
		slices.SortFunc(back, func(x, y stored) int { return model.CompareIDs(x.id, y.id) })
	}
	for n, s := range back {
		i := some[n]
		if len(at) > 0 {
			var known bool
			if i, known = at[b.k.FormatID(s.id)]; !known {
				return errOtherwise
			}
		}
		b.RecordCreated(b.k, s.id)
		if err := b.Past.KnowReturned(b.k, s.id, s.held); err != nil {
			return err
		}
		if err := b.HoldImage(b.k, s.id, len(s.json)); err != nil {
			return err
		}
		if _, err := b.Weighing.CheckReturned(b.by, b.k, b.models[i], s.id, s.json); err != nil {
			return err
		}
		if err := b.keepItem(i, s.json); err != nil {
			return err
		}
	}
	return nil
}

// keepItem puts a stored entity into the answer.
func (b *bulk) keepItem(i int, item []byte) error {
	if err := b.HoldUntilCallEnds(2 * len(item)); err != nil { // it is copied into the answer
		return err
	}
	b.items[i] = item
	if b.size += len(item); b.size > maxStored {
		return fault.Newf(fault.CallTooLarge, "the stored %s entities exceed the size limit of an answer", b.k.Name()).
			WithHint("Store fewer in one call. Nothing was stored.").WithPath("/models")
	}
	return nil
}

// noteProblem records what is wrong with a model. Any other error is returned and ends
// the call.
func (b *bulk) noteProblem(i int, err error) error {
	f := refusal.OfItem(err)
	if f == nil {
		return err
	}
	b.problems[i] = f
	return nil
}

func (b *bulk) failure() error {
	var all []*fault.Fault
	for i, m := range b.models {
		f := b.problems[i]
		if f == nil {
			continue
		}
		if f.Path == "" {
			named := *f
			f = named.WithPath(m.At)
		}
		all = append(all, f)
	}
	return refusal.Join(all)
}
