package kitchen

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/sample-pantrypal/foods"
)

// leastApart is how many days lie between two meals of a recipe where no rule says more.
const leastApart = 3

type dayIn struct {
	Date     string   `json:"date"`
	Meal     string   `json:"meal"              jsonschema_description:"breakfast, lunch, dinner ..."`
	Servings float64  `json:"servings"          jsonschema:"exclusiveMinimum=0"`
	Minutes  *int     `json:"minutes,omitempty" jsonschema:"minimum=1" jsonschema_description:"time to cook; without it, that of the household and its rules for this weekday"`
	Before   []meal   `json:"before,omitempty"  jsonschema_description:"meals that are about to be planned for earlier days"`
	Guests   []guest  `json:"guests,omitempty"  jsonschema:"maxItems=100"`
	Tags     []string `json:"tags,omitempty"    jsonschema:"maxItems=20" jsonschema_description:"only recipes with all of these tags, diets or cuisines"`
}

type dayMeal struct {
	covered
	Cuisine   string   `json:"cuisine"`
	Rating    *float64 `json:"rating"    jsonschema:"nullable"`
	Favourite bool     `json:"favourite"`
}

// ruledOut is a recipe that would do, but for a rule.
type ruledOut struct {
	Rule    string   `json:"rule"    jsonschema_description:"which, to stand before: rules out"`
	Name    string   `json:"name"`
	FoodIDs []string `json:"foodIds"`
	Needed  int      `json:"needed"`
	Lacking int      `json:"lacking" jsonschema_description:"of the lines that it needs"`
}

type dayOut struct {
	Minutes  int        `json:"minutes"`
	Within   string     `json:"within"   jsonschema_description:"the minutes in words, with the rule that they are of"`
	Apart    int        `json:"apart"    jsonschema_description:"days between two meals of one recipe"`
	ApartBy  string     `json:"apartBy"  jsonschema_description:"the rule that says so, to stand before: rules out"`
	Meals    []dayMeal  `json:"meals"    jsonschema_description:"those that keep all rules; where nothing has what a rule wants, those that keep the others"`
	RuledOut []ruledOut `json:"ruledOut" jsonschema_description:"what suits everybody in the time there is, and breaks a rule"`
	Wanted   []string   `json:"wanted"   jsonschema_description:"rules whose food or tag all of the meals have"`
	Unkept   []string   `json:"unkept"   jsonschema_description:"rules whose food or tag no meal has"`
	Idle     []string   `json:"idle"     jsonschema_description:"rules that are about nothing that there is, and why"`
	Past     []string   `json:"past"     jsonschema_description:"lots past their date, which no meal takes"`
}

// planRule is what a day has to keep.
type planRule struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	What     string   `json:"what"`
	Weekdays []string `json:"weekdays"`
	Days     int      `json:"days"`
	Minutes  int      `json:"minutes"`
}

// recipeHead is what rules ask of a recipe, beside its foods.
type recipeHead struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Cuisine     string   `json:"cuisine"`
	MealTypes   []string `json:"mealTypes"`
	Tags        []string `json:"tags"`
	DietaryTags []string `json:"dietaryTags"`
	PrepMinutes int      `json:"prepMinutes"`
	CookMinutes int      `json:"cookMinutes"`
	Rating      *float64 `json:"rating"`
	Favourite   bool     `json:"favourite"`
}

// takenDay is a meal that is planned or was cooked.
type takenDay struct {
	ID       string  `json:"id"`
	Date     string  `json:"date"`
	MealType string  `json:"mealType"`
	Servings float64 `json:"servings"`
	Status   string  `json:"status"`
	RecipeID string  `json:"recipeId"` // empty: eating out, or what is left of another meal
}

