package web

import (
	"cmp"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// meal is a PlannedMeal as pages show it.
type meal struct {
	ID       string      `json:"id"`
	Date     string      `json:"date"`
	MealType string      `json:"mealType"`
	Servings float64     `json:"servings"`
	ForLater float64     `json:"forLater"`
	Status   string      `json:"status"`
	RecipeID string      `json:"recipeId"`
	PlanID   *string     `json:"planId"`
	Notes    string      `json:"notes"`
	Called   string      `json:"name"` // where it has no recipe
	Recipe   *recipeHead `json:"recipe"`

	unnamed string // what it is called where nobody has said it
}

// mealsOf reads planned meals.
func mealsOf(v *visit, q query, most int) ([]meal, error) {
	q["with"] = "recipe"
	all, err := rows[meal](v, "PlannedMeal", q, most)
	for i := range all {
		all[i].unnamed = v.day.t("meal.unnamed")
	}
	return all, err
}

// Name is what is eaten.
func (m meal) Name() string {
	if m.Recipe == nil {
		return cmp.Or(m.Called, m.Notes, m.unnamed)
	}
	return m.Recipe.Name
}

// Takes is how long it takes, in words; "" where there is nothing to cook.
func (m meal) Takes(d day) string {
	if m.Recipe == nil {
		return ""
	}
	return m.Recipe.Takes(d)
}

// recipeHead is what lists show of a recipe.
type recipeHead struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Cuisine     string   `json:"cuisine"`
	PrepMinutes int      `json:"prepMinutes"`
	CookMinutes int      `json:"cookMinutes"`
	Servings    int      `json:"servings"`
	Rating      *float64 `json:"rating"`
	Favourite   bool     `json:"favourite"`
	TimesCooked int      `json:"timesCooked"`
	Tags        []string `json:"tags"`
	DietaryTags []string `json:"dietaryTags"`
	MealTypes   []string `json:"mealTypes"`
	Photo       *string  `json:"photo"` // its file
}

// Version is what the address of its picture has, so that a new photo is seen at once.
func (r recipeHead) Version() string {
	if r.Photo == nil {
		return "?v=drawn"
	}
	return "?v=" + *r.Photo
}

// Beside reports whether it is eaten beside another dish: a side alone is no meal.
func (r recipeHead) Beside() bool {
	for _, t := range r.MealTypes {
		if t != "side" && t != "dessert" {
			return false
		}
	}
	return len(r.MealTypes) > 0
}

// Takes is how long it takes, in words.
func (r recipeHead) Takes(d day) string {
	if minutes := r.PrepMinutes + r.CookMinutes; minutes > 0 {
		return d.t("minutes", minutes)
	}
	return d.t("minutes.unknown")
}

type weekDay struct {
	Date   string
	Past   bool
	Meals  []meal
	Dinner bool // it has one
}

// dayMeals are the meals of a day in their order, which forms offer.
var dayMeals = []string{"breakfast", "lunch", "dinner"}

// place is a meal's among those of its day.
func (m meal) place() int {
	if at := slices.Index(dayMeals, m.MealType); at >= 0 {
		return at
	}
	return len(dayMeals)
}

type weekPage struct {
	Days           []weekDay
	Before, After  string
	Open           []string // days that a meal can move to
	Leftovers      []leftover
	Start, Current string
	Now            bool // the week begins today
	Types          []string
	Weekdays       []choice // on which lunches are packed
}

const (
	weekDays = 7
	workdays = 5 // of them
)

