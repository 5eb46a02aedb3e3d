package engine

import (
	"context"
	"slices"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
)

// layer is rows of one kind that a walk along foreign keys meets at one step.
type layer struct {
	kind  *model.Kind
	ids   []any
	depth int // steps from where the walk began
}

// unvisited returns the rows that a walk has not met yet, and notes them.
func unvisited(k *model.Kind, ids []any, met map[changes.Row]bool) []any {
	return slices.DeleteFunc(slices.Clone(ids), func(id any) bool {
		at := changes.RowOf(k, id)
		again := met[at]
		met[at] = true
		return again
	})
}

// cascade is what foreign keys do when rows go, which no hook sees. Each row is in it once,
// however many keys lead to it, and a row that goes is not among the moved ones.
type cascade struct {
	gone  []layer // the rows themselves, and then what goes with them, by depth
	moved []layer // whose reference is cleared
}

// follow finds what foreign keys do when rows go. Schemas and rows may refer to each other in
// circles, and chains of rows may be long: it visits each row once, calls itself never, and asks
// step by step only for what goes.
func (t *transaction) follow(ctx context.Context, k *model.Kind, ids []any) (*cascade, error) {
	gone, moved := map[changes.Row]bool{}, map[changes.Row]bool{}
	c := &cascade{gone: []layer{{kind: k, ids: unvisited(k, ids, gone)}}}
	for next := 0; next < len(c.gone); next++ {
		found, err := t.referringLayers(ctx, c.gone[next], gone, func(r *descriptor.Referrer) bool { return r.Cascade })
		if err != nil {
			return nil, err
		}
		c.gone = append(c.gone, found...)
	}
	for _, l := range mergeLayers(c.gone) {
		found, err := t.referringLayers(ctx, l, moved, func(r *descriptor.Referrer) bool { return r.SetNull && !r.Cascade })
		if err != nil {
			return nil, err
		}
		c.moved = append(c.moved, found...)
	}
	for i := range c.moved {
		l := &c.moved[i]
		l.ids = slices.DeleteFunc(l.ids, func(id any) bool { return gone[changes.RowOf(l.kind, id)] })
	}
	return c, nil
}

// referringLayers returns the rows that refer to those of a layer by some of the keys that lead to it, and
// that a walk has not met.
func (t *transaction) referringLayers(ctx context.Context, l layer, met map[changes.Row]bool, by func(*descriptor.Referrer) bool) (out []layer, err error) {
	for i := range l.kind.Entity.Referrers {
		r := &l.kind.Entity.Referrers[i]
		if !by(r) || len(l.ids) == 0 {
			continue
		}
		child := t.Model.ByName[r.Entity]
		found, err := t.referringThrough(ctx, child, r, l.kind.BoundIDs(l.ids))
		if err != nil {
			return nil, err
		}
		if found = unvisited(child, found, met); len(found) > 0 {
			out = append(out, layer{child, found, l.depth + 1})
		}
	}
	return out, nil
}

// mergeLayers joins the layers of each kind, in the order of their first ones.
func mergeLayers(layers []layer) (out []layer) {
	at := map[*model.Kind]int{}
	for _, l := range layers {
		i, known := at[l.kind]
		if !known {
			i = len(out)
			at[l.kind] = i
			out = append(out, layer{kind: l.kind})
		}
		out[i].ids = append(out[i].ids, l.ids...)
	}
	return out
}

// maxNested is how many steps of a cascade are left to the database: SQLite follows no more than a
// thousand, PostgreSQL as many as its stack holds.
const maxNested = 256

// deleteDeep deletes what goes with rows, from the far end, where a chain of rows is longer than
// what the database follows by itself.
func (t *transaction) deleteDeep(ctx context.Context, c *cascade) error {
	if c.gone[len(c.gone)-1].depth <= maxNested {
		return nil
	}
	for end := len(c.gone); end > 1; {
		begin := end - 1
		for begin > 1 && c.gone[begin-1].depth > c.gone[end-1].depth-maxNested {
			begin--
		}
		for _, l := range mergeLayers(c.gone[begin:end]) {
			if _, err := t.Writer.DeleteMany(ctx, t.sql, l.kind.Entity, l.kind.BoundIDs(l.ids)); err != nil {
				return err
			}
		}
		end = begin
	}
	return nil
}
