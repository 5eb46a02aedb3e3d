package account

import (
	"context"
	"slices"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/transaction"
)

// WrittenLinks returns the many-to-many edges that a mutation writes. No row has them
// as columns, so a change shows them as lists of ids beside the row's own fields.
func (t *Account) WrittenLinks(k *model.Kind, m ent.Mutation) []*model.Edge {
	return t.ManyToMany(k, func(name string) bool {
		return len(m.AddedIDs(name))+len(m.RemovedIDs(name)) > 0 || m.EdgeCleared(name)
	})
}

// ManyToMany returns the many-to-many edges of a kind that a recording run shows.
func (t *Account) ManyToMany(k *model.Kind, take func(name string) bool) (out []*model.Edge) {
	if !t.Attempt.Records() {
		return nil
	}
	for i := range k.Edges {
		e := &k.Edges[i]
		if e.Column.Relation == descriptor.M2M && take(e.Column.Ent) && (t.ReportedTo == nil || t.ReportedTo.ReadsEdge(k, e)) {
			out = append(out, e)
		}
	}
	return out
}

// WritesLinks reports whether a mutation writes many-to-many edges.
func WritesLinks(k *model.Kind, m ent.Mutation) bool {
	for i := range k.Edges {
		e := &k.Edges[i]
		if name := e.Column.Ent; e.Column.Relation == descriptor.M2M && (len(m.AddedIDs(name))+len(m.RemovedIDs(name)) > 0 || m.EdgeCleared(name)) {
			return true
		}
	}
	return false
}

func EveryName(string) bool { return true }

// RecordLinks records the links that rows have now. was says whether the transaction found
// those of which nothing is known yet.
func (t *Account) RecordLinks(ctx context.Context, k *model.Kind, ids []any, links []*model.Edge, was bool) error {
	for _, e := range links {
		for _, id := range ids {
			if err := ctx.Err(); err != nil {
				return err
			}
			now, err := t.Related(ctx, k, e.Target, e.Column, id)
			if err != nil {
				return err
			}
			if err := t.addLinks(ctx, k, id, e, now, was); err != nil {
				return err
			}
		}
	}
	return nil
}

// RecordAdded records that the links which a mutation is about to add did not exist, unless
// they did.
func (t *Account) RecordAdded(ctx context.Context, k *model.Kind, ids []any, m ent.Mutation, links []*model.Edge) error {
	for _, e := range links {
		for _, id := range ids {
			if err := t.addLinks(ctx, k, id, e, model.IDsOf(m.AddedIDs(e.Column.Ent)), false); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Account) addLinks(ctx context.Context, k *model.Kind, id any, e *model.Edge, others []any, was bool) error {
	readable, self := others, []any{id}
	if was && t.ReportedTo != nil {
		var err error
		if readable, err = t.ReportedTo.Readable(ctx, e.Target, others); err == nil {
			self, err = t.ReportedTo.Readable(ctx, k, self)
		}
		if err != nil {
			return err
		}
	}
	seen := model.SetOf(readable)
	for _, other := range others {
		if err := t.Attempt.Hold(linkBytes); err != nil {
			return err
		}
		t.Log.AddLink(changes.Link{Kind: k, Edge: e, ID: id, Other: other, Was: was, Readable: seen[other], OwnToo: len(self) > 0})
	}
	return nil
}

// joined adds to what became of a row the ids at the other side of edges, where
// they are others than before: those that the caller may read.
func (t *Account) joined(ctx context.Context, r *changes.Net) error {
	for _, e := range r.Links {
		now, err := t.Related(ctx, r.Kind, e.Target, e.Column, r.Native)
		if err == nil && t.ReportedTo != nil {
			now, err = t.ReportedTo.Readable(ctx, e.Target, now)
		}
		if err != nil {
			return err
		}
		from, to := e.Target.ShowIDs(t.Log.LinkedBefore(r.Row, e, now)), e.Target.ShowIDs(now)
		if !slices.Equal(from, to) {
			if err := t.Attempt.Hold((len(from)+len(to))*transaction.KeyBytes + len(r.From) + len(r.To)); err != nil { // they are copied
				return err
			}
			r.From, r.To = appendMember(r.From, e.JSON.Name, from), appendMember(r.To, e.JSON.Name, to)
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
