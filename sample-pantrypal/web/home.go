package web

import (
	"slices"
	"strings"

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

// GoodOn reports whether it can be eaten on a day.
func (l leftover) GoodOn(day string) bool { return l.BestBefore == nil || *l.BestBefore >= day }

// maxLeftovers is how many leftovers a page shows.
const maxLeftovers = 12

func leftovers(v *visit) ([]leftover, error) {
	return rows[leftover](v, "Leftover", query{"filter": query{"status": "available"}, "sort": "bestBefore,name"}, maxLeftovers)
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
	Instead  []string `json:"instead"` // what can stand in for something to buy
}

// Others are the ideas beside the one that Home shows first: beside a meal that is planned, all.
func (p *homePage) Others() []suggestion {
	if p.Meal == nil {
		return p.Ideas[min(1, len(p.Ideas)):]
	}
	return p.Ideas
}

// soonDays is how far Home looks ahead.
const soonDays = 4

type homePage struct {
	Soon      []lot
	Leftovers []leftover
	Ideas     []suggestion // for tonight, those first for which everything is in the house
	Note      string       // why there are none
	Meal      *meal        // tonight's, or the dish of it that is no side
	Dishes    []dish       // the others
	Lacks     []string     // what the meal that is planned lacks
	Run       string       // that noted the meal as cooked, "" if it took nothing
	Codes     int          // that nobody has explained
	ToBuy     []shoppingList
	Waiting   int // plans
}

// dish is one of several of a meal.
type dish struct {
	meal
	Lacks []string
	Run   string // that noted it as cooked
}

// Ready reports whether a dish can be cooked without shopping.
func (s suggestion) Ready() bool { return len(s.ToBuy)+len(s.Unclear) == 0 }

func (s *site) home(v *visit) (any, error) {
	p := &homePage{}
	var err error
	until := v.day.plus(soonDays)
	if p.Soon, err = rows[lot](v, "PantryItem", query{"filter": query{"status": "available", "amount": query{"$gt": 0}, "bestBefore": query{"$lte": until}}, "sort": "bestBefore,name", "with": "food"}, 24); err != nil {
		return nil, err
	}
	if p.Leftovers, err = leftovers(v); err != nil {
		return nil, err
	}
	if err = p.tonight(v); err != nil {
		return nil, err
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

const (
	ideasAsked = 12 // suggestions that Home chooses from
	ideasShown = 3
	maxDishes  = 20 // of one meal
)

// tonight finds what is planned for today, else what could be cooked, and what there is to it.
func (p *homePage) tonight(v *visit) error {
	var out struct {
		Suggestions []suggestion `json:"suggestions"`
		Planned     *struct{}    `json:"planned"`
		Note        string       `json:"note"`
	}
	if _, err := v.action("tonight", map[string]any{"count": ideasAsked}, &out); err != nil {
		return err
	}
	p.Ideas, p.Note = out.Suggestions, v.day.spokenAll(strings.SplitAfter(out.Note, `". `), "")
	if out.Planned != nil {
		if err := p.dishes(v); err != nil {
			return err
		}
	}
	// What one would have to go shopping for comes after what can be cooked at once.
	slices.SortStableFunc(p.Ideas, func(a, b suggestion) int {
		switch {
		case a.Ready() == b.Ready():
			return 0
		case a.Ready():
			return -1
		}
		return 1
	})
	p.Ideas = p.Ideas[:min(len(p.Ideas), ideasShown)]
	return nil
}

// dishes reads what is planned for tonight, the meal first and what is eaten beside it after that.
func (p *homePage) dishes(v *visit) error {
	all, err := mealsOf(v, query{"filter": query{"date": v.day.Today, "mealType": "dinner", "status": query{"$ne": "skipped"}}, "sort": "id"}, maxDishes)
	if err != nil || len(all) == 0 {
		return err
	}
	beside := func(m meal) int {
		if m.Recipe != nil && m.Recipe.Beside() {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b meal) int { return beside(a) - beside(b) })
	var cooked []any
	for _, m := range all {
		if m.Recipe != nil && m.Status == "planned" {
			cooked = append(cooked, map[string]any{"key": m.ID, "recipeId": m.RecipeID, "servings": m.Servings})
		}
	}
	var there []coverage
	if len(cooked) > 0 {
		if there, err = v.coveringAll(cooked, true); err != nil {
			return err
		}
	}
	for _, m := range all {
		d := dish{meal: m}
		if d.Run, err = cookedBy(v, m); err != nil {
			return err
		}
		if at := slices.IndexFunc(there, func(c coverage) bool { return c.Key == m.ID }); at >= 0 {
			d.Lacks = there[at].lacks()
		}
		p.Dishes = append(p.Dishes, d)
	}
	first := p.Dishes[0]
	p.Meal, p.Lacks, p.Run, p.Dishes = &first.meal, first.Lacks, first.Run, p.Dishes[1:]
	p.Ideas = slices.DeleteFunc(p.Ideas, func(s suggestion) bool {
		return !s.Ready() || slices.ContainsFunc(all, func(m meal) bool { return m.RecipeID == s.RecipeID })
	})
	if len(p.Lacks) == 0 {
		p.Ideas = nil
	}
	return nil
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
