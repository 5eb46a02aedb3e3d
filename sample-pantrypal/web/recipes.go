package web

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/sample-pantrypal/stilllife"
)

type recipesPage struct {
	Query   string
	Date    string // the day that a dish is chosen for, "" for none
	Meal    string // of that day
	Hidden  []pair // what the form of the search keeps
	Filters []filter
	Times   []filter // by what a recipe takes: at most one is on
	Recipes []recipeCard
}

type pair struct{ Name, Value string }

// filter is a choice among the recipes, and where it leads to.
type filter struct {
	Text string
	On   bool
	To   string
}

// recipeCard is a recipe in the grid.
type recipeCard struct {
	recipeHead
	Lacks []string // of what it needs
	Known bool     // whether that was looked at
}

// Ready reports whether everything is in the house.
func (c recipeCard) Ready() bool { return c.Known && len(c.Lacks) == 0 }

// Bounds of the grid.
const (
	maxRecipes = 200
	fewLacking = 2 // things to buy for what "can be cooked now, or nearly"
)

// withinMinutes are what a recipe may take at most, as far as anybody asks for that.
var withinMinutes = []int{15, 30, 45, 60}

// choices are the filters by their names in an address.
var choices = []struct {
	name  string
	keeps func(recipeCard) bool
}{
	{"now", func(c recipeCard) bool { return len(c.Lacks) <= fewLacking }},
	{"vegetarian", func(c recipeCard) bool { return slices.Contains(c.DietaryTags, "vegetarian") }},
	{"vegan", func(c recipeCard) bool { return slices.Contains(c.DietaryTags, "vegan") }},
	{"favourite", func(c recipeCard) bool { return c.Favourite }},
	{"lunchbox", func(c recipeCard) bool { return slices.Contains(c.Tags, "lunchbox") }},
	{"side", func(c recipeCard) bool { return slices.Contains(c.MealTypes, "side") }},
	{"lunch", func(c recipeCard) bool { return slices.Contains(c.MealTypes, "lunch") }},
	{"breakfast", func(c recipeCard) bool { return slices.Contains(c.MealTypes, "breakfast") }},
}

func recipes(v *visit) (any, error) {
	asked := v.URL.Query()
	p := &recipesPage{Query: strings.TrimSpace(asked.Get("q"))}
	if date := asked.Get("date"); date != "" {
		p.Date = v.day.chosen(date)
		asked.Set("date", p.Date)
		p.Hidden = append(p.Hidden, pair{"date", p.Date})
		if p.Meal = "dinner"; slices.Contains(dayMeals, asked.Get("meal")) {
			p.Meal = asked.Get("meal")
			p.Hidden = append(p.Hidden, pair{"meal", p.Meal})
		}
	}
	q := query{"sort": "name", "fields": []string{"id", "name", "cuisine", "prepMinutes", "cookMinutes", "servings", "rating", "favourite", "timesCooked", "tags", "dietaryTags", "mealTypes", "photo"}}
	if p.Query != "" {
		ids, err := recipesWith(v, p.Query)
		if err != nil {
			return nil, err
		}
		q["filter"] = query{"id": query{"$in": ids}}
	}
	var err error
	if p.Recipes, err = rows[recipeCard](v, "Recipe", q, maxRecipes); err != nil {
		return nil, err
	}
	if slices.Contains(asked["f"], "now") {
		if err := p.look(v); err != nil {
			return nil, err
		}
	}
	p.within(v.day, asked)
	for _, c := range choices {
		on := slices.Contains(asked["f"], c.name)
		if on {
			p.Recipes = slices.DeleteFunc(p.Recipes, func(r recipeCard) bool { return !c.keeps(r) })
			p.Hidden = append(p.Hidden, pair{"f", c.name})
		}
		p.Filters = append(p.Filters, filter{v.day.word("filter", c.name), on, toggled(asked, c.name)})
	}
	return p, nil
}

// within keeps what takes no longer than was asked for. Of the times one is on; what none of them is
// asks for nothing, as a filter that nobody knows.
func (p *recipesPage) within(d day, asked url.Values) {
	wanted := asked.Get("minutes")
	asked.Del("minutes")
	for _, most := range withinMinutes {
		text := strconv.Itoa(most)
		to := maps.Clone(asked)
		if wanted != text {
			to.Set("minutes", text)
		}
		p.Times = append(p.Times, filter{d.t("filter.minutes", most), wanted == text, toggled(to, "")})
	}
	at := slices.IndexFunc(p.Times, func(f filter) bool { return f.On })
	if at < 0 {
		return
	}
	asked.Set("minutes", wanted)
	p.Hidden = append(p.Hidden, pair{"minutes", wanted})
	p.Recipes = slices.DeleteFunc(p.Recipes, func(r recipeCard) bool {
		minutes := r.PrepMinutes + r.CookMinutes
		return minutes == 0 || minutes > withinMinutes[at] // 0: nobody has said
	})
}

// toggled is the address of the recipes with a filter turned on, or off if it is on.
func toggled(asked url.Values, name string) string {
	to := url.Values{}
	for _, kept := range []string{"q", "date", "meal", "minutes"} {
		if text := asked.Get(kept); text != "" {
			to.Set(kept, text)
		}
	}
	for _, c := range choices {
		if slices.Contains(asked["f"], c.name) != (c.name == name) {
			to.Add("f", c.name)
		}
	}
	if len(to) == 0 {
		return "/recipes"
	}
	return "/recipes?" + to.Encode()
}

