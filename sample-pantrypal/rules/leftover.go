package rules

import (
	"context"
	"fmt"
	"time"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// cookedFood is how many days cooked food keeps.
var cookedFood = catalogue.Shelf{Pantry: 1, Fridge: 3, Freezer: 90}

// dateLeftover sets the date until which cooked food is good where it is kept, unless the change
// has one, and refuses a date before it was cooked.
func dateLeftover(next ent.Mutator) ent.Mutator {
	return hook.LeftoverFunc(func(ctx context.Context, m *ent.LeftoverMutation) (ent.Value, error) {
		date := dateNewLeftover
		switch {
		case m.Op().Is(ent.OpUpdateOne):
			date = dateKeptLeftover
		case !m.Op().Is(ent.OpCreate):
			return next.Mutate(ctx, m)
		}
		if err := date(ctx, m); err != nil {
			return nil, err
		}
		return next.Mutate(ctx, m)
	})
}

func dateNewLeftover(_ context.Context, m *ent.LeftoverMutation) error {
	cooked, _ := m.CookedOn()
	if until, said := m.BestBefore(); said {
		return goodWhenCooked(cooked, &until)
	}
	place, _ := m.Place()
	m.SetBestBefore(cooked.AddDate(0, 0, keepsAt(cookedFood, string(place))))
	return nil
}

func dateKeptLeftover(ctx context.Context, m *ent.LeftoverMutation) error {
	cooked, again := m.CookedOn()
	until, dated := m.BestBefore()
	place, moved := m.Place()
	dated = dated || m.BestBeforeCleared()
	if !again && !dated && !moved {
		return nil
	}
	id, _ := m.ID()
	row, err := m.Client().Leftover.Get(ctx, id)
	if err != nil {
		return err
	}
	if !again {
		cooked = row.CookedOn
	}
	switch {
	case m.BestBeforeCleared():
		return nil
	case dated:
		return goodWhenCooked(cooked, &until)
	case !moved || place == row.Place:
		return goodWhenCooked(cooked, row.BestBefore)
	}
	now, known, err := today(ctx, m.Client())
	if err != nil || !known {
		return err
	}
	if until := (stored{cookedFood, string(row.Place), row.BestBefore}).at(string(place), now); until != nil {
		m.SetBestBefore(*until)
	}
	return nil
}

func goodWhenCooked(cooked time.Time, until *time.Time) error {
	if until != nil && until.Before(cooked) {
		return fmt.Errorf("bestBefore is %s, before cookedOn, %s; send the last day on which it is good, or leave bestBefore out", until.Format(time.DateOnly), cooked.Format(time.DateOnly))
	}
	return nil
}
