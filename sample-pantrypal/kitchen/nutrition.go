package kitchen

import (
	"context"
	"slices"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

type nutritionIn struct {
	RecipeID string `json:"recipeId,omitempty" jsonschema_description:"one recipe"`
	PlanID   string `json:"planId,omitempty"   jsonschema_description:"the meals of a plan; without both, all planned meals from today on"`
}

type nutrients struct {
	EnergyKcal    float64 `json:"energyKcal"`
	ProteinG      float64 `json:"proteinG"`
	CarbohydrateG float64 `json:"carbohydrateG"`
	FatG          float64 `json:"fatG"`
	FibreG        float64 `json:"fibreG"`
}

type mealNutrition struct {
	Date       string    `json:"date"`
	RecipeID   string    `json:"recipeId"`
	Name       string    `json:"name"`
	PerPortion nutrients `json:"perPortion"`
	Unweighed  []string  `json:"unweighed"  jsonschema_description:"lines that are not in the figures, and why"`
}

type memberNutrition struct {
	Name   string    `json:"name"`
	PerDay nutrients `json:"perDay" jsonschema_description:"average of the days that have a meal"`
	Target *float64  `json:"targetKcal" jsonschema:"nullable" jsonschema_description:"energy per day for this portion"`
}

type nutritionOut struct {
	Meals   []mealNutrition   `json:"meals"`
	Days    int               `json:"days"`
	Members []memberNutrition `json:"members"`
}

// nutrition is the action of that name.
func nutrition(ctx context.Context, call framework.Call, in nutritionIn) (nutritionOut, error) {
	if in.RecipeID != "" && in.PlanID != "" {
		return nutritionOut{}, fault.New(fault.InvalidPayload, "recipeId and planId exclude each other").WithPath("/planId").WithHint("Send one of them.")
	}
	h, err := readHousehold(ctx, call)
	if err != nil {
		return nutritionOut{}, err
	}
	meals := []plannedMeal{{RecipeID: in.RecipeID}}
	if in.RecipeID == "" {
		if meals, err = readMeals(ctx, call, h, in.PlanID); err != nil {
			return nutritionOut{}, err
		}
	}
	wanted := make([]meal, len(meals))
	for i, m := range meals {
		wanted[i].RecipeID = m.RecipeID
	}
	recipes, err := readRecipes(ctx, call, wanted)
	if err != nil {
		return nutritionOut{}, err
	}
	out := nutritionOut{Meals: []mealNutrition{}, Members: []memberNutrition{}}
	var total catalogue.Nutrition
	var days []string
	for _, m := range meals {
		r := recipes[m.RecipeID]
		n, unweighed := weigh(r, h)
		per := catalogue.Nutrition{}.Add(n, decimal.NewFromInt(1).Div(decimal.NewFromFloat(max(r.Servings, 1))))
		out.Meals = append(out.Meals, mealNutrition{m.Date, r.ID, r.Name, shown(per), unweighed})
		total = total.Add(per, decimal.NewFromInt(1))
		if !slices.Contains(days, m.Date) {
			days = append(days, m.Date)
		}
	}
	out.Days = len(days)
	for _, m := range h.Members {
		factor := decimal.NewFromFloat(m.Portion).Div(decimal.NewFromInt(int64(max(len(days), 1))))
		row := memberNutrition{Name: m.Name, PerDay: shown(catalogue.Nutrition{}.Add(total, factor))}
		if h.Target != nil {
			target := *h.Target * m.Portion
			row.Target = &target
		}
		out.Members = append(out.Members, row)
	}
	return out, nil
}

type plannedMeal struct {
	Date     string `json:"date"`
	RecipeID string `json:"recipeId"`
}

func readMeals(ctx context.Context, call framework.Call, h household, plan string) ([]plannedMeal, error) {
	filter := map[string]any{"status": "planned", "date": map[string]any{"$gte": h.day(0)}, "recipeId": map[string]any{"$ne": nil}}
	if plan != "" {
		if err := call.Invoke(ctx, "koan::MealPlan.get-by-id", map[string]any{"id": plan}, nil); err != nil {
			return nil, err
		}
		filter = map[string]any{"planId": plan, "status": map[string]any{"$ne": "skipped"}, "recipeId": map[string]any{"$ne": nil}}
	}
	return all[plannedMeal](ctx, call, "PlannedMeal", map[string]any{"filter": filter, "sort": "date,id", "fields": "id,date,recipeId"})
}

// weigh sums what a recipe's lines have, and names those that have no weight.
func weigh(r recipe, h household) (sum catalogue.Nutrition, unweighed []string) {
	unweighed = []string{}
	for _, l := range r.Ingredients {
		f, known := h.book.Of(l.FoodID)
		switch {
		case l.Optional:
			continue
		case !known:
			unweighed = append(unweighed, l.Name+": no food of the catalogue is known by this name")
			continue
		case l.Amount == nil || l.Unit == nil:
			continue // to taste
		case f.NDB == "":
			unweighed = append(unweighed, f.Name+": nobody has figures of what is in it")
			continue
		}
		grams, err := f.Convert(amountOf(*l.Amount, *l.Unit), quantity.Gram, h.system())
		if err != nil {
			unweighed = append(unweighed, err.Error())
			continue
		}
		sum = sum.Add(f.Nutrition, grams.Value.Shift(-2))
	}
	return sum, unweighed
}

func shown(n catalogue.Nutrition) nutrients {
	round := func(d decimal.Decimal) float64 { return d.Round(1).InexactFloat64() }
	return nutrients{
		EnergyKcal: n.EnergyKcal.Round(0).InexactFloat64(), ProteinG: round(n.Protein), CarbohydrateG: round(n.Carbohydrate), FatG: round(n.Fat), FibreG: round(n.Fibre),
	}
}
