package web

import (
	"slices"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/run/approve"
)

// lot is a PantryItem as pages show it.
type lot struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Amount     float64 `json:"amount"`
	Unit       string  `json:"unit"`
	Place      string  `json:"place"`
	BestBefore *string `json:"bestBefore"`
	OpenedAt   *string `json:"openedAt"`
	Staple     bool    `json:"staple"`
	Status     string  `json:"status"`
	Version    int     `json:"version"`
	FoodID     *string `json:"foodId"`
	Food       *food   `json:"food"`
}

type food struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Aisle string `json:"aisle"`
}

// Until is the lot's date, "" for one that keeps.
func (l lot) Until() string {
	if l.BestBefore == nil {
		return ""
	}
	return *l.BestBefore
}

type leftover struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Servings   float64 `json:"servings"`
	Place      string  `json:"place"`
	BestBefore *string `json:"bestBefore"`
}

// suggestion is a dinner that tonight suggests.
type suggestion struct {
	RecipeID string   `json:"recipeId"`
	Name     string   `json:"name"`
	Minutes  int      `json:"minutes"`
	Servings float64  `json:"servings"`
	UsesSoon []string `json:"usesSoon"`
	ToBuy    []string `json:"toBuy"`
	Unclear  []string `json:"unclear"`
}

// soonDays is how far Home looks ahead.
const soonDays = 4

type homePage struct {
	Soon      []lot
	Leftovers []leftover
	Tonight   struct {
		Suggestions []suggestion `json:"suggestions"`
		Planned     *struct {
			MealID string `json:"mealId"`
			Name   string `json:"name"`
		} `json:"planned"`
		Note string `json:"note"`
	}
	Meal    *meal
	Run     string // that noted the meal as cooked, "" if it took nothing
	Codes   int    // that nobody has explained
	ToBuy   []shoppingList
	Waiting int // plans
}

func (s *site) home(v *visit) (any, error) {
	p := &homePage{}
	var err error
	until := v.day.plus(soonDays)
	if p.Soon, err = rows[lot](v, "PantryItem", query{"filter": query{"status": "available", "amount": query{"$gt": 0}, "bestBefore": query{"$lte": until}}, "sort": "bestBefore,name"}, 24); err != nil {
		return nil, err
	}
	if p.Leftovers, err = rows[leftover](v, "Leftover", query{"filter": query{"status": "available"}, "sort": "bestBefore,name"}, 12); err != nil {
		return nil, err
	}
	if _, err = v.action("tonight", map[string]any{}, &p.Tonight); err != nil {
		return nil, err
	}
	if p.Tonight.Planned != nil {
		m, err := row[meal](v, "PlannedMeal", p.Tonight.Planned.MealID, "recipe")
		if err != nil {
			return nil, err
		}
		p.Meal = &m
		if p.Run, err = cookedBy(v, m); err != nil {
			return nil, err
		}
	}
	if p.Codes, err = v.count("Detection", query{"status": "open"}); err != nil {
		return nil, err
	}
	if p.ToBuy, err = openLists(v); err != nil {
		return nil, err
	}
	p.ToBuy = slices.DeleteFunc(p.ToBuy, func(l shoppingList) bool { return l.Left == 0 })
	p.Waiting = s.waiting(v)
	return p, nil
}

// cookedBy is the run that noted a meal as cooked, as the diary has it.
func cookedBy(v *visit, m meal) (string, error) {
	if m.Status != "cooked" {
		return "", nil
	}
	events, err := rows[struct {
		Run string `json:"run"`
	}](v, "PantryEvent", query{"filter": query{"mealId": m.ID, "kind": "went", "reason": "cooked"}, "sort": "-id", "fields": "id,run"}, 1)
	if err != nil || len(events) == 0 {
		return "", err
	}
	return events[0].Run, nil
}

// waiting counts the plans that the caller may decide about; 0 for one who may not.
func (s *site) waiting(v *visit) int {
	plans, err := s.app.Plans().WaitingPlans(v.Context(), auth.From(v.Context()))
	if err != nil { // whoever may not decide has none
		return 0
	}
	return len(slices.DeleteFunc(plans, func(one *approve.Plan) bool {
		return s.app.Plans().Admit(v.Context(), s.verdict(v, one)) != nil // it cannot be carried out any more
	}))
}
