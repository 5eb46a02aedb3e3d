package kitchen

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/recipetext"
)

// each says that an amount is that of every food of a line: "1 tsp each cumin and coriander".
var each = regexp.MustCompile(`(?i)(^je |\beach( of)?\b)`)

// readLine reads a line of a recipe. One that names several foods becomes several.
func (h household) readLine(text string) []readLine {
	said, all := text, false
	if len(text) <= quantity.MaxLine {
		said = strings.TrimSpace(each.ReplaceAllString(text, ""))
		all = said != strings.TrimSpace(text) && and.MatchString(said)
	}
	if !all { // "2 chicken breasts (150 g each)"
		said = text
	}
	l, err := quantity.ParseLine(said, h.system())
	if err != nil {
		return []readLine{{Text: text, Candidates: []foundFood{}, Problem: err.Error()}}
	}
	l.Text = text
	m := h.book.FindLine(l)
	if m.ID == "" {
		if lines := h.several(l, all); lines != nil {
			return lines
		}
		if first, rest, ok := h.alternative(l); ok {
			l.Preparation = strings.TrimPrefix(l.Preparation+", "+rest, ", ")
			l.Name, m = first.Name, first.match
		}
	}
	return []readLine{h.shownLine(l, m)}
}

func (h household) shownLine(l quantity.Line, m quantity.Match) readLine {
	r := readLine{Text: l.Text, Name: l.Name, Preparation: l.Preparation, Optional: l.Optional, Amount: number(l.Amount), AmountMax: number(l.AmountMax)}
	if l.Unit != "" && r.Amount != nil {
		unit := string(l.Unit)
		r.Unit = &unit
	}
	if m.ID != "" {
		r.FoodID = &m.ID
	} else {
		r.Problem = unread(l)
	}
	r.Candidates = match(h.book, l.Name, m).Candidates
	return r
}

// and joins foods of one line, and or what may stand in for one.
var (
	and = regexp.MustCompile(`(?i)\s+(?:and|und|et|&|\+)\s+|\s*&\s*`)
	or  = regexp.MustCompile(`(?i)\s+(?:or|oder|ou)\s+`)
)

// several reads a line that names several foods, each of which has to be one: "salt and pepper". Of an
// amount for all of them nobody knows whose share is how much.
func (h household) several(l quantity.Line, all bool) []readLine {
	names := and.Split(l.Name, -1)
	if len(names) < 2 || len(names) > 4 {
		return nil
	}
	kind, _ := cutLastWord(names[0]) // "ground cumin and coriander": coriander is ground as well
	var out []readLine
	for _, name := range names {
		one := l
		one.Name = strings.TrimSpace(name)
		if !all && l.Amount.Valid {
			one.Amount, one.AmountMax, one.Unit = decimal.NullDecimal{}, decimal.NullDecimal{}, ""
			one.Preparation = strings.TrimSuffix(quantity.Of(l.Amount.Decimal, l.Unit).String()+" together, "+l.Preparation, ", ")
		}
		m := quantity.Match{}
		if kind != "" {
			m = h.book.Find(kind + " " + one.Name)
		}
		if m.ID == "" {
			m = h.book.Find(one.Name)
		}
		if m.ID == "" {
			return nil
		}
		out = append(out, h.shownLine(one, m))
	}
	return out
}

// named is a name with what it was found as.
type named struct {
	Name  string
	match quantity.Match
}

// alternative takes the first food of a line that names what may stand in for it: "butter or margarine".
func (h household) alternative(l quantity.Line) (first named, rest string, ok bool) {
	at := or.FindStringIndex(l.Name)
	if at == nil {
		return named{}, "", false
	}
	first.Name = l.Name[:at[0]]
	first.match = h.book.Find(first.Name)
	if first.match.ID == "" { // "red or white onions"
		_, last := cutLastWord(l.Name)
		first.match = h.book.Find(first.Name + " " + last)
	}
	return first, strings.TrimSpace(l.Name[at[0]:]), first.match.ID != ""
}

func cutLastWord(text string) (before, last string) {
	text = strings.TrimSpace(text)
	at := strings.LastIndexByte(text, ' ')
	if at < 0 {
		return "", text
	}
	return text[:at], text[at+1:]
}

type recipeIn struct {
	Text string `json:"text" jsonschema_description:"plain text, JSON-LD, or a web page"`
}

type recipeOut struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Lines       []readLine `json:"lines"`
	Steps       []string   `json:"steps"`
	Servings    *int64     `json:"servings"    jsonschema:"nullable" jsonschema_description:"null: the recipe does not say"`
	PrepMinutes int        `json:"prepMinutes"`
	CookMinutes int        `json:"cookMinutes"`
	Meals       []string   `json:"meals"`
	Cuisine     string     `json:"cuisine"`
	Tags        []string   `json:"tags"`
	Source      string     `json:"source"`
}

// maxLines is how many ingredients a recipe has at most.
const maxLines = 200

// readRecipe is the action read-recipe.
func readRecipe(ctx context.Context, call framework.Call, in recipeIn) (recipeOut, error) {
	h, err := readHousehold(ctx, call)
	if err != nil {
		return recipeOut{}, err
	}
	r, err := recipetext.Read(in.Text)
	if err == nil && len(r.Lines) > maxLines {
		return recipeOut{}, fault.Newf(fault.InvalidPayload, "the recipe has %d ingredients, more than %d", len(r.Lines), maxLines).WithPath("/text").WithHint("Split it into several recipes.")
	}
	if err != nil {
		hint := "Send a recipe that has some: each on a line of its own, below a line \"Ingredients\"."
		if !errors.Is(err, recipetext.ErrNoIngredients) {
			hint = "Send the text of the recipe, its schema.org JSON-LD, or the page that has it."
		}
		return recipeOut{}, fault.New(fault.InvalidPayload, err.Error()).WithPath("/text").WithHint("%s", hint)
	}
	out := recipeOut{
		Name: r.Name, Description: r.Description, Lines: []readLine{}, Steps: append([]string{}, r.Steps...), Meals: append([]string{}, r.Meals...),
		Cuisine: r.Cuisine, Tags: append([]string{}, r.Tags...), Source: r.Source,
	}
	if r.Servings > 0 {
		n := int64(r.Servings)
		out.Servings = &n
	}
	// What one of the times leaves of the total is the other.
	rest := max(0, r.Total-r.Prep-r.Cook)
	if out.PrepMinutes, out.CookMinutes = r.Prep, r.Cook; r.Cook == 0 {
		out.CookMinutes = rest
	} else {
		out.PrepMinutes = cmp.Or(r.Prep, rest)
	}
	for _, l := range r.Lines {
		for _, one := range h.readLine(l.Text) {
			if l.Part != "" {
				one.Preparation = strings.TrimPrefix(one.Preparation+", "+partWords(l.Part), ", ")
			}
			out.Lines = append(out.Lines, one)
		}
	}
	return out, nil
}

// partWords are the words that say for which part of a dish something is.
func partWords(part string) string {
	for _, begin := range []string{"For ", "Für ", "Pour "} {
		if rest, ok := strings.CutPrefix(part, begin); ok {
			return strings.ToLower(begin) + rest
		}
	}
	return "for: " + part
}
