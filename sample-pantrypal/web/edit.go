package web

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// editPage is the form of a recipe.
type editPage struct {
	Recipe recipeText
	Name   string
	Own    bool   // else one of the household's own is made of it
	Lines  string // its ingredients, one a line
	Steps  string
	Meals  []choice
	Diets  []choice
}

// choice is a box to tick.
type choice struct {
	Value string
	On    bool
}

// What a recipe may be, and whom it may suit.
var (
	recipeMeals = []string{"breakfast", "lunch", "dinner", "side", "dessert", "snack"}
	recipeDiets = []string{"vegan", "vegetarian", "pescatarian", "gluten-free", "dairy-free"}
)

func editRecipe(v *visit) (any, error) { return recipeForm(v) }

// recipeForm is the form with what the recipe says now.
func recipeForm(v *visit) (*editPage, error) {
	r, err := row[recipeText](v, "Recipe", v.PathValue("id"))
	if err != nil {
		return nil, err
	}
	lines, err := recipeLines(v, r.ID)
	if err != nil {
		return nil, err
	}
	p := &editPage{Recipe: r, Name: r.Name, Own: r.Origin != "catalogue", Steps: strings.Join(r.Steps, "\n\n"), Meals: choicesOf(recipeMeals, r.MealTypes), Diets: choicesOf(recipeDiets, r.DietaryTags)}
	if !p.Own {
		p.Name = v.day.t("edit.ours", p.Name) // after the one that it is made of
	}
	texts := make([]string, len(lines))
	for i, l := range lines {
		texts[i] = l.written()
	}
	p.Lines = strings.Join(texts, "\n")
	return p, nil
}

func choicesOf(all, on []string) []choice {
	out := make([]choice, len(all))
	for i, value := range all {
		out[i] = choice{value, slices.Contains(on, value)}
	}
	return out
}

// recipeLines are the ingredients of a recipe in their order.
func recipeLines(v *visit, recipe string) ([]ingredient, error) {
	return rows[ingredient](v, "RecipeIngredient", query{"filter": query{"recipeId": recipe}, "sort": "position,id"}, pageRows)
}

// written is an ingredient as a cook writes it, so that reading it again finds the same.
func (in ingredient) written() string {
	text, unit := in.Name, quantity.Piece
	if in.Unit != nil {
		unit = quantity.Unit(*in.Unit)
	}
	if in.Amount != nil {
		much := quantity.Of(decimal.NewFromFloat(*in.Amount), unit)
		text = much.With(in.Name)
		if in.AmountMax != nil {
			text = number(*in.Amount) + "-" + quantity.Of(decimal.NewFromFloat(*in.AmountMax), unit).With(in.Name)
		}
	}
	if in.Preparation != "" {
		text += ", " + in.Preparation
	}
	if in.Optional {
		text += " (optional)"
	}
	return text
}

// changeRecipe changes what a recipe says, or deletes it. Lines that stand as they stood stay what they
// are: what somebody has said of their food is not guessed anew.
func changeRecipe(v *visit) (done, error) {
	id := v.PathValue("id")
	if v.FormValue("do") == "delete" {
		run, err := v.submit(catalog.EntityID("Recipe", "delete"), map[string]any{"id": id}, nil)
		return done{"/recipes", "gone", run}, err
	}
	stored, err := recipeLines(v, id)
	if err != nil {
		return done{}, err
	}
	in := map[string]any{
		"recipe": id, "description": strings.TrimSpace(v.FormValue("description")), "source": strings.TrimSpace(v.FormValue("source")),
		"steps": paragraphs(v.FormValue("steps")), "ingredients": linesAgain(v.FormValue("ingredients"), stored),
		"meals": append([]string{}, v.PostForm["meals"]...), "diets": append([]string{}, v.PostForm["diets"]...), "tags": append([]string{}, listed(v.FormValue("tags"))...),
	}
	if len(in["ingredients"].([]string)) == 0 {
		return done{}, v.refuse("fault.noIngredients").WithPath("/ingredients")
	}
	v.texts(in, "name")
	if in["name"] == nil {
		return done{}, v.refuse("fault.noRecipeName").WithPath("/name")
	}
	if err := v.numbers(in, "servings", "prepMinutes", "cookMinutes"); err != nil {
		return done{}, err
	}
	for _, name := range []string{"servings", "prepMinutes", "cookMinutes"} {
		if n, sent := in[name].(float64); sent && n != math.Trunc(n) {
			return done{}, v.refuse("fault.whole", n).WithPath("/" + name)
		}
	}
	if err := shownVersion(v, in, "version"); err != nil {
		return done{}, err
	}
	var out struct {
		RecipeID string `json:"recipeId"`
	}
	run, err := v.act("edit-recipe", in, &out)
	if fault.CodeOf(err) == fault.Conflict {
		err = recipeChangedMeanwhile(v, err)
	}
	return done{"/recipes/" + out.RecipeID, "changed", run}, err
}

