package recipetext

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
)

// maxDepth is how deep a document may nest what counts.
const maxDepth = 12

// FromJSONLD reads the first Recipe of schema.org's JSON-LD: an object, a list or a @graph.
func FromJSONLD(text string) (Recipe, error) {
	doc, err := decode(text)
	if err != nil {
		return Recipe{}, err
	}
	found := findRecipe(doc, 0)
	if found == nil {
		return Recipe{}, ErrNoRecipe
	}
	return fromObject(found), nil
}

// decode reads JSON as pages have it: in a comment or CDATA, and with breaks of lines inside strings.
func decode(text string) (any, error) {
	text = strings.TrimSpace(text)
	for _, mark := range []string{"<!--", "//<![CDATA[", "<![CDATA[", "/*<![CDATA[*/"} {
		text = strings.TrimSpace(strings.TrimPrefix(text, mark))
	}
	for _, mark := range []string{"-->", "//]]>", "]]>", "/*]]>*/", ";"} {
		text = strings.TrimSpace(strings.TrimSuffix(text, mark))
	}
	var doc any
	err := json.Unmarshal([]byte(text), &doc)
	if err == nil {
		return doc, nil
	}
	if again := json.Unmarshal([]byte(escapeBreaks(text)), &doc); again == nil {
		return doc, nil
	}
	return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
}

// escapeBreaks makes a space of each control character inside a string.
func escapeBreaks(text string) string {
	inside, escaped := false, false
	return strings.Map(func(r rune) rune {
		switch {
		case escaped:
			escaped = false
		case r == '\\':
			escaped = inside
		case r == '"':
			inside = !inside
		case inside && r < ' ':
			return ' '
		}
		return r
	}, text)
}

// findRecipe returns the first Recipe of a document.
func findRecipe(node any, depth int) map[string]any {
	if depth > maxDepth {
		return nil
	}
	switch n := node.(type) {
	case []any:
		for _, one := range n {
			if found := findRecipe(one, depth+1); found != nil {
				return found
			}
		}
	case map[string]any:
		for _, t := range list(n["@type"]) {
			if isRecipe(fmt.Sprint(t)) {
				return n
			}
		}
		for _, key := range []string{"@graph", "mainEntity", "mainEntityOfPage", "itemListElement", "item", "hasPart"} {
			if found := findRecipe(n[key], depth+1); found != nil {
				return found
			}
		}
	}
	return nil
}

// isRecipe reports whether a type is schema.org's Recipe, in any of its spellings.
func isRecipe(name string) bool {
	at := strings.LastIndexAny(name, "/:#")
	return strings.EqualFold(name[at+1:], "Recipe")
}

func list(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

func fromObject(o map[string]any) Recipe {
	r := Recipe{Name: plain(first(o["name"], o["headline"])), Description: plain(first(o["description"])), Source: first(o["url"], o["@id"])}
	for _, line := range texts(firstOf(o, "recipeIngredient", "ingredients"), 0) {
		r.Lines = append(r.Lines, Line{Text: line})
	}
	for _, step := range texts(firstOf(o, "recipeInstructions", "instructions", "step"), 0) {
		r.Steps = append(r.Steps, numbered.ReplaceAllString(step, ""))
	}
	for _, y := range list(firstOf(o, "recipeYield", "yield")) {
		if n, is := yieldOf(first(y)); is {
			r.Servings = n
			break
		}
	}
	r.Prep, r.Cook, r.Total = isoMinutes(first(o["prepTime"])), isoMinutes(first(o["cookTime"])), isoMinutes(first(o["totalTime"]))
	for _, c := range list(o["recipeCategory"]) {
		r.addMeals(first(c))
	}
	r.Cuisine = plain(first(o["recipeCuisine"]))
	for _, k := range list(o["keywords"]) {
		for tag := range strings.SplitSeq(plain(first(k)), ",") {
			r.addTag(tag)
		}
	}
	return r
}

var figures = regexp.MustCompile(`\d{1,3}`)

// yieldOf returns for how many a yield says that a recipe is.
func yieldOf(text string) (int, bool) { return servingsOf("serves " + fromFigure(plain(text))) }

// fromFigure is a text from its first figure on.
func fromFigure(text string) string {
	at := figures.FindStringIndex(text)
	if at == nil {
		return ""
	}
	return text[at[0]:]
}

// firstOf is the value of the first key that an object has.
func firstOf(o map[string]any, keys ...string) any {
	for _, k := range keys {
		if v := o[k]; v != nil {
			return v
		}
	}
	return nil
}

// first is the first text of some values: of a list its first, of an object its name, text or value.
func first(values ...any) string {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			if v != "" {
				return v
			}
		case float64:
			return strconv.FormatFloat(v, 'f', -1, 64)
		case []any:
			if s := firstIn(v); s != "" {
				return s
			}
		case map[string]any:
			for _, key := range []string{"text", "name", "@value", "value"} {
				if s, ok := v[key].(string); ok && s != "" {
					return s
				}
			}
		}
	}
	return ""
}

