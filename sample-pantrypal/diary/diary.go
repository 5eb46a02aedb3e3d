// Package diary keeps the pantry's diary: with every change of a PantryItem it
// writes a PantryEvent that says what came, what went, and why.
//
// What belongs here: the ent hook and the reading of a change. Not here:
// writing outside the transaction of the change itself.
package diary

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryevent"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/rules"
)

// Keep adds the hooks to a client. Events are written through the mutation's own
// client, so in the transaction of the change: both are committed or neither.
func Keep(c *ent.Client) {
	c.PantryItem.Use(write)
	c.PantryEvent.Use(inOrder)
}

// inOrder keeps an undo from taking back what came or went of a lot before what was noted of the
// same lot since: an undo that skips what was changed would leave the lot as it is, and take only
// its event.
func inOrder(next ent.Mutator) ent.Mutator {
	return hook.PantryEventFunc(func(ctx context.Context, m *ent.PantryEventMutation) (ent.Value, error) {
		if !run.Undoing(ctx) || !m.Op().Is(ent.OpDelete|ent.OpDeleteOne) {
			return next.Mutate(ctx, m)
		}
		ids, err := m.IDs(ctx)
		if err != nil {
			return nil, err
		}
		events, err := m.Client().PantryEvent.Query().Where(pantryevent.IDIn(ids...)).All(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			since, err := m.Client().PantryEvent.Query().Where(pantryevent.ItemID(e.ItemID), pantryevent.IDGT(e.ID), pantryevent.RunNEQ(e.Run),
				pantryevent.KindIn(pantryevent.KindCame, pantryevent.KindWent)).First(ctx)
			switch {
			case err == nil:
				return nil, fault.Newf(fault.Conflict, "of %s something %s since", e.ItemName, since.Kind).WithRetry(fault.Fix).WithHint("Undo run %s first.", since.Run)
			case !ent.IsNotFound(err):
				return nil, err
			}
		}
		return next.Mutate(ctx, m)
	})
}

type withoutEntries struct{}

// WithoutEntries returns a context in which changes are not noted: for lots whose events
// are stored with them.
func WithoutEntries(ctx context.Context) context.Context {
	return context.WithValue(ctx, withoutEntries{}, true)
}

func write(next ent.Mutator) ent.Mutator {
	return hook.PantryItemFunc(func(ctx context.Context, m *ent.PantryItemMutation) (ent.Value, error) {
		if run.Undoing(ctx) || ctx.Value(withoutEntries{}) != nil {
			return next.Mutate(ctx, m) // what the run had noted is undone with it
		}
		before, err := stored(ctx, m)
		if err != nil {
			return nil, fmt.Errorf("diary: reading what is about to change: %w", err)
		}
		value, err := next.Mutate(ctx, m)
		if err != nil {
			return value, err
		}
		after, err := result(ctx, m, value, before)
		if err != nil {
			return nil, fmt.Errorf("diary: reading what changed: %w", err)
		}
		var why said
		if reason, ok := m.Reason(); ok {
			why.reason = &reason
		}
		if meal, ok := m.MealID(); ok {
			why.meal = &meal
		}
		id, now := "", time.Now()
		if a, _, ok := run.Current(ctx); ok { // whose clock the app may have set to another day
			id, now = a.Run().ID, a.Clock()
		}
		var entries []*ent.PantryEventCreate
		for _, p := range pair(before, after) {
			units, err := p.units(ctx, m.Client())
			if err != nil {
				return nil, fmt.Errorf("diary: %w", err)
			}
			if e, ok := read(p.before, p.after, units, why); ok {
				entries = append(entries, e.create(m.Client(), id, now))
			}
		}
		if err := m.Client().PantryEvent.CreateBulk(entries...).Exec(ctx); err != nil {
			return nil, fmt.Errorf("diary: %w", err)
		}
		return value, nil
	})
}

// stored reads the items that a mutation is about to change, as they are.
func stored(ctx context.Context, m *ent.PantryItemMutation) ([]*ent.PantryItem, error) {
	if m.Op().Is(ent.OpCreate) {
		return nil, nil
	}
	ids, err := m.IDs(ctx)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	return m.Client().PantryItem.Query().Where(pantryitem.IDIn(ids...)).WithProduct().Order(pantryitem.ByID()).All(ctx)
}

// result returns the items as the mutation left them.
func result(ctx context.Context, m *ent.PantryItemMutation, value ent.Value, before []*ent.PantryItem) ([]*ent.PantryItem, error) {
	if m.Op().Is(ent.OpCreate) {
		created, ok := value.(*ent.PantryItem)
		if !ok {
			return nil, fmt.Errorf("creating gave a %T", value)
		}
		return []*ent.PantryItem{created}, nil
	}
	if m.Op().Is(ent.OpDelete|ent.OpDeleteOne) || len(before) == 0 {
		return nil, nil
	}
	ids := make([]string, len(before))
	for i, item := range before {
		ids[i] = item.ID
	}
	return m.Client().PantryItem.Query().Where(pantryitem.IDIn(ids...)).Order(pantryitem.ByID()).All(ctx)
}

// change is one item before and after; nil if it did not or does not exist.
type change struct{ before, after *ent.PantryItem }

// units is how many of the unit after the change one of the unit before it is, 0 where they do not
// convert.
func (p change) units(ctx context.Context, c *ent.Client) (decimal.Decimal, error) {
	if p.before == nil || p.after == nil || p.before.Unit == p.after.Unit {
		return decimal.NewFromInt(1), nil
	}
	units, err := rules.UnitsIn(ctx, c, p.before, p.after.Unit)
	if missing := (*quantity.Unconvertible)(nil); errors.As(err, &missing) {
		return decimal.Zero, nil
	}
	return units, err
}

func pair(before, after []*ent.PantryItem) []change {
	left := make(map[string]*ent.PantryItem, len(after))
	for _, item := range after {
		left[item.ID] = item
	}
	var out []change
	for _, item := range before {
		out = append(out, change{item, left[item.ID]})
		delete(left, item.ID)
	}
	for _, item := range after {
		if left[item.ID] != nil {
			out = append(out, change{nil, item})
		}
	}
	return out
}
