package kitchen

import (
	"context"
	"slices"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// foodRow is a food of the household's own, or one of the catalogue to which it gives names.
type foodRow struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Origin    string   `json:"origin"`
	Aliases   []string `json:"aliases"`
	OwnNames  []string `json:"ownNames"`
	Aisle     string   `json:"aisle"`
	Allergens []string `json:"allergens"`
	Diets     []string `json:"diets"`
	Guessed   []string `json:"guessed"`
	Density   *float64 `json:"density"`
	Staple    bool     `json:"staple"`
	Thing     bool     `json:"thing"`
	shelfLife
	portions
}

// shelfLife is how many days a food keeps in each place.
type shelfLife struct {
	Pantry  int `json:"shelfLifePantry"`
	Fridge  int `json:"shelfLifeFridge"`
	Freezer int `json:"shelfLifeFreezer"`
}

// portions is what units of a food weigh.
type portions struct {
	Portions []struct {
		Unit  string  `json:"unit"`
		Grams float64 `json:"grams"`
	} `json:"portions"`
}

// readBook reads what the household of the call's set knows of foods.
func readBook(ctx context.Context, call framework.Call) (*foods.Book, error) {
	rows, err := all[foodRow](ctx, call, "Food", map[string]any{
		"filter": map[string]any{"$or": []any{map[string]any{"origin": "household"}, map[string]any{"ownNames": map[string]any{"$null": false}}}},
		"with":   map[string]any{"portions": map[string]any{"limit": 100}}, "sort": "id",
	})
	if err != nil {
		return nil, err
	}
	own := make([]foods.Own, len(rows))
	for i, r := range rows {
		own[i] = foods.Own{ID: r.ID, Name: r.Name, Names: r.OwnNames, Catalogue: r.Origin == "catalogue", Guessed: r.Guessed}
		if !own[i].Catalogue {
			own[i].Names = slices.Concat(r.Aliases, r.OwnNames)
			own[i].Facts = r.facts()
		}
	}
	return foods.NewBook(own), nil
}

func (r foodRow) facts() catalogue.Food {
	f := catalogue.Food{
		Aisle: r.Aisle, Allergens: r.Allergens, Diets: r.Diets, Density: foods.Figures(r.Density), Staple: r.Staple, Thing: r.Thing,
		Shelf: catalogue.Shelf{Pantry: r.Pantry, Fridge: r.Fridge, Freezer: r.Freezer},
	}
	for _, p := range r.Portions {
		f.Portions = append(f.Portions, catalogue.Portion{Portion: quantity.Portion{Unit: quantity.Unit(p.Unit), Grams: foods.Figures(&p.Grams)}})
	}
	return f
}
