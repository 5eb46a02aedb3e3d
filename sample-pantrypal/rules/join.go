package rules

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/hook"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
	"github.com/koan-go/koan/sample-pantrypal/ent/price"
	"github.com/koan-go/koan/sample-pantrypal/foods"
)

// joinLot completes a new lot by its food: which one its name stands for, whether it is a staple,
// where it is kept and until when it is good there, and how much of it there was at first.
func joinLot(next ent.Mutator) ent.Mutator {
	return hook.PantryItemFunc(func(ctx context.Context, m *ent.PantryItemMutation) (ent.Value, error) {
		if !m.Op().Is(ent.OpCreate) {
			// A reason or meal belongs to one change: what does not say it clears the last one's.
			if changesStock(m) {
				if _, said := m.Reason(); !said {
					m.ClearReason()
				}
				if _, said := m.MealID(); !said {
					m.ClearMealID()
				}
			}
			return next.Mutate(ctx, m)
		}
		book, err := Book(ctx, m.Client())
		if err != nil {
			return nil, err
		}
		name, _ := m.Name()
		id, said := m.FoodID()
		if !said {
			if id = book.Find(name).ID; id != "" {
				m.SetFoodID(id)
			}
		}
		f, _ := book.Of(id)
		if f.Staple {
			m.SetStaple(true)
		}
		if err := storeLot(ctx, m, f); err != nil {
			return nil, err
		}
		if _, said := m.InitialAmount(); !said {
			if amount, ok := m.Amount(); ok {
				m.SetInitialAmount(amount)
			}
		}
		return next.Mutate(ctx, m)
	})
}

// storeLot says where a new lot is and until when it is good, by the shelf life of its food, where
// whoever put it in has not.
func storeLot(ctx context.Context, m *ent.PantryItemMutation, f foods.Food) error {
	place, said := m.Place()
	if !said {
		usual, _ := f.Keeps()
		place = pantryitem.Place(usual)
		m.SetPlace(place)
	}
	_, dated := m.BestBefore()
	if dated || m.BestBeforeCleared() {
		return nil
	}
	now, known, err := today(ctx, m.Client())
	if days := keepsAt(f.Shelf, string(place)); known && days > 0 {
		m.SetBestBefore(now.AddDate(0, 0, days))
	}
	return err
}

func changesStock(m *ent.PantryItemMutation) bool {
	_, amount := m.Amount()
	_, added := m.AddedAmount()
	_, status := m.Status()
	return m.Op().Is(ent.OpUpdate|ent.OpUpdateOne) && (amount || added || status)
}

// joinIngredient completes a line of a recipe by its food.
func joinIngredient(next ent.Mutator) ent.Mutator {
	return hook.RecipeIngredientFunc(func(ctx context.Context, m *ent.RecipeIngredientMutation) (ent.Value, error) {
		if name, ok := m.Name(); ok {
			if _, said := m.FoodID(); !said && !m.FoodIDCleared() {
				id, err := foodNamed(ctx, m.Client(), name)
				if err != nil {
					return nil, err
				}
				if id != "" {
					m.SetFoodID(id)
				}
			}
		}
		return next.Mutate(ctx, m)
	})
}

// comparePrices computes what 1 kg, 1 l or 1 piece costs. A price that is withdrawn compares with none.
func comparePrices(next ent.Mutator) ent.Mutator {
	return hook.PriceFunc(func(ctx context.Context, m *ent.PriceMutation) (ent.Value, error) {
		if m.Op().Is(ent.OpDelete | ent.OpDeleteOne) {
			return next.Mutate(ctx, m)
		}
		paid, _ := m.Price()
		amount, _ := m.Amount()
		unit, _ := m.Unit()
		if !m.Op().Is(ent.OpCreate) {
			changed := slices.ContainsFunc(m.Fields(), func(f string) bool {
				return f == price.FieldPrice || f == price.FieldAmount || f == price.FieldUnit || f == price.FieldWithdrawn
			})
			if !changed && len(m.AddedFields()) == 0 {
				return next.Mutate(ctx, m)
			}
			ids, err := m.IDs(ctx)
			if err != nil {
				return nil, err
			}
			value, err := next.Mutate(ctx, m)
			if err != nil {
				return nil, err
			}
			rows, err := m.Client().Price.Query().Where(price.IDIn(ids...)).All(ctx)
			if err != nil {
				return nil, err
			}
			for _, row := range rows {
				if row.Withdrawn {
					if err := row.Update().ClearPerUnit().Exec(ctx); err != nil {
						return nil, err
					}
					continue
				}
				per, err := perUnit(row.Price, row.Amount, row.Unit)
				if err != nil {
					return nil, err
				}
				if row.PerUnit == nil || *row.PerUnit != per {
					if err := row.Update().SetPerUnit(per).Exec(ctx); err != nil {
						return nil, err
					}
				}
			}
			return value, nil
		}
		per, err := perUnit(paid, amount, unit)
		if err != nil {
			return nil, err
		}
		if withdrawn, _ := m.Withdrawn(); !withdrawn {
			m.SetPerUnit(per)
		}
		return next.Mutate(ctx, m)
	})
}

func perUnit(paid, amount float64, unit string) (float64, error) {
	large, err := foods.Large(amount, unit)
	if err != nil {
		return 0, err
	}
	if large <= 0 {
		return 0, fmt.Errorf("a price is for an amount above 0, not for %v %s", amount, unit)
	}
	return math.Round(paid/large*1e4) / 1e4, nil
}

// Today is the day that a household has at a moment.
func Today(now time.Time, zone string) (time.Time, error) {
	at, err := time.LoadLocation(zone)
	if err != nil {
		return time.Time{}, err
	}
	y, m, d := now.In(at).Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC), nil
}