// recipesWith finds recipes by what they are called or described as, by what goes into them as the
// recipe calls it, and by a food under any of its names.
func recipesWith(v *visit, text string) ([]string, error) {
	type of struct {
		ID       string `json:"id"`
		RecipeID string `json:"recipeId"`
	}
	ids := []string{}
	add := func(id string) {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	named, err := rows[of](v, "Recipe", query{"q": text, "fields": []string{"id"}}, maxRecipes)
	if err != nil {
		return nil, err
	}
	for _, r := range named {
		add(r.ID)
	}
	asked := []query{{"q": text}}
	var out struct {
		Found []struct {
			Food *struct {
				ID string `json:"id"`
			} `json:"food"`
		} `json:"found"`
	}
	if _, err := v.action("find-food", map[string]any{"names": []string{text}}, &out); err != nil {
		return nil, err
	}
	for _, f := range out.Found {
		if f.Food != nil {
			asked = append(asked, query{"filter": query{"foodId": f.Food.ID}})
		}
	}
	for _, q := range asked {
		q["fields"] = []string{"id", "recipeId"}
		lines, err := rows[of](v, "RecipeIngredient", q, pageRows*5)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			add(l.RecipeID)
		}
	}
	return ids, nil
}

// look finds out what each recipe lacks, and puts those first that lack the least.
func (p *recipesPage) look(v *visit) error {
	var meals []any
	for _, r := range p.Recipes {
		meals = append(meals, map[string]any{"key": r.ID, "recipeId": r.ID, "servings": v.day.Portions})
	}
	if len(meals) == 0 {
		return nil
	}
	all, err := v.coveringAll(meals, false)
	if err != nil {
		return err
	}
	for i := range p.Recipes {
		at := slices.IndexFunc(all, func(c coverage) bool { return c.Key == p.Recipes[i].ID })
		if at >= 0 {
			p.Recipes[i].Lacks, p.Recipes[i].Known = all[at].lacks(), true
		}
	}
	slices.SortStableFunc(p.Recipes, func(a, b recipeCard) int { return len(a.Lacks) - len(b.Lacks) })
	return nil
}

// importRecipe makes a recipe of a text, or of what a page carries for search engines.
func importRecipe(v *visit) (done, error) {
	in := map[string]any{}
	v.texts(in, "name", "source")
	text := strings.TrimSpace(v.FormValue("text"))
	switch {
	case text == "":
		return done{}, v.refuse("fault.noRecipe").WithPath("/text")
	case strings.HasPrefix(text, "{"), strings.HasPrefix(text, "["), strings.Contains(text, "application/ld+json"):
		in["jsonLd"] = text
	default:
		in["text"] = text
	}
	var out struct {
		RecipeID string `json:"recipeId"`
	}
	run, err := v.act("import-recipe", in, &out)
	return done{"/recipes/" + out.RecipeID, "imported", run}, err
}

// rateRecipe notes how good a recipe is, or that it is a favourite.
func rateRecipe(v *visit) (done, error) {
	in := map[string]any{}
	if v.FormValue("do") == "favourite" {
		in["favourite"] = v.FormValue("favourite") == "yes"
	}
	if err := v.numbers(in, "rating"); err != nil {
		return done{}, err
	}
	if len(in) == 0 {
		return done{}, v.refuse("fault.nothing")
	}
	to := "/recipes/" + v.PathValue("id")
	run, err := v.patch("Recipe", v.PathValue("id"), in)
	return done{v.back(to), "rated", run}, err
}

// maxPictured is how many lines of a recipe its picture looks at.
const maxPictured = 40

// picture draws a recipe.
func (s *site) picture(w http.ResponseWriter, r *http.Request) {
	v := visitOf(s, w, r)
	one, err := row[struct {
		ID        string   `json:"id"`
		Name      string   `json:"name"`
		Tags      []string `json:"tags"`
		MealTypes []string `json:"mealTypes"`
		Photo     *string  `json:"photo"`
		DrawnAs   string   `json:"drawnAs"`
	}](v, "Recipe", r.PathValue("id"))
	if err != nil {
		noPicture(w, err)
		return
	}
	if one.Photo != nil && photographed(v, *one.Photo) {
		return
	}
	lines, err := rows[ingredient](v, "RecipeIngredient", query{"filter": query{"recipeId": one.ID}, "sort": "position,id"}, maxPictured)
	if err != nil {
		noPicture(w, err)
		return
	}
	dish := stilllife.Dish{Name: cmp.Or(one.DrawnAs, one.Name), Kinds: append(one.Tags, one.MealTypes...)}
	for _, l := range lines {
		food := l.Name
		if l.FoodID != nil {
			food = *l.FoodID
		}
		dish.Foods = append(dish.Foods, food)
	}
	w.Header().Set("Content-Type", stilllife.Type)
	w.Header().Set("Cache-Control", pictureKept(r))
	_, _ = w.Write(stilllife.Draw(dish))
}

// pictureKept says how long a browser keeps a picture: by an address that names no version it would show the one from
// before a photo was taken.
func pictureKept(r *http.Request) string {
	if r.URL.Query().Has("v") {
		return "private, max-age=86400"
	}
	return "private, no-cache"
}

// noPicture answers where there is none: an image shows no page that says why.
func noPicture(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if entry, ok := fault.Lookup(fault.CodeOf(err)); ok && entry.HTTP >= http.StatusBadRequest {
		status = entry.HTTP
	}
	w.WriteHeader(status)
}
