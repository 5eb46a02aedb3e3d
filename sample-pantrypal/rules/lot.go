package rules

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/ent/household"
	"github.com/koan-go/koan/sample-pantrypal/ent/schema"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// today is the household's day in a run. Outside of one, where seeds and earlier data are
// written, there is none: known is false.
func today(ctx context.Context, c *ent.Client) (day time.Time, known bool, err error) {
	attempt, _, ok := run.Current(ctx)
	if !ok {
		return day, false, nil
	}
	zone := time.UTC.String()
	home, err := c.Household.Query().Where(household.ID(schema.HouseholdID)).Only(ctx)
	switch {
	case err == nil:
		zone = home.TimeZone
	case !ent.IsNotFound(err):
		return day, false, err
	}
	day, err = Today(attempt.Tape().Now(), zone)
	return day, err == nil, err
}

// wholeLot refuses a lot of which there is more than there was at first, and one that was opened on
// a day to come. What is counted to be more than came had come.
func wholeLot(next ent.Mutator) ent.Mutator {
	return hook.PantryItemFunc(func(ctx context.Context, m *ent.PantryItemMutation) (ent.Value, error) {
		if !m.Op().Is(ent.OpCreate | ent.OpUpdateOne) {
			return next.Mutate(ctx, m)
		}
		if err := openedBefore(ctx, m); err != nil {
			return nil, err
		}
		if err := noMoreThanCame(ctx, m); err != nil {
			return nil, err
		}
		return next.Mutate(ctx, m)
	})
}

func openedBefore(ctx context.Context, m *ent.PantryItemMutation) error {
	opened, said := m.OpenedAt()
	if !said {
		return nil
	}
	now, known, err := today(ctx, m.Client())
	if known && opened.After(now) {
		return fmt.Errorf("openedAt is %s, after today, %s; send the day on which it was opened, or null for what is closed", opened.Format(time.DateOnly), now.Format(time.DateOnly))
	}
	return err
}

func noMoreThanCame(ctx context.Context, m *ent.PantryItemMutation) error {
	amount, changed := m.Amount()
	came, said := m.InitialAmount()
	if !changed && !said {
		return nil
	}
	if !m.Op().Is(ent.OpCreate) {
		if !changed {
			var err error
			if amount, err = m.OldAmount(ctx); err != nil {
				return err
			}
		}
		if !said {
			before, err := m.OldInitialAmount(ctx)
			if err == nil && before != nil && *before < amount {
				m.SetInitialAmount(amount)
			}
			return err
		}
	}
	if said && amount > came {
		return fmt.Errorf("amount is %v, more than initialAmount, %v; send the amount that is left, or an initialAmount of at least that", amount, came)
	}
	return nil
}

// dateMovedLot sets the date until which a lot is good at the place that it moves to, unless the
// change has one.
func dateMovedLot(next ent.Mutator) ent.Mutator {
	return hook.PantryItemFunc(func(ctx context.Context, m *ent.PantryItemMutation) (ent.Value, error) {
		place, moved := m.Place()
		_, dated := m.BestBefore()
		if !moved || dated || m.BestBeforeCleared() || !m.Op().Is(ent.OpUpdateOne) {
			return next.Mutate(ctx, m)
		}
		now, known, err := today(ctx, m.Client())
		if err != nil {
			return nil, err
		}
		id, _ := m.ID()
		lot, err := m.Client().PantryItem.Get(ctx, id)
		if err != nil {
			return nil, err
		}
		if known && lot.FoodID != nil && lot.Place != place {
			f, _, err := foodOf(ctx, m.Client(), *lot.FoodID)
			if err != nil {
				return nil, err
			}
			if until := (stored{f.Shelf, string(lot.Place), lot.BestBefore}).at(string(place), now); until != nil {
				m.SetBestBefore(*until)
			}
		}
		return next.Mutate(ctx, m)
	})
}

// colder are the places in the order in which food keeps longer.
var colder = []string{"pantry", "fridge", "freezer"}

// stored is food in the house: how long its kind keeps, where it is, and until when it is good;
// nil is without limit.
type stored struct {
	shelf      catalogue.Shelf
	place      string
	bestBefore *time.Time
}

// at is until when the food is good at another place: where it is colder at least as long as it
// keeps there, where it is warmer at most that long. Food that is past its date stays so. It is nil where
// the date does not change.
func (s stored) at(place string, today time.Time) *time.Time {
	days := keepsAt(s.shelf, place)
	if s.place == "freezer" && days == 0 {
		days = s.shelf.Fridge // thawed food keeps no longer than that
	}
	if days == 0 || s.bestBefore != nil && s.bestBefore.Before(today) {
		return nil
	}
	until := today.AddDate(0, 0, days)
	if slices.Index(colder, place) > slices.Index(colder, s.place) {
		if s.bestBefore == nil || !until.After(*s.bestBefore) {
			return nil
		}
	} else if s.bestBefore != nil && !until.Before(*s.bestBefore) {
		return nil
	}
	return &until
}

func keepsAt(shelf catalogue.Shelf, place string) int {
	switch place {
	case "freezer":
		return shelf.Freezer
	case "fridge":
		return shelf.Fridge
	}
	return shelf.Pantry
}
