package account

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/run/store"
)

// ExpectCascade records what foreign keys are about to do, as expect does.
func (t *Account) ExpectCascade(ctx context.Context, c *transaction.Cascade) (gone, moved []Pending, err error) {
	if err := t.keepCascade(ctx, c); err != nil {
		return nil, nil, err
	}
	for _, l := range transaction.MergeLayers(c.Gone) {
		rows, err := t.Expect(ctx, l.Kind, l.IDs, store.Delete, t.ManyToMany(l.Kind, EveryName)...)
		if err != nil {
			return nil, nil, err
		}
		gone = append(gone, rows...)
	}
	for _, l := range transaction.MergeLayers(c.Moved) {
		rows, err := t.Expect(ctx, l.Kind, l.IDs, store.Update)
		if err != nil {
			return nil, nil, err
		}
		moved = append(moved, rows...)
	}
	return gone, moved, nil
}

// keepCascade keeps the rows for an undo, which restores first what was kept last: rows before
// those that refer to them.
func (t *Account) keepCascade(ctx context.Context, c *transaction.Cascade) error {
	mark := len(t.Past.order)
	for _, l := range transaction.MergeLayers(slices.Concat(c.Moved, c.Gone)) {
		if err := t.Past.Keep(ctx, l.Kind, l.IDs, false); err != nil {
			return err
		}
	}
	if mark >= len(t.Past.order) { // nothing is kept any more, or all of it was before
		return nil
	}
	depth := map[changes.Row]int{}
	for _, l := range c.Gone {
		for _, id := range l.IDs {
			depth[changes.RowOf(l.Kind, id)] = l.Depth
		}
	}
	place := func(p *Past) int {
		if d, goes := depth[changes.RowOf(p.kind, p.id)]; goes {
			return -d
		}
		return math.MinInt
	}
	slices.SortStableFunc(t.Past.order[mark:], func(a, b *Past) int { return cmp.Compare(place(a), place(b)) })
	return nil
}
