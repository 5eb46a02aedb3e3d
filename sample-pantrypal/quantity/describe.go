package quantity

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Phrases that are not part of a food's name, wherever they stand.
var (
	optionalWords = regexp.MustCompile(`(?i)optional(ly)?:?`)
	noAmountWords = regexp.MustCompile(`(?i)(or more )?(to taste|as needed|as required|as desired)`)
	useWords      = regexp.MustCompile(`(?i)(plus (more|extra)|for|to) (serve|serving|garnish|garnishing|decorate|sprinkling|frying|dusting|greasing|brushing|drizzling|the (pan|tin|dish|garnish|water|top|topping|dough|sauce))`)
)

// describe divides the rest of a line into name and preparation.
func (p *lineParser) describe(l *Line) {
	name, notes := split(p.rest)
	notes = append(p.notes, notes...)
	take := func(words *regexp.Regexp, keep bool) bool {
		rest, phrase := cutPhrase(name, words)
		found := phrase != ""
		name = rest
		for i := range notes {
			if rest, in := cutPhrase(notes[i], words); in != "" {
				found = true
				if !keep {
					notes[i] = rest
				}
			}
		}
		if keep {
			notes = append(notes, phrase)
		}
		return found
	}
	l.Optional = take(optionalWords, false)
	take(noAmountWords, true)
	take(useWords, true)
	l.Name = tidy(name)
	p.trailingUnit(l)
	notes = p.each(l, notes)
	var kept []string
	for _, n := range notes {
		if n = tidy(n); n != "" {
			kept = append(kept, n)
		}
	}
	l.Preparation = strings.Join(kept, ", ")
}

// cutPhrase takes the first match that is not part of a longer word out of a text.
func cutPhrase(text string, words *regexp.Regexp) (rest, phrase string) {
	for _, at := range words.FindAllStringIndex(text, -1) {
		before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
		after, _ := utf8.DecodeRuneInString(text[at[1]:])
		if !inWord(before) && !inWord(after) {
			return text[:at[0]] + " " + text[at[1]:], text[at[0]:at[1]]
		}
	}
	return text, ""
}

// split takes parentheses and what follows the first comma out of a name.
func split(text string) (name string, notes []string) {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "(")
		inside, after, closed := strings.Cut(rest, ")")
		if !ok || !closed {
			b.WriteString(text)
			break
		}
		b.WriteString(before + " ")
		notes = append(notes, inside)
		text = after
	}
	name, rest, ok := cutComma(b.String())
	if semi, more, found := strings.Cut(name, ";"); found {
		name, rest, ok = semi, strings.TrimSuffix(more+","+rest, ","), true
	}
	if before, after, found := strings.Cut(name, " - "); found && strings.TrimSpace(before) != "" {
		name, rest, ok = before, strings.TrimSuffix(after+", "+rest, ", "), true
	}
	if ok && tidy(name) != "" {
		return name, append(notes, rest)
	}
	return b.String(), notes
}

// cutComma divides a text at its first comma that is not inside a number.
func cutComma(text string) (before, after string, found bool) {
	for i := range len(text) {
		if text[i] == ',' && (i == 0 || i == len(text)-1 || !digits(text[i-1:i]) || !digits(text[i+1:i+2])) {
			return text[:i], text[i+1:], true
		}
	}
	return text, "", false
}

// tidy makes single spaces of many, and drops marks that hold nothing.
func tidy(s string) string {
	s = strings.ReplaceAll(strings.ReplaceAll(s, "(", " "), ")", " ")
	s = strings.Join(strings.Fields(s), " ")
	return strings.Trim(strings.ReplaceAll(s, " ,", ","), " ,;:-*.")
}

// trailingUnit reads "2 garlic cloves" as two cloves of garlic.
func (p *lineParser) trailingUnit(l *Line) {
	if l.Unit != Piece && l.Unit != "small" && l.Unit != "large" && l.Unit != "medium" || l.Package != "" {
		return
	}
	at := strings.LastIndexByte(l.Name, ' ')
	if at < 0 {
		return
	}
	switch u, _ := ParseUnit(l.Name[at+1:]); u {
	case "leaf":
		l.Unit = u // and the name stays: a leaf of lime is no lime
	case "clove", "stalk", "sprig", "head", "rasher", "fillet", "slice":
		if head := l.Name[:at]; !onlyQualifiers(head) {
			l.Unit, l.Name = u, head
		}
	}
}

// each takes "150 g each" out of the notes: four fillets of 150 g are 600 g.
func (p *lineParser) each(l *Line, notes []string) []string {
	if l.Unit.Dimension() != Count || l.Package != "" || !l.Amount.Valid {
		return notes
	}
	for i, n := range notes {
		q := lineParser{scanner: scanner{tidy(n)}, system: p.system}
		q.words("about", "approx.", "approx", "ca.", "ca")
		if weight, ok := q.weight(); ok && q.words("each") && q.rest == "" {
			l.packed(l.Unit, weight)
			return slices.Delete(slices.Clone(notes), i, i+1)
		}
	}
	return notes
}
