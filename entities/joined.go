package entities

import (
	"context"
	"encoding/json"
	"slices"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/run"
)

// joins are the many-to-many edges that a mutation changes. They are columns of no
// row, so a change shows them as lists of ids beside the row's own fields.
func (t *tx) joins(k *kind, m ent.Mutation) (out []*edge) {
	if !t.attempt.Records() {
		return nil
	}
	for i := range k.edges {
		e := &k.edges[i]
		if e.column.Relation != descriptor.M2M || t.caller != nil && t.caller.Entity(e.target.name()) == nil {
			continue
		}
		name := e.column.Ent
		if len(m.AddedIDs(name))+len(m.RemovedIDs(name)) > 0 || m.EdgeCleared(name) {
			out = append(out, e)
		}
	}
	return out
}

// withJoins adds to the image of a row the ids at the other side of edges, those
// that the caller may read.
func (t *tx) withJoins(ctx context.Context, k *kind, id any, image []byte, joins []*edge) ([]byte, error) {
	if image == nil || len(joins) == 0 {
		return image, nil
	}
	out := slices.Clone(image[:len(image)-1])
	for _, e := range joins {
		ids, err := t.related(ctx, k, e.target, e.column, id)
		if err == nil && t.caller != nil {
			ids, err = t.readable(ctx, e.target, ids)
		}
		if err != nil {
			return nil, err
		}
		shown := make([]string, len(ids))
		for i, id := range ids {
			shown[i] = e.target.FormatID(id)
		}
		out = append(append(append(append(out, ','), encode(e.json.Name)...), ':'), encode(shown)...)
	}
	return append(out, '}'), nil
}

// joinedBefore notes what many-to-many edges of rows are before a mutation.
func (t *tx) joinedBefore(ctx context.Context, rows []pending, joins []*edge) error {
	if len(joins) == 0 {
		return nil
	}
	for i := range rows {
		p := &rows[i]
		var err error
		if p.seen, err = t.withJoins(ctx, p.kind, p.id, p.seen, joins); err != nil {
			return err
		}
		p.joins = joins
	}
	return nil
}

// joinedAfter completes the image of a row that was created with such edges.
func (t *tx) joinedAfter(ctx context.Context, k *kind, id any, c *run.Change, joins []*edge) (err error) {
	if len(joins) > 0 {
		var after json.RawMessage
		if after, err = t.withJoins(ctx, k, id, c.After, joins); err == nil {
			c.After = after
		}
	}
	return err
}