// recipeChangedMeanwhile says what of a recipe that somebody has changed since its form was opened is
// different from what the form says.
func recipeChangedMeanwhile(v *visit, conflict error) error {
	now, err := recipeForm(v)
	if err != nil {
		return conflict
	}
	r := now.Recipe
	typed := func(name string) string { return strings.TrimSpace(v.FormValue(name)) }
	var differs []string
	for _, part := range []struct {
		said string
		same bool
	}{
		{v.day.field("name"), typed("name") == r.Name},
		{v.day.noun("RecipeIngredient", 2), slices.Equal(strings.Fields(typed("ingredients")), strings.Fields(now.Lines))},
		{v.day.field("steps"), slices.Equal(paragraphs(typed("steps")), paragraphs(now.Steps))},
		{v.day.field("servings"), typed("servings") == strconv.Itoa(r.Servings)},
		{v.day.field("prepMinutes"), typed("prepMinutes") == strconv.Itoa(r.PrepMinutes)},
		{v.day.field("cookMinutes"), typed("cookMinutes") == strconv.Itoa(r.CookMinutes)},
		{v.day.field("mealTypes"), slices.Equal(choicesOf(recipeMeals, v.PostForm["meals"]), now.Meals)},
		{v.day.field("dietaryTags"), slices.Equal(choicesOf(recipeDiets, v.PostForm["diets"]), now.Diets)},
		{v.day.field("tags"), typed("tags") == strings.Join(r.Tags, ", ")},
		{v.day.field("description"), typed("description") == strings.TrimSpace(r.Description)},
		{v.day.field("source"), r.Source == nil && typed("source") == "" || r.Source != nil && typed("source") == strings.TrimSpace(*r.Source)},
	} {
		if !part.same {
			differs = append(differs, part.said)
		}
	}
	hint := v.day.t("hint.theirsIsYours")
	if len(differs) > 0 {
		hint = v.day.t("hint.theirs", strings.Join(differs, ", "))
	}
	return failure(v, fault.Conflict, "fault.recipeChanged", r.Name).WithRetry(fault.Fix).WithHint("%s", hint).Because(conflict)
}

// linesAgain are the lines of a form: by its id one that is as it was, else as text.
func linesAgain(text string, stored []ingredient) []string {
	out := []string{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if at := slices.IndexFunc(stored, func(in ingredient) bool { return in.written() == line }); at >= 0 {
			line, stored = stored[at].ID, slices.Delete(slices.Clone(stored), at, at+1)
		}
		out = append(out, line)
	}
	return out
}

// paragraphs are the steps of a text: what blank lines separate, or each line where there are none.
func paragraphs(text string) []string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	by := "\n"
	if strings.Contains(text, "\n\n") {
		by = "\n\n"
	}
	out := []string{}
	for part := range strings.SplitSeq(text, by) {
		if part = strings.Join(strings.Fields(part), " "); part != "" {
			out = append(out, part)
		}
	}
	return out
}
