package write

import (
	"context"
	"slices"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/fault"
)

// edges are what models say of relationships.
type edges struct{ Rows }

// reduce takes from what a model says of edges that other rows hold what is so
// already: rows that stay are not taken off and put back, which a required inverse
// would refuse and their version would count. What says nothing new is dropped, and
// what is new on an edge that is not written from here is refused.
func (t edges) reduce(ctx context.Context, id any, m *model.Values) error {
	kept := m.Edges[:0:0]
	var details []fault.Detail
	for _, ed := range m.Edges {
		news, err := t.reduceToMany(ctx, id, &ed)
		if err != nil {
			return err
		}
		if !news {
			continue
		}
		if !ed.Keyed() && (ed.JSON.ReadOnly || ed.JSON.Immutable) {
			details = append(details, m.ReadOnlyEdge(&ed))
		}
		kept = append(kept, ed)
	}
	m.Edges = kept
	if len(details) > 0 {
		return fault.Invalid(details...)
	}
	return nil
}

// reduceToMany reports whether what a model says of an edge is new, and reduces a
// to-many edge to the difference from now.
func (t edges) reduceToMany(ctx context.Context, id any, ed *model.EdgeValue) (bool, error) {
	if !ed.JSON.Many {
		return t.completeToOne(ctx, id, ed)
	}
	now, err := t.Related(ctx, t.k, ed.Target, ed.Edge, id)
	if err == nil {
		now, err = t.by.Readable(ctx, ed.Target, now) // the others stay as they are
	}
	if err != nil {
		return false, err
	}
	if ed.Clear {
		ed.Clear, ed.Unlink = false, model.Difference(now, ed.Link)
	} else {
		ed.Unlink = model.Difference(now, model.Difference(now, ed.Unlink))
	}
	ed.Link = model.Difference(ed.Link, now)
	return len(ed.Link)+len(ed.Unlink) > 0, nil
}

// completeToOne completes what a model says of a to-one edge that the other side holds, or
// holds as well: who is there now has to leave before another one comes. It tells
// whether that says anything new; of columns of the own table alone it always may.
func (t edges) completeToOne(ctx context.Context, id any, ed *model.EdgeValue) (news bool, err error) {
	if ed.Edge.FarKey() == "" {
		return true, nil
	}
	now, err := t.Referring(ctx, ed.Target, ed.Edge.FarKey(), t.k.BoundID(id))
	if err != nil {
		return false, err
	}
	if len(now) == 0 {
		return len(ed.Link) > 0, nil
	}
	seen, err := t.by.Readable(ctx, ed.Target, now)
	if err != nil || len(ed.Link) > 0 && slices.Equal(seen, ed.Link) {
		return false, err
	}
	ed.Clear = true
	return true, nil
}

// dropUnchangedGuarded drops the edges of a model that say what its row has already, where the
// column is read-only or set at creation only, and returns what is wrong with those
// that say anything else. What the caller cannot read is not compared.
func (t edges) dropUnchangedGuarded(ctx context.Context, id any, m *model.Values) (details []fault.Detail, err error) {
	kept := m.Edges[:0:0]
	for _, ed := range m.Edges {
		if !ed.IsGuarded() {
			kept = append(kept, ed)
			continue
		}
		var now []any
		if !ed.JSON.WriteOnly {
			now, err = t.currentReference(ctx, &ed, id)
		}
		if err != nil {
			return nil, err
		}
		if ed.JSON.WriteOnly || !slices.Equal(now, ed.Link) {
			details = append(details, m.ReadOnlyEdge(&ed))
		}
	}
	m.Edges = kept
	return details, nil
}

// currentReference returns the id that the row's own column of an edge has, none where it is
// null or leads to a row that the caller may not read.
func (t edges) currentReference(ctx context.Context, ed *model.EdgeValue, id any) ([]any, error) {
	b := t.Statement()
	b.Raw("SELECT ").Name(ed.Edge.OwnKey).Raw(" FROM ").Name(t.k.Entity.Table).Raw(" WHERE ")
	filter.OwnKeyIs(b, &t.k.Entity.Key, t.k.BoundID(id))
	b.Raw(" AND ").Name(ed.Edge.OwnKey).Raw(" IS NOT NULL")
	now, err := t.IDs(ctx, ed.Target, b)
	if err != nil {
		return nil, err
	}
	return t.by.Readable(ctx, ed.Target, now)
}
