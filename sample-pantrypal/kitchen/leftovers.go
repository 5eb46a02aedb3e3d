package kitchen

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
)

type leftoversIn struct {
	Date   string  `json:"date,omitempty"   jsonschema:"format=date"  jsonschema_description:"the day on which they are eaten; without it, today"`
	Guests []guest `json:"guests,omitempty" jsonschema:"maxItems=100" jsonschema_description:"who eats too"`
}

type leftover struct {
	LeftoverID string   `json:"leftoverId"`
	Name       string   `json:"name"`
	Servings   float64  `json:"servings"   jsonschema_description:"portions that no planned meal has"`
	Place      string   `json:"place"`
	BestBefore *string  `json:"bestBefore" jsonschema:"nullable"`
	Conflicts  []string `json:"conflicts"  jsonschema_description:"whom it does not suit, and why"`
	Allergies  []string `json:"allergies"  jsonschema_description:"those of the conflicts that are allergies"`
}

type leftoversOut struct {
	Leftovers []leftover `json:"leftovers" jsonschema_description:"what goes off first comes first"`
}

// leftoverRow is what is asked of a Leftover.
type leftoverRow struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Servings   float64 `json:"servings"`
	Place      string  `json:"place"`
	BestBefore *string `json:"bestBefore"`
	Meal       *struct {
		RecipeID string `json:"recipeId"`
	} `json:"meal"`
	Planned []struct {
		Servings float64 `json:"servings"`
	} `json:"planned"`
}

// findLeftovers is the action find-leftovers.
func findLeftovers(ctx context.Context, call framework.Call, in leftoversIn) (leftoversOut, error) {
	out := leftoversOut{Leftovers: []leftover{}}
	h, err := readHousehold(ctx, call)
	if err != nil {
		return out, err
	}
	if h, err = h.with(in.Guests); err != nil {
		return out, err
	}
	day := h.day(0)
	if in.Date != "" {
		if _, err := time.Parse(time.DateOnly, in.Date); err != nil {
			return out, fault.Newf(fault.InvalidPayload, "%q is not a day", fault.Clip(in.Date, 20)).WithPath("/date").WithHint("Send a day such as %s.", day)
		}
		day = in.Date
	}
	rows, err := all[leftoverRow](ctx, call, "Leftover", map[string]any{
		"filter": map[string]any{"status": "available", "servings": map[string]any{"$gt": 0}, "$or": []any{
			map[string]any{"bestBefore": map[string]any{"$gte": day}}, map[string]any{"bestBefore": nil},
		}},
		"sort": "bestBefore,id",
		"with": map[string]any{"meal": map[string]any{"fields": "recipeId"}, "planned": map[string]any{"fields": "servings", "filter": map[string]any{"status": "planned"}}},
	})
	if err != nil {
		return out, err
	}
	var of []meal
	for _, r := range rows {
		if r.Meal != nil && r.Meal.RecipeID != "" {
			of = append(of, meal{RecipeID: r.Meal.RecipeID})
		}
	}
	recipes, err := readRecipes(ctx, call, of)
	if err != nil {
		return out, err
	}
	for _, r := range rows {
		left := decimal.NewFromFloat(r.Servings)
		for _, m := range r.Planned {
			left = left.Sub(decimal.NewFromFloat(m.Servings))
		}
		if !left.IsPositive() {
			continue
		}
		lines := []line{{Name: r.Name}} // of what nobody has cooked here, nobody knows what is in it
		if r.Meal != nil && r.Meal.RecipeID != "" {
			lines = recipes[r.Meal.RecipeID].Ingredients
		}
		conflicts, allergies := h.conflicts(lines)
		out.Leftovers = append(out.Leftovers, leftover{r.ID, r.Name, float(left), r.Place, r.BestBefore, conflicts, allergies})
	}
	return out, nil
}