func firstIn(values []any) string {
	for _, v := range values {
		if _, nested := v.([]any); nested {
			continue
		}
		if s := first(v); s != "" {
			return s
		}
	}
	return ""
}

// texts are the lines of a value: of a text its lines and items, of a list those of its parts. A
// section gives its name, as a part of the dish, before its own.
func texts(v any, depth int) []string {
	if depth > maxDepth {
		return nil
	}
	var out []string
	switch v := v.(type) {
	case string:
		out = items(v)
	case []any:
		for _, one := range v {
			out = append(out, texts(one, depth+1)...)
		}
	case map[string]any:
		parts := firstOf(v, "itemListElement", "steps", "item")
		if parts == nil {
			return items(first(v["text"], v["name"], v["@value"], v["description"]))
		}
		out = append(out, texts(parts, depth+1)...)
		if name := plain(first(v["name"])); name != "" && len(out) > 0 {
			out = append([]string{strings.TrimRight(name, ": ") + ":"}, out...)
		}
	}
	return out
}

// breaks are where a text that is HTML begins a new line.
var (
	breaks = regexp.MustCompile(`(?i)<\s*(?:br|/?p|/?li|/?ol|/?ul|/?div|/?h[1-6])\b[^>]{0,200}>`)
	tags   = regexp.MustCompile(`<[^<>]{0,500}>`)
)

// items are the lines of a text that may be HTML, once or twice escaped.
func items(s string) []string {
	var out []string
	for line := range strings.SplitSeq(strings.ReplaceAll(breaks.ReplaceAllString(unescape(s), "\n"), "\r", "\n"), "\n") {
		if line = plain(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

func unescape(s string) string { return html.UnescapeString(html.UnescapeString(s)) }

// plain is a text without elements of HTML, on one line. A bullet of its own is no part of it.
func plain(s string) string {
	return bullet.ReplaceAllString(oneLine(tags.ReplaceAllString(unescape(s), " ")), "")
}

// iso is a duration of ISO 8601 as pages write it, also with the hours that belong to a day.
var iso = regexp.MustCompile(`(?i)^P(?:(\d{1,3})D)?(?:T(?:(\d{1,4}(?:[.,]\d{1,2})?)H)?(?:(\d{1,5}(?:[.,]\d{1,2})?)M)?(?:\d+(?:[.,]\d+)?S)?)?$`)

// isoMinutes returns the minutes of a duration, or of a time as people say it.
func isoMinutes(s string) int {
	s = strings.TrimSpace(s)
	m := iso.FindStringSubmatch(s)
	if m == nil {
		return spoken(s)
	}
	sum := 0.0
	for i, factor := range []float64{24 * 60, 60, 1} {
		if n, err := strconv.ParseFloat(strings.Replace(m[i+1], ",", ".", 1), 64); err == nil {
			sum += n * factor
		}
	}
	return int(min(sum+0.5, maxMinutes))
}