// dayMeals is the action day-meals.
func dayMeals(ctx context.Context, call framework.Call, in dayIn) (dayOut, error) {
	date, err := time.Parse(time.DateOnly, in.Date)
	if err != nil {
		return dayOut{}, fault.Newf(fault.InvalidPayload, "%q is not a day", fault.Clip(in.Date, 20)).WithPath("/date").WithHint("Send a day such as 2026-01-31.")
	}
	h, err := readHousehold(ctx, call)
	if err != nil {
		return dayOut{}, err
	}
	rules, err := all[planRule](ctx, call, "PlanRule", map[string]any{"filter": map[string]any{"active": true}, "sort": "id"})
	if err != nil {
		return dayOut{}, err
	}
	recipes, err := all[recipeHead](ctx, call, "Recipe", map[string]any{"fields": "id,name,cuisine,mealTypes,tags,dietaryTags,prepMinutes,cookMinutes,rating,favourite", "sort": "name"})
	if err != nil {
		return dayOut{}, err
	}
	if err := in.known(recipes); err != nil {
		return dayOut{}, err
	}
	out := dayOut{Meals: []dayMeal{}, RuledOut: []ruledOut{}, Idle: idle(h.book, rules, recipes)}
	out.Apart, out.ApartBy = apart(rules)
	today := slices.DeleteFunc(slices.Clone(rules), func(r planRule) bool { return len(r.Weekdays) > 0 && !slices.Contains(r.Weekdays, weekday(date)) })
	var hurry string
	if out.Minutes, hurry = timeToCook(h, date, today); in.Minutes != nil {
		out.Minutes, hurry = *in.Minutes, ""
	}
	out.Within = inWords(out.Minutes, hurry)
	taken, err := readTaken(ctx, call, h, in, date, out.Apart)
	if err != nil {
		return dayOut{}, err
	}
	free := slices.DeleteFunc(slices.Clone(recipes), func(r recipeHead) bool {
		minutes := r.PrepMinutes + r.CookMinutes // 0: nobody knows how long it takes
		return !slices.Contains(r.MealTypes, in.Meal) || minutes == 0 || minutes > out.Minutes || !in.tagged(r)
	})
	covers, err := coverMeals(ctx, call, in.asked(h, free, taken))
	if err != nil {
		return dayOut{}, err
	}
	out.Past = covers.Past
	for i, c := range covers.Meals {
		r := free[i]
		switch m := (dayMeal{c, r.Cuisine, r.Rating, r.Favourite}); {
		case len(c.Conflicts) > 0:
		case slices.ContainsFunc(taken, func(t takenDay) bool { return t.RecipeID == r.ID && t.near(date, out.Apart) }):
			out.ruleOut(out.ApartBy, m)
		default:
			out.Meals = append(out.Meals, m)
		}
	}
	heads := make(map[string]recipeHead, len(free))
	for _, r := range free {
		heads[r.ID] = r
	}
	out.keep(h.book, today, heads)
	return out, nil
}

// tagged reports whether a recipe has all tags that are asked for.
func (in dayIn) tagged(r recipeHead) bool {
	return !slices.ContainsFunc(in.Tags, func(tag string) bool { return !r.isCalled(strings.TrimSpace(tag)) })
}

// known refuses a tag that no recipe has.
func (in dayIn) known(recipes []recipeHead) error {
	for i, tag := range in.Tags {
		if slices.ContainsFunc(recipes, func(r recipeHead) bool { return r.isCalled(strings.TrimSpace(tag)) }) {
			continue
		}
		var there []string
		for _, r := range recipes {
			for _, t := range slices.Concat(r.Tags, r.DietaryTags) {
				if !slices.Contains(there, t) {
					there = append(there, t)
				}
			}
		}
		slices.Sort(there)
		return fault.Newf(fault.InvalidPayload, "No recipe has the tag %q.", fault.Clip(tag, 40)).WithPath(fmt.Sprintf("/tags/%d", i)).WithHint("The tags are: %s.", strings.Join(there, ", "))
	}
	return nil
}

// ruleOut takes note of a meal that would do, but for a rule.
func (out *dayOut) ruleOut(rule string, m dayMeal) {
	out.RuledOut = append(out.RuledOut, ruledOut{rule, m.Name, m.FoodIDs, m.Needed, len(m.Missing) + len(m.Unclear)})
}

// said is how a rule is named.
func (r planRule) said() string { return `"` + r.Name + `"` }

// apart is how many days the rules want between two meals of a recipe, and which of them does.
func apart(rules []planRule) (days int, by string) {
	days, by = leastApart, fmt.Sprintf("having no meal twice in %d days", leastApart)
	for _, r := range rules {
		if r.Kind == "no-repeat" && r.Days > days {
			days, by = r.Days, r.said()
		}
	}
	return days, by
}

// inWords says how long a meal may take, and which rule wants it so.
func inWords(minutes int, rule string) string {
	text := fmt.Sprintf("%d minutes", minutes)
	if minutes == 1 {
		text = "1 minute"
	}
	if rule != "" {
		text += " (" + rule + ")"
	}
	return text
}

// timeToCook is how long a meal may take on a day, and the rule that says so, if one does.
func timeToCook(h household, date time.Time, rules []planRule) (minutes int, by string) {
	minutes = cmp.Or(h.WeekdayMinutes, 45)
	if d := date.Weekday(); d == time.Saturday || d == time.Sunday {
		minutes = cmp.Or(h.WeekendMinutes, 90)
	}
	for _, r := range rules {
		if r.Kind == "max-minutes" && r.Minutes > 0 && r.Minutes < minutes {
			minutes, by = r.Minutes, r.said()
		}
	}
	return minutes, by
}

