package engine

import (
	"context"
	"slices"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/model"
)

// side is a row as one column of a join table has it.
type side struct{ table, column, id string }

// link is a row of a join table, seen from one side.
type link struct {
	other any  // the id at the other side
	was   bool // the transaction found it there
	seen  bool // and its caller may read the other side
}

// writtenLinks returns the many-to-many edges that a mutation writes. No row has them
// as columns, so a change shows them as lists of ids beside the row's own fields.
func (t *tx) writtenLinks(k *model.Kind, m ent.Mutation) []*model.Edge {
	return t.manyToMany(k, func(name string) bool {
		return len(m.AddedIDs(name))+len(m.RemovedIDs(name)) > 0 || m.EdgeCleared(name)
	})
}

// manyToMany returns the many-to-many edges of a kind that a recording run shows.
func (t *tx) manyToMany(k *model.Kind, take func(name string) bool) (out []*model.Edge) {
	if !t.attempt.Records() {
		return nil
	}
	for i := range k.Edges {
		e := &k.Edges[i]
		if e.Column.Relation == descriptor.M2M && take(e.Column.Ent) && (t.caller == nil || t.caller.reads(k, e)) {
			out = append(out, e)
		}
	}
	return out
}

func everyName(string) bool { return true }

// recordLinks records the links that rows have now. was says whether the transaction found
// those of which nothing is known yet.
func (t *tx) recordLinks(ctx context.Context, k *model.Kind, ids []any, links []*model.Edge, was bool) error {
	for _, e := range links {
		for _, id := range ids {
			if err := ctx.Err(); err != nil {
				return err
			}
			now, err := t.related(ctx, k, e.Target, e.Column, id)
			if err != nil {
				return err
			}
			if err := t.noteEach(ctx, k, id, e, now, was); err != nil {
				return err
			}
		}
	}
	return nil
}

// recordAdded records that the links which a mutation is about to add did not exist, unless
// they did.
func (t *tx) recordAdded(ctx context.Context, k *model.Kind, ids []any, m ent.Mutation, links []*model.Edge) error {
	for _, e := range links {
		for _, id := range ids {
			if err := t.noteEach(ctx, k, id, e, values(m.AddedIDs(e.Column.Ent)), false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *tx) noteEach(ctx context.Context, k *model.Kind, id any, e *model.Edge, others []any, was bool) error {
	readable, self := others, []any{id}
	if was && t.caller != nil {
		var err error
		if readable, err = t.readable(ctx, e.Target, others); err == nil {
			self, err = t.readable(ctx, k, self)
		}
		if err != nil {
			return err
		}
	}
	seen := setOf(readable)
	for _, other := range others {
		if err := t.attempt.Hold(linkBytes); err != nil {
			return err
		}
		own, far := side{e.Column.JoinTable, e.Column.JoinOwn, k.FormatID(id)}, side{e.Column.JoinTable, e.Column.JoinTarget, e.Target.FormatID(other)}
		was := was && !t.createdHere(k, id) && !t.createdHere(e.Target, other) && !t.listed[own] && !t.listed[far]
		t.noteLink(own, far.id, link{other, was, seen[other]})
		t.noteLink(far, own.id, link{id, was, len(self) > 0})
		if k.IsMutual(e) { // ent keeps one row for each direction
			own.column, far.column = far.column, own.column
			t.noteLink(own, far.id, link{other, was, seen[other]})
			t.noteLink(far, own.id, link{id, was, len(self) > 0})
		}
	}
	return nil
}

// markListed says that all links of rows which are about to be deleted are known. A
// link that is found later, at a row that was created again, is therefore new.
func (t *tx) markListed(k *model.Kind, ids []any, links []*model.Edge) {
	for _, e := range links {
		for _, id := range ids {
			if t.listed == nil {
				t.listed = map[side]bool{}
			}
			t.listed[side{e.Column.JoinTable, e.Column.JoinOwn, k.FormatID(id)}] = true
			if k.IsMutual(e) {
				t.listed[side{e.Column.JoinTable, e.Column.JoinTarget, k.FormatID(id)}] = true
			}
		}
	}
}

func (t *tx) noteLink(from side, to string, l link) {
	if t.links == nil {
		t.links = map[side]map[string]link{}
	}
	if t.links[from] == nil {
		t.links[from] = map[string]link{}
	}
	if _, known := t.links[from][to]; !known {
		t.links[from][to] = l
	}
}

// joined adds to what became of a row the ids at the other side of edges, where
// they are others than before: those that the caller may read.
func (t *tx) joined(ctx context.Context, r *netChange) error {
	for _, e := range r.links {
		now, err := t.related(ctx, r.kind, e.Target, e.Column, r.native)
		if err == nil && t.caller != nil {
			now, err = t.readable(ctx, e.Target, now)
		}
		if err != nil {
			return err
		}
		known := t.links[side{e.Column.JoinTable, e.Column.JoinOwn, r.id}]
		there := setOf(now)
		var before []any
		for _, id := range now {
			if l, ok := known[e.Target.FormatID(id)]; !ok || l.was {
				before = append(before, id)
			}
		}
		for _, l := range known {
			if l.was && l.seen && !there[l.other] {
				before = append(before, l.other)
			}
		}
		from, to := e.Target.ShowIDs(before), e.Target.ShowIDs(now)
		if !slices.Equal(from, to) {
			if err := t.attempt.Hold((len(from)+len(to))*keyBytes + len(r.from) + len(r.to)); err != nil { // they are copied
				return err
			}
			r.from, r.to = appendMember(r.from, e.JSON.Name, from), appendMember(r.to, e.JSON.Name, to)
		}
	}
	return nil
}

// appendMember adds a member to an image, if there is one.
func appendMember(image []byte, name string, value []string) []byte {
	if image == nil {
		return nil
	}
	out := slices.Clone(image[:len(image)-1])
	return append(append(append(append(append(out, ','), model.Encode(name)...), ':'), model.Encode(value)...), '}')
}