func week(v *visit) (any, error) {
	today, err := time.Parse(time.DateOnly, v.day.Today)
	if err != nil {
		return nil, err
	}
	from := today
	if text := v.URL.Query().Get("from"); text != "" {
		if from, err = time.Parse(time.DateOnly, text); err != nil {
			return nil, noDay(v.day.tongue, text)
		}
	}
	date := func(n int) string { return from.AddDate(0, 0, n).Format(time.DateOnly) }
	p := &weekPage{Before: date(-weekDays), After: date(weekDays), Start: date(0), Current: v.day.Today, Now: date(0) == v.day.Today, Types: dayMeals, Weekdays: choicesOf(weekdays, weekdays[:workdays])}
	meals, err := mealsOf(v, query{"filter": query{"date": query{"$gte": date(0), "$lt": date(weekDays)}, "status": query{"$ne": "skipped"}}, "sort": "date,id"}, pageRows)
	if err != nil {
		return nil, err
	}
	if p.Leftovers, err = leftovers(v); err != nil {
		return nil, err
	}
	for n := range weekDays {
		d := weekDay{Date: date(n), Past: date(n) < v.day.Today}
		for _, m := range meals {
			if m.Date == d.Date {
				d.Meals, d.Dinner = append(d.Meals, m), d.Dinner || m.MealType == "dinner"
			}
		}
		slices.SortStableFunc(d.Meals, func(a, b meal) int { return a.place() - b.place() })
		p.Days = append(p.Days, d)
		if !d.Past {
			p.Open = append(p.Open, d.Date)
		}
	}
	return p, nil
}

func noDay(l *tongue, text string) error {
	return fault.New(fault.InvalidPayload, l.t("fault.day", l.quoted(fault.Clip(text, 20))))
}

// maxAhead is how many days ahead a meal is planned, as the actions have it.
const maxAhead = 366

// chosen is a day that an address names for a meal: today for none, and for one that cannot be.
func (d day) chosen(date string) string {
	if d.admit(date) != nil {
		return d.Today
	}
	return date
}

// admit refuses a day that no meal can be planned for.
func (d day) admit(date string) error {
	n, ok := d.left(date)
	switch {
	case !ok:
		return noDay(d.tongue, date)
	case n < 0:
		return fault.New(fault.InvalidPayload, d.t("fault.past", d.on(date))).WithPath("/date")
	case n > maxAhead:
		return fault.New(fault.InvalidPayload, d.t("fault.ahead", d.on(date))).WithPath("/date")
	}
	return nil
}

// planWeek plans what is free of the next days.
func planWeek(v *visit) (done, error) {
	in := map[string]any{"leftovers": true}
	v.texts(in, "start", "meal")
	for _, name := range []string{"tags", "weekdays"} {
		if sent := v.PostForm[name]; len(sent) > 0 {
			in[name] = sent
		}
	}
	if err := v.numbers(in, "servings"); err != nil {
		return done{}, err
	}
	if err := v.readDay(); err != nil {
		return done{}, err
	}
	if start, _ := in["start"].(string); start != "" {
		if _, err := time.Parse(time.DateOnly, start); err != nil {
			return done{}, noDay(v.day.tongue, start)
		}
		if start < v.day.Today {
			delete(in, "start")
		}
	}
	run, err := v.act("week-plan", in, nil)
	return done{v.back("/week"), "planned", run}, err
}

// planMeal plans for a day what a form says: a recipe, what is left of another meal, or something
// else by its name.
func planMeal(v *visit) (done, error) {
	if err := v.readDay(); err != nil {
		return done{}, err
	}
	in := map[string]any{"date": v.day.Today, "servings": v.day.Portions}
	v.texts(in, "date", "name", "mealType")
	recipe, leftover := v.FormValue("recipe"), v.FormValue("leftover")
	switch {
	case leftover != "":
		in["leftoverId"] = leftover
	case recipe != "" || in["name"] == nil:
		in["recipeId"] = recipe
	}
	if err := v.day.admit(in["date"].(string)); err != nil {
		return done{}, err
	}
	if err := v.numbers(in, "servings"); err != nil {
		return done{}, err
	}
	if n, _ := in["servings"].(float64); n <= 0 || n > maxServings {
		return done{}, v.refuse("fault.servings", maxServings).WithPath("/servings")
	}
	if v.FormValue("anyway") == "" {
		if err := v.admitMeal(in); err != nil {
			return done{}, err
		}
	}
	run, err := v.submit(catalog.EntityID("PlannedMeal", "upsert"), map[string]any{"model": in}, nil)
	return done{v.back("/"), "planned", run}, err
}

