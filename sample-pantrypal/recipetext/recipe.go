// Package recipetext reads recipes as people and web pages write them: plain text, schema.org's
// JSON-LD and microdata.
//
// What belongs here: finding title, ingredient lines, steps, portions and times in a text. Not here:
// what a line means (package quantity), which food it names (package foods), or a figure that
// the text does not say.
package recipetext

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Recipe is a recipe as its text says it. Zero values are what it does not say.
type Recipe struct {
	Name        string
	Description string
	Lines       []Line
	Steps       []string
	Servings    int
	Prep        int // minutes
	Cook        int
	Total       int
	Meals       []string
	Cuisine     string
	Tags        []string
	Source      string
}

// Line is an ingredient as it is written, with the part of the dish that it is for, such as "For the
// sauce", if the recipe has parts.
type Line struct{ Text, Part string }

// MaxText is how many bytes a text may have: a page with all that surrounds its recipe.
const MaxText = 1 << 20

// Errors of Read.
var (
	ErrNoRecipe      = errors.New("there is no schema.org Recipe in it")
	ErrNotJSON       = errors.New("it is not JSON")
	ErrNoIngredients = errors.New("the recipe has no ingredients")
	ErrTooLong       = errors.New("it is longer than 1 MiB")
)

// Read reads a recipe of any form. A text that begins as JSON is JSON-LD; one with elements of HTML is
// a page, of which its JSON-LD counts, else its microdata; anything else is plain text.
func Read(text string) (Recipe, error) {
	if len(text) > MaxText {
		return Recipe{}, ErrTooLong
	}
	text = strings.TrimSpace(strings.TrimPrefix(strings.ToValidUTF8(text, " "), "\ufeff"))
	var r Recipe
	var err error
	switch {
	case strings.HasPrefix(text, "{") || strings.HasPrefix(text, "["):
		r, err = FromJSONLD(text)
	case isPage(text):
		r, err = FromPage(text)
	default:
		r = FromText(text)
	}
	if err != nil {
		return Recipe{}, err
	}
	r.trim()
	if len(r.Lines) == 0 {
		return r, ErrNoIngredients
	}
	return r, nil
}

// trim takes the parts of a recipe out of its lines, and what is empty or too long for a field.
func (r *Recipe) trim() {
	lines, part := []Line{}, ""
	for _, l := range r.Lines {
		l.Text = oneLine(l.Text)
		switch heading, is := partOf(l.Text); {
		case l.Text == "":
		case is:
			part = heading
		default:
			if l.Part == "" {
				l.Part = part
			}
			lines = append(lines, l)
		}
	}
	r.Lines = lines
	r.Name, r.Cuisine, r.Source = clip(oneLine(r.Name), 120), clip(strings.ToLower(oneLine(r.Cuisine)), 40), clip(oneLine(r.Source), 400)
	r.Description = clip(oneLine(r.Description), 2000)
	for _, minutes := range []*int{&r.Prep, &r.Cook, &r.Total} {
		*minutes = min(max(*minutes, 0), maxMinutes)
	}
	r.Servings = min(max(r.Servings, 0), maxServings)
}

const (
	maxServings = 100
	maxMinutes  = 7 * 24 * 60
	maxTags     = 20
)

// oneLine makes single spaces of all.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// clip cuts a text to a number of characters.
func clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:most]))
}

// addTag adds a tag in small letters, once.
func (r *Recipe) addTag(tag string) {
	tag = clip(strings.ToLower(oneLine(tag)), 40)
	if tag == "" || len(r.Tags) >= maxTags {
		return
	}
	for _, t := range r.Tags {
		if t == tag {
			return
		}
	}
	r.Tags = append(r.Tags, tag)
}

// meals are what Recipe.Meals may have, with the words by which pages file them.
var meals = []struct {
	meal  string
	words []string
}{
	{"breakfast", []string{"breakfast", "brunch", "frühstück", "petit-déjeuner", "petit déjeuner"}},
	{"lunch", []string{"lunch", "mittagessen", "déjeuner"}},
	{"dinner", []string{"dinner", "main", "supper", "entree", "hauptgericht", "hauptspeise", "abendessen", "plat principal", "plat", "dîner"}},
	{"snack", []string{"snack", "appetizer", "starter", "vorspeise", "apéritif", "amuse"}},
	{"dessert", []string{"dessert", "cake", "baking", "nachspeise", "nachtisch", "kuchen", "gâteau"}},
	{"side", []string{"side", "beilage", "accompagnement"}},
}

// addMeals notes the meals that a category names.
func (r *Recipe) addMeals(category string) {
	category = strings.ToLower(category)
	for _, m := range meals {
		for _, w := range m.words {
			if strings.Contains(category, w) && !(m.meal == "lunch" && strings.Contains(category, "petit")) {
				r.Meals = append(r.Meals, m.meal)
				break
			}
		}
	}
}
