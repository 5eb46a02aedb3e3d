// Package mutation is what ent's builders write in a transaction: the hook around each mutation, which puts
// generated values on the run's tape, records what is written in the account of package account, and
// refuses what a column would not keep.
//
// What belongs here: what is so for each mutation, whoever makes it: an operation, a hook, the app's own
// code. Not here: who may write what (package rules), and operations.
package mutation

import (
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strconv"
	"strings"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/statement"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// slot is a kind of mutation in one call.
type slot struct {
	at  run.Position
	typ string
	op  ent.Op
}

// Mutations are what ent's builders write in a transaction, as its hook sees them.
type Mutations struct {
	*account.Account
	Counts  Counter
	upserts upserts
	chosen  choices      // of the write that an operation makes now
	places  map[slot]int // how many mutations a call made, by kind: slots of the tape
}

// Of returns the mutations of a transaction in which none has been made.
func Of(a *account.Account) *Mutations {
	return &Mutations{Account: a, Counts: Counter{Tx: a.Tx}, upserts: upserts{a}}
}

// Mutate makes a mutation as a part of the run.
func (t *Mutations) Mutate(ctx context.Context, k *model.Kind, m ent.Mutation, next ent.Mutator) (ent.Value, error) {
	if !t.SQL.Writing() {
		return nil, ErrReading
	}
	if _, err := t.Replay(ctx, k, m); err != nil {
		return nil, err
	}
	t.Touched = true
	if k.Entity == nil {
		v, err := next.Mutate(ctx, m)
		if err == nil {
			t.Past.Unnamed++
		}
		return v, err
	}
	switch {
	case m.Op().Is(ent.OpCreate):
		return t.create(ctx, k, m, next)
	case m.Op().Is(ent.OpUpdate | ent.OpUpdateOne):
		return t.update(ctx, k, m, next)
	}
	return t.remove(ctx, k, m, next)
}

// ErrReading is what a rule of the app gets that writes while somebody reads.
var ErrReading = errors.New("a rule of the app wrote while an entity was being read; read operations cannot write")

// choices are the generated values of a write that its caller chose instead, so that
// they are no business of the tape: they follow from the script and from what it read.
type choices struct {
	of      ent.Mutation
	id      bool
	columns []string
}

// KeepChosen has the values that a builder has before its defaults run be its caller's choice.
func (t *Mutations) KeepChosen(k *model.Kind, m ent.Mutation) { t.chosen = choicesOf(k, m) }

// choicesOf returns what is chosen in a builder whose defaults have not run yet.
func choicesOf(k *model.Kind, m ent.Mutation) choices {
	c := choices{of: m}
	_, c.id = k.ID(m)
	for _, column := range k.Generated {
		if _, ok := m.Field(column); ok {
			c.columns = append(c.columns, column)
		}
	}
	return c
}

// Replay puts what ent's defaults generated on the run's tape, or takes from it what an
// earlier attempt generated at the same place. What an operation's caller chose is left
// alone; of what hooks write, nobody knows what they chose. forget frees the place, if the
// write found nothing to write to, so that the next write is the first at its place
// however it is carried out.
func (t *Mutations) Replay(ctx context.Context, k *model.Kind, m ent.Mutation) (forget func(), err error) {
	forget = func() {}
	_, at, ok := run.Current(ctx)
	if !ok || m.Op().Is(ent.OpDelete|ent.OpDeleteOne) {
		return forget, nil
	}
	place := slot{at, k.Type, m.Op()}
	if t.places == nil {
		t.places = map[slot]int{}
	}
	t.places[place]++
	forget = func() { t.places[place]-- }
	mark := k.Type + "/" + m.Op().String() + "/" + strconv.Itoa(t.places[place]) + "/"
	recall := func(name string, made any, set func(any) error) error {
		v, err := t.Attempt.Tape().Value(at, mark+name, func() (any, error) { return made, nil })
		if err != nil || t.Attempt.Fresh() {
			return err
		}
		return set(v)
	}
	var chosen choices
	if t.chosen.of == m {
		chosen = t.chosen
	}
	if m.Op().Is(ent.OpCreate) && k.SettableID && !chosen.id {
		if id, ok := k.ID(m); ok {
			if err := recall("id", id, func(v any) error { return k.SetID(m, v) }); err != nil {
				return forget, err
			}
		}
	}
	for _, column := range k.Generated {
		if v, ok := m.Field(column); ok && !slices.Contains(chosen.columns, column) {
			if err := recall(column, v, func(v any) error { return k.Set(m, column, v) }); err != nil {
				return forget, err
			}
		}
	}
	return forget, nil
}

func (t *Mutations) create(ctx context.Context, k *model.Kind, m ent.Mutation, next ent.Mutator) (ent.Value, error) {
	if err := t.HoldWrites(1); err != nil {
		return nil, err
	}
	own := account.Pending{Kind: k, At: t.Log.Begin(changes.Write{Kind: k, Action: store.Create})}
	moved, err := t.beginLinkedWrites(ctx, k, m)
	if err != nil {
		return nil, err
	}
	if id, ok := k.ID(m); ok {
		if err := t.Counts.CountPast(ctx, k, id); err != nil {
			return nil, err
		}
	}
	around, _ := ctx.Value(creationKey{}).(*changes.Creation)
	made := t.Log.BeginCreation(k, m, around)
	v, err := next.Mutate(context.WithValue(ctx, creationKey{}, made), m)
	made.End()
	id, ok := k.ID(m)
	if err == nil && made.Upsert != nil {
		err = t.upserts.record(ctx, k, made.Upsert)
	}
	if err == nil && ok && (made.Upsert != nil || t.HasHooks(k)) {
		ok, err = t.Exists(ctx, k, id)
	}
	if err != nil || !ok { // it failed, or a hook kept it from being written
		t.Void(append(moved, own)...)
		made.Forget()
		return v, err
	}
	if became := t.upserts.became(made, id); became != inserted {
		if err := t.upserts.keepUpdated(ctx, own, made, id, became); err != nil {
			return nil, err
		}
		return v, t.CountVersions(ctx, moved)
	}
	w := t.Log.Write(own.At)
	w.ID, w.Links = id, t.WrittenLinks(k, m)
	t.Weighing.WeighLater(k, m, id)
	t.Past.KeepCreated(k, id)
	if t.Attempt.Records() {
		if err := t.RecordBefore(ctx, k, id, false, nil); err != nil {
			return nil, err
		}
		if err := t.RecordLinks(ctx, k, []any{id}, w.Links, false); err != nil {
			return nil, err
		}
	}
	return v, t.CountVersions(ctx, moved)
}

func (t *Mutations) update(ctx context.Context, k *model.Kind, m ent.Mutation, next ent.Mutator) (ent.Value, error) {
	ids, err := k.IDs(ctx, m)
	if err != nil {
		return nil, err
	}
	links := t.WrittenLinks(k, m)
	if t.HasHooks(k) { // which may write more of them
		links = t.ManyToMany(k, account.EveryName)
	}
	rows, err := t.Expect(ctx, k, ids, store.Update, links...)
	if err == nil && (t.HasHooks(k) || account.WritesLinks(k, m)) {
		err = t.Past.Keep(ctx, k, ids, true)
	}
	if err == nil {
		err = t.RecordAdded(ctx, k, ids, m, links)
	}
	if err != nil {
		return nil, err
	}
	edges := len(m.AddedEdges())+len(m.RemovedEdges())+len(m.ClearedEdges()) > 0
	compare := t.HasHooks(k) && !edges && !writesGuarded(k, m)
	for i := range rows {
		if compare {
			image, err := t.Image(ctx, k, rows[i].ID)
			if err != nil {
				return nil, err
			}
			rows[i].Before = sha256.Sum256(image)
		}
	}
	moved, err := t.beginLinkedWrites(ctx, k, m)
	if err != nil {
		return nil, err
	}
	v, err := next.Mutate(ctx, m)
	if err != nil {
		t.Void(append(moved, rows...)...)
		return v, err
	}
	if compare {
		if err := t.voidUnchanged(ctx, rows); err != nil {
			return nil, err
		}
	}
	t.Weighing.WeighLater(k, m, ids...)
	if err := t.RecordLinks(ctx, k, ids, links, false); err != nil {
		return nil, err
	}
	return v, t.CountVersions(ctx, moved)
}

// writesGuarded reports whether a mutation writes a field that somebody who may write it may not
// read: whether it had the same value already must not be seen in what counts as a change.
func writesGuarded(k *model.Kind, m ent.Mutation) bool {
	for _, name := range slices.Concat(m.Fields(), m.AddedFields(), m.ClearedFields()) {
		for i := range k.Entity.Columns {
			if c := &k.Entity.Columns[i]; c.Ent == name && account.IsGuarded(k.FieldNamed(c.Field)) {
				return true
			}
		}
	}
	return false
}

// voidUnchanged voids the rows that a hook kept from being written.
func (t *Mutations) voidUnchanged(ctx context.Context, rows []account.Pending) error {
	for _, p := range rows {
		after, err := t.Image(ctx, p.Kind, p.ID)
		if err != nil {
			return err
		}
		if sha256.Sum256(after) == p.Before {
			t.Void(p)
		}
	}
	return nil
}

func (t *Mutations) remove(ctx context.Context, k *model.Kind, m ent.Mutation, next ent.Mutator) (ent.Value, error) {
	ids, err := k.IDs(ctx, m)
	if err != nil {
		return nil, err
	}
	c, err := t.Follow(ctx, k, ids)
	if err != nil {
		return nil, err
	}
	gone, moved, err := t.ExpectCascade(ctx, c)
	if err != nil {
		return nil, err
	}
	if !t.HasHooks(k) {
		if err := t.DeleteDeep(ctx, c); err != nil {
			t.Void(slices.Concat(gone, moved)...)
			return nil, err
		}
	}
	v, err := next.Mutate(ctx, m)
	if err != nil {
		t.Void(slices.Concat(gone, moved)...)
		return v, err
	}
	if t.HasHooks(k) { // one that marks rows instead of deleting them
		left := false
		for _, p := range gone {
			there, err := t.Exists(ctx, p.Kind, p.ID)
			if err != nil {
				return nil, err
			}
			if there {
				t.Void(p)
				left = true
			}
		}
		if left {
			t.Void(moved...)
			return v, nil
		}
	}
	return v, t.CountVersions(ctx, moved)
}

// beginLinkedWrites records writes to rows on the other side of an edge whose column a
// mutation writes.
func (t *Mutations) beginLinkedWrites(ctx context.Context, k *model.Kind, m ent.Mutation) ([]account.Pending, error) {
	var out []account.Pending
	for i := range k.Edges {
		e := &k.Edges[i]
		column := e.Column.TargetKey
		if e.Column.Relation == descriptor.O2O && k.IsMutual(e) {
			column = e.Column.OwnKey
		}
		if column == "" {
			continue
		}
		ids := model.IDsOf(m.AddedIDs(e.Column.Ent))
		ids = append(ids, model.IDsOf(m.RemovedIDs(e.Column.Ent))...)
		if own, ok := k.ID(m); ok && m.EdgeCleared(e.Column.Ent) && !m.Op().Is(ent.OpCreate) {
			now, err := t.Referring(ctx, e.Target, column, k.BoundID(own))
			if err != nil {
				return nil, err
			}
			ids = append(ids, now...)
		}
		// ent keeps ids in maps; the order of changes must not depend on that.
		slices.SortFunc(ids, func(a, b any) int { return strings.Compare(e.Target.FormatID(a), e.Target.FormatID(b)) })
		seen := map[any]bool{}
		ids = slices.DeleteFunc(ids, func(id any) bool {
			again := seen[id]
			seen[id] = true
			return again
		})
		rows, err := t.Expect(ctx, e.Target, ids, store.Update)
		if err != nil {
			return nil, err
		}
		out = append(out, rows...)
	}
	return out, nil
}

// CountVersions increments the version of rows that a write on the other side of an
// edge has changed, since no builder of theirs took part.
func (t *Mutations) CountVersions(ctx context.Context, rows []account.Pending) error {
	for len(rows) > 0 {
		k, n := rows[0].Kind, 1
		for n < len(rows) && rows[n].Kind == k {
			n++
		}
		same := rows[:n]
		rows = rows[n:]
		if k.Entity.VersionColumn == "" {
			continue
		}
		keys := make([]any, n)
		for i, p := range same {
			keys[i] = k.BoundID(p.ID)
		}
		up := statement.Row{{Column: k.Entity.VersionColumn, V: 1, Add: true}}
		if _, err := t.Writer.UpdateMany(ctx, t.SQL, k.Entity, keys, up); err != nil {
			return err
		}
	}
	return nil
}