// readTaken reads the meals that a day has to reckon with: those of one recipe must not be near, and
// those that are planned up to it take from the stock. A meal that this one would stand in for is
// not among them.
func readTaken(ctx context.Context, call framework.Call, h household, in dayIn, date time.Time, apart int) ([]takenDay, error) {
	from := min(h.day(0), date.AddDate(0, 0, -apart).Format(time.DateOnly))
	rows, err := all[takenDay](ctx, call, "PlannedMeal", map[string]any{
		"filter": map[string]any{"date": map[string]any{"$gte": from, "$lte": date.AddDate(0, 0, apart).Format(time.DateOnly)}, "status": map[string]any{"$ne": "skipped"}},
		"fields": "id,date,mealType,servings,status,recipeId", "sort": "date,id",
	})
	return slices.DeleteFunc(rows, func(t takenDay) bool { return t.Date == in.Date && t.MealType == in.Meal && t.Status == "planned" }), err
}

// near reports whether a meal is less than some days from a date.
func (t takenDay) near(date time.Time, apart int) bool {
	other, err := time.Parse(time.DateOnly, t.Date)
	return err == nil && other.Sub(date).Abs() < time.Duration(apart)*24*time.Hour
}

// asked is what cover-meals is asked about recipes of the day.
func (in dayIn) asked(h household, recipes []recipeHead, taken []takenDay) coverIn {
	out := coverIn{Before: slices.Clone(in.Before), Meals: []meal{}, Guests: in.Guests}
	for _, t := range taken {
		if t.RecipeID != "" && t.Status == "planned" && t.Date >= h.day(0) && t.Date <= in.Date {
			out.Before = append(out.Before, meal{Key: t.ID, RecipeID: t.RecipeID, Servings: t.Servings, Date: t.Date})
		}
	}
	slices.SortStableFunc(out.Before, func(a, b meal) int { return cmp.Compare(a.Date, b.Date) })
	for _, r := range recipes {
		out.Meals = append(out.Meals, meal{Key: r.ID, RecipeID: r.ID, Servings: in.Servings, Date: in.Date})
	}
	return out
}

// keep leaves out what the day's rules avoid, and what has not what they want, if anything has.
func (out *dayOut) keep(book *foods.Book, rules []planRule, heads map[string]recipeHead) {
	fits := func(r planRule, m dayMeal) bool {
		return slices.Contains(m.FoodIDs, book.Find(r.What).ID) || slices.Contains(m.Aisles, strings.ToLower(r.What)) || heads[m.RecipeID].isCalled(r.What)
	}
	wants, names := []planRule{}, []string{}
	for _, r := range rules {
		switch {
		case r.What == "":
		case r.Kind == "avoid":
			out.Meals = slices.DeleteFunc(out.Meals, func(m dayMeal) bool {
				avoided := fits(r, m)
				if avoided {
					out.ruleOut(r.said(), m)
				}
				return avoided
			})
		case r.Kind == "want":
			wants, names = append(wants, r), append(names, r.Name)
		}
	}
	lacks := func(m dayMeal) int { return slices.IndexFunc(wants, func(r planRule) bool { return !fits(r, m) }) }
	wanted := slices.DeleteFunc(slices.Clone(out.Meals), func(m dayMeal) bool { return lacks(m) >= 0 })
	out.Wanted, out.Unkept = []string{}, []string{}
	if len(wanted) == 0 {
		out.Unkept = names
		return
	}
	for _, m := range out.Meals {
		if i := lacks(m); i >= 0 {
			out.ruleOut(wants[i].said(), m)
		}
	}
	out.Meals, out.Wanted = wanted, names
}

// isCalled reports whether a name is the cuisine or a tag of the recipe.
func (r recipeHead) isCalled(name string) bool {
	name = strings.ToLower(name)
	return r.Cuisine == name || slices.Contains(r.Tags, name) || slices.Contains(r.DietaryTags, name)
}

// idle are the rules that are about nothing that there is.
func idle(book *foods.Book, rules []planRule, recipes []recipeHead) []string {
	out := []string{}
	for _, r := range rules {
		if r.What == "" || book.Find(r.What).ID != "" || book.IsAisle(r.What) || slices.ContainsFunc(recipes, func(x recipeHead) bool { return x.isCalled(r.What) }) {
			continue
		}
		out = append(out, `"`+r.Name+`" has no effect: no food, aisle, cuisine or tag is called "`+r.What+`".`)
	}
	return out
}
