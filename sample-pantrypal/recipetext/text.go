package recipetext

import (
	"regexp"
	"strings"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// bullet is what stands before a line of a list.
var bullet = regexp.MustCompile(`^\s*(?:[-*•·▢☐▪–—]|\[[ xX]?\])\s+`)

// numbered is what stands before a step: "1.", "2)", "Step 3:", "Schritt 2", "Étape 1 :". A number alone
// begins an amount.
var numbered = regexp.MustCompile(`(?i)^(?:(?:step|schritt|étape)\s*\d{1,2}\s*[.:)]?|\d{1,2}[.)])\s+`)

// FromText reads plain text by its headings, in English, German or French. Where there are none, the
// first line is the title, what reads as an amount is an ingredient, and what reads as a sentence a step.
func FromText(text string) Recipe {
	p := textParser{lines: strings.Split(strings.ReplaceAll(text, "\r", "\n"), "\n")}
	for _, raw := range p.lines {
		heading := strings.ToLower(bare(raw))
		p.headed = p.headed || ingredientHeadings[heading] || startsHeading(heading, ingredientHeadings)
	}
	for _, raw := range p.lines {
		p.line(raw)
	}
	return p.Recipe
}

type textParser struct {
	Recipe
	lines  []string
	headed bool // a heading says where the ingredients are
	part   string
}

// bare is a line without the marks of headings.
func bare(raw string) string {
	return strings.TrimSpace(strings.TrimRight(strings.Trim(strings.TrimSpace(raw), "#*_= "), ": "))
}

// startsHeading reports whether a line is a heading with more behind it: "Zutaten für 4 Personen",
// "Ingredients (serves 4)".
func startsHeading(line string, headings map[string]bool) bool {
	if _, is := servingsOf(line); !is {
		return false
	}
	first, _, _ := strings.Cut(strings.NewReplacer("(", " ", ":", " ").Replace(line), " ")
	return headings[first]
}

func (p *textParser) line(raw string) {
	line := strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(raw), "#"))
	if line == "" {
		return
	}
	heading := strings.ToLower(bare(line))
	switch {
	case ingredientHeadings[heading], startsHeading(heading, ingredientHeadings):
		if n, is := servingsOf(heading); is {
			p.Servings = n
		}
		p.part = "lines"
		return
	case stepHeadings[heading] && (p.Name != "" || p.headed):
		p.part = "steps"
		return
	case noteHeadings[heading]:
		p.part = "notes"
		return
	}
	if p.part != "steps" && p.part != "notes" && p.fact(line) || p.part == "steps" && len(line) < 40 && p.addTime(line) {
		return
	}
	switch item := bullet.ReplaceAllString(line, ""); {
	case p.part == "notes":
	case p.part == "steps":
		p.Steps = append(p.Steps, numbered.ReplaceAllString(item, ""))
	case p.Name == "" && p.part == "":
		p.Name = strings.Trim(line, "*_ ")
	case p.part == "lines" && p.headed:
		p.Lines = append(p.Lines, Line{Text: item})
	case p.headed:
		p.Description += " " + line
	default:
		p.guess(line, item)
	}
}

// fact takes a line that says for how many a recipe is, or how long it takes.
func (p *textParser) fact(line string) bool {
	plain := bullet.ReplaceAllString(strings.Trim(line, "*_ "), "")
	found := false
	for part := range strings.FieldsFuncSeq(plain, func(r rune) bool { return r == '|' || r == '·' || r == ';' }) {
		part = strings.TrimSpace(part)
		if len(part) > 60 {
			return false
		}
		if n, is := servingsOf(part); is {
			p.Servings, found = n, true
			continue
		}
		found = p.addTime(part) || found
	}
	return found
}

// guess says of a line of a text without headings what it is.
func (p *textParser) guess(line, item string) {
	_, part := partOf(item)
	switch {
	case p.part == "" && sentence(item) && !isAmount(item):
		p.Description += " " + item
	case part, line != item, isAmount(item), !sentence(item) && !numbered.MatchString(line):
		p.part = "lines"
		p.Lines = append(p.Lines, Line{Text: item})
	default:
		p.part = "steps"
		p.Steps = append(p.Steps, numbered.ReplaceAllString(item, ""))
	}
}

// isAmount reports whether a line says how much of something there is.
func isAmount(line string) bool {
	if numbered.MatchString(line) {
		return false
	}
	l, err := quantity.ParseLine(line, quantity.Metric)
	return err == nil && l.Amount.Valid && len(strings.Fields(l.Name)) <= 8
}

// sentence reports whether a line reads as one: many words, or a full stop at its end.
func sentence(line string) bool {
	n := len(strings.Fields(line))
	return n > 9 || n > 3 && strings.HasSuffix(line, ".")
}
