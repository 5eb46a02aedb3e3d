package recipetext

import (
	"errors"
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

var element = regexp.MustCompile(`(?i)<\s*(?:!doctype|html|head|body|script|div|article|section|main|span|ul|li)\b`)

// isPage reports whether a text is HTML.
func isPage(text string) bool { return element.MatchString(text) }

// FromPage reads the recipe of a web page: its JSON-LD, else its microdata.
func FromPage(page string) (Recipe, error) {
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return Recipe{}, err
	}
	var scripts []string
	var scope *html.Node
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch {
		case n.Data == "script" && strings.Contains(strings.ToLower(attribute(n, "type")), "ld+json"):
			scripts = append(scripts, content(n))
		case scope == nil && isRecipe(strings.TrimSpace(attribute(n, "itemtype"))):
			scope = n
		}
	}
	var problem error = ErrNoRecipe
	for _, s := range scripts {
		r, err := FromJSONLD(s)
		if err == nil {
			return r, nil
		}
		if errors.Is(err, ErrNotJSON) {
			problem = err
		}
	}
	if scope != nil {
		return fromMicrodata(scope), nil
	}
	return Recipe{}, problem
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// content is the text of an element.
func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		switch {
		case d.Type == html.TextNode:
			b.WriteString(d.Data)
		case d.Type == html.ElementNode && breaking[d.Data]:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// breaking are elements that begin a new line.
var breaking = map[string]bool{"br": true, "p": true, "li": true, "div": true, "h1": true, "h2": true, "h3": true, "h4": true, "tr": true}

// fromMicrodata reads the properties of an element; those of what is inside it, such as its author, are
// not the recipe's.
func fromMicrodata(scope *html.Node) Recipe {
	var r Recipe
	for n := range scope.Descendants() {
		if n.Type != html.ElementNode || attribute(n, "itemprop") == "" || !owns(scope, n) {
			continue
		}
		value := propertyOf(n)
		for name := range strings.FieldsSeq(attribute(n, "itemprop")) {
			r.property(name, value)
		}
	}
	return r
}

// owns reports whether a property belongs to an element, and not to another item inside it. Steps are
// items of their own.
func owns(scope, n *html.Node) bool {
	for at := n.Parent; at != nil && at != scope; at = at.Parent {
		if attribute(at, "itemtype") != "" {
			return false
		}
	}
	return true
}

func propertyOf(n *html.Node) string {
	for _, name := range []string{"content", "datetime"} {
		if v := attribute(n, name); v != "" {
			return v
		}
	}
	return content(n)
}

func (r *Recipe) property(name, value string) {
	switch name {
	case "name":
		if r.Name == "" {
			r.Name = plain(value)
		}
	case "description":
		r.Description = plain(value)
	case "recipeIngredient", "ingredients":
		r.Lines = append(r.Lines, Line{Text: plain(value)})
	case "recipeInstructions", "instructions":
		for _, step := range items(value) {
			r.Steps = append(r.Steps, numbered.ReplaceAllString(step, ""))
		}
	case "recipeYield", "yield":
		if n, is := yieldOf(value); is {
			r.Servings = n
		}
	case "prepTime":
		r.Prep = isoMinutes(plain(value))
	case "cookTime":
		r.Cook = isoMinutes(plain(value))
	case "totalTime":
		r.Total = isoMinutes(plain(value))
	case "recipeCategory":
		r.addMeals(value)
	case "recipeCuisine":
		r.Cuisine = plain(value)
	case "keywords":
		for tag := range strings.SplitSeq(plain(value), ",") {
			r.addTag(tag)
		}
	}
}