// admitMeal refuses a meal that somebody of the household is allergic to. Of what has only a name nobody knows.
func (v *visit) admitMeal(in map[string]any) error {
	recipe, _ := in["recipeId"].(string)
	if id, _ := in["leftoverId"].(string); id != "" {
		var out struct {
			Leftovers []struct {
				LeftoverID string
				Allergies  []string
			}
		}
		if _, err := v.action("find-leftovers", map[string]any{"date": in["date"]}, &out); err != nil {
			return err
		}
		for _, l := range out.Leftovers {
			if l.LeftoverID == id && len(l.Allergies) > 0 {
				return v.refuse("fault.allergies", v.day.spokenAll(l.Allergies, "; ")).WithPath("/leftover").WithHint("%s", v.day.t("hint.chooseElse"))
			}
		}
	}
	if recipe == "" {
		return nil
	}
	who, err := v.covering(recipe, in["servings"])
	if err != nil {
		return err
	}
	if len(who.Allergies) > 0 {
		return v.refuse("fault.allergies", v.day.spokenAll(who.Allergies, "; ")).WithPath("/recipe").
			WithHint("%s", v.day.t("hint.anyway"))
	}
	return nil
}

// changeMeal moves a meal, changes for how many or what it is, or drops it.
func changeMeal(v *visit) (done, error) {
	in := map[string]any{"mealId": v.PathValue("id")}
	switch v.FormValue("do") {
	case "move":
		v.texts(in, "to")
	case "servings":
		if err := v.numbers(in, "servings"); err != nil {
			return done{}, err
		}
	case "instead":
		v.texts(in, "recipe")
	case "skip":
		in["skip"] = true
	default:
		return done{}, v.refuse("fault.nothing")
	}
	run, err := v.act("replan", in, nil)
	return done{v.back("/week"), "replanned", run}, err
}

// cooked notes that a meal was cooked.
func cooked(v *visit) (done, error) {
	in := map[string]any{"mealId": v.PathValue("id")}
	if err := v.numbers(in, "leftovers", "rating"); err != nil {
		return done{}, err
	}
	run, err := v.act("cooked", in, nil)
	return done{"/meals/" + v.PathValue("id"), "cooked", run}, err
}

// cookedRecipe notes that a recipe was cooked, planned or not.
func cookedRecipe(v *visit) (done, error) {
	in := map[string]any{"recipe": v.PathValue("id")}
	if err := v.numbers(in, "servings", "leftovers", "rating"); err != nil {
		return done{}, err
	}
	var out struct {
		MealID string `json:"mealId"`
	}
	run, err := v.act("cooked", in, &out)
	return done{"/meals/" + out.MealID, "cooked", run}, err
}

// servedPage is what a meal took, after it was cooked.
type servedPage struct {
	Meal      meal
	Taken     []event
	Leftovers []leftover
	Run       string
}

func served(v *visit) (any, error) {
	m, err := row[meal](v, "PlannedMeal", v.PathValue("id"), "recipe")
	if err != nil {
		return nil, err
	}
	m.unnamed = v.day.t("meal.unnamed")
	p := &servedPage{Meal: m}
	if p.Taken, err = rows[event](v, "PantryEvent", query{"filter": query{"mealId": m.ID, "kind": "went", "reason": "cooked"}, "sort": "itemName,id"}, pageRows); err != nil {
		return nil, err
	}
	if p.Leftovers, err = rows[leftover](v, "Leftover", query{"filter": query{"mealId": m.ID, "status": "available"}, "sort": "id"}, pageRows); err != nil {
		return nil, err
	}
	p.Run, err = cookedBy(v, m)
	return p, err
}
