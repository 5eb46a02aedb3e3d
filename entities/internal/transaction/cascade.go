package transaction

import (
	"context"
	"slices"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
)

// Layer is rows of one kind that a walk along foreign keys meets at one step.
type Layer struct {
	Kind  *model.Kind
	IDs   []any
	Depth int // steps from where the walk began
}

// Unvisited returns the rows that a walk has not met yet, and notes them.
func Unvisited(k *model.Kind, ids []any, met map[changes.Row]bool) []any {
	return slices.DeleteFunc(slices.Clone(ids), func(id any) bool {
		at := changes.RowOf(k, id)
		again := met[at]
		met[at] = true
		return again
	})
}

// Cascade is what foreign keys do when rows go, which no hook sees. Each row is in it once,
// however many keys lead to it, and a row that goes is not among the moved ones.
type Cascade struct {
	Gone  []Layer // the rows themselves, and then what goes with them, by depth
	Moved []Layer // whose reference is cleared
}

// Follow finds what foreign keys do when rows go. Schemas and rows may refer to each other in
// circles, and chains of rows may be long: it visits each row once, calls itself never, and asks
// step by step only for what goes.
func (t *Tx) Follow(ctx context.Context, k *model.Kind, ids []any) (*Cascade, error) {
	gone, moved := map[changes.Row]bool{}, map[changes.Row]bool{}
	c := &Cascade{Gone: []Layer{{Kind: k, IDs: Unvisited(k, ids, gone)}}}
	for next := 0; next < len(c.Gone); next++ {
		found, err := t.referringLayers(ctx, c.Gone[next], gone, func(r *descriptor.Referrer) bool { return r.Cascade })
		if err != nil {
			return nil, err
		}
		c.Gone = append(c.Gone, found...)
	}
	for _, l := range MergeLayers(c.Gone) {
		found, err := t.referringLayers(ctx, l, moved, func(r *descriptor.Referrer) bool { return r.SetNull && !r.Cascade })
		if err != nil {
			return nil, err
		}
		c.Moved = append(c.Moved, found...)
	}
	for i := range c.Moved {
		l := &c.Moved[i]
		l.IDs = slices.DeleteFunc(l.IDs, func(id any) bool { return gone[changes.RowOf(l.Kind, id)] })
	}
	return c, nil
}

// referringLayers returns the rows that refer to those of a layer by some of the keys that lead to it, and
// that a walk has not met.
func (t *Tx) referringLayers(ctx context.Context, l Layer, met map[changes.Row]bool, by func(*descriptor.Referrer) bool) (out []Layer, err error) {
	for i := range l.Kind.Entity.Referrers {
		r := &l.Kind.Entity.Referrers[i]
		if !by(r) || len(l.IDs) == 0 {
			continue
		}
		child := t.Model.ByName[r.Entity]
		found, err := t.ReferringThrough(ctx, child, r, l.Kind.BoundIDs(l.IDs))
		if err != nil {
			return nil, err
		}
		if found = Unvisited(child, found, met); len(found) > 0 {
			out = append(out, Layer{child, found, l.Depth + 1})
		}
	}
	return out, nil
}

// MergeLayers joins the layers of each kind, in the order of their first ones.
func MergeLayers(layers []Layer) (out []Layer) {
	at := map[*model.Kind]int{}
	for _, l := range layers {
		i, known := at[l.Kind]
		if !known {
			i = len(out)
			at[l.Kind] = i
			out = append(out, Layer{Kind: l.Kind})
		}
		out[i].IDs = append(out[i].IDs, l.IDs...)
	}
	return out
}

// maxNested is how many steps of a cascade are left to the database: SQLite follows no more than a
// thousand, PostgreSQL as many as its stack holds.
const maxNested = 256

// DeleteDeep deletes what goes with rows, from the far end, where a chain of rows is longer than
// what the database follows by itself.
func (t *Tx) DeleteDeep(ctx context.Context, c *Cascade) error {
	if c.Gone[len(c.Gone)-1].Depth <= maxNested {
		return nil
	}
	for end := len(c.Gone); end > 1; {
		begin := end - 1
		for begin > 1 && c.Gone[begin-1].Depth > c.Gone[end-1].Depth-maxNested {
			begin--
		}
		for _, l := range MergeLayers(c.Gone[begin:end]) {
			if _, err := t.Writer.DeleteMany(ctx, t.SQL, l.Kind.Entity, l.Kind.BoundIDs(l.IDs)); err != nil {
				return err
			}
		}
		end = begin
	}
	return nil
}
