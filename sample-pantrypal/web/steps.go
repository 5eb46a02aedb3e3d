package web

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// step is a step of a recipe, as one cooks by it.
type step struct {
	Number int
	Text   string
	Needs  []ingredient // that it names
	Timers []timer
}

// timer is a time that a step names.
type timer struct {
	Text    string
	Seconds int
}

// stepsOf reads the steps of a recipe.
func stepsOf(texts []string, lines []ingredient) []step {
	out := make([]step, 0, len(texts))
	for i, text := range texts {
		s := step{Number: i + 1, Text: text, Timers: timersIn(text)}
		words := wordsOf(text)
		for _, l := range lines {
			if mentions(words, l.Name) {
				s.Needs = append(s.Needs, l)
			}
		}
		out = append(out, s)
	}
	return out
}

// wordsOf are the words of a text, singular.
func wordsOf(text string) []string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && r != '\'' })
	for i, w := range words {
		words[i] = singular(w)
	}
	return words
}

// singular is near enough to compare words by: "tomatoes" and "tomato" are the same one.
func singular(word string) string {
	for _, end := range []struct{ plural, one string }{{"ies", "y"}, {"oes", "o"}, {"ves", "f"}, {"ss", "ss"}, {"s", ""}} {
		if stem, ok := strings.CutSuffix(word, end.plural); ok && len(stem) > 1 {
			return stem + end.one
		}
	}
	return word
}

// vague are words of ingredients that steps mean other things by.
var vague = []string{"oil", "sauce", "red", "green", "white", "black", "fresh", "dried", "large", "small", "medium", "can", "stock", "paste", "powder", "ground", "water"}

// mentions reports whether a step names an ingredient: the thing that it is, which is its last word, or
// another word of it that means nothing else.
func mentions(words []string, ingredient string) bool {
	of := wordsOf(ingredient)
	for i, w := range of {
		if slices.Contains(words, w) && (i == len(of)-1 || !slices.Contains(vague, w) && len(w) > 3) {
			return true
		}
	}
	return false
}

// Names of numbers, and of units in seconds, as recipes write times.
var (
	numerals = map[string]float64{
		"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "twelve": 12,
		"fifteen": 15, "twenty": 20, "twenty-five": 25, "thirty": 30, "forty": 40, "forty-five": 45, "fifty": 50, "sixty": 60, "ninety": 90, "half": 0.5,
	}
	unitSeconds = map[string]float64{"s": 1, "m": 60, "h": 3600}
)

const numeral = `\d{1,3}(?:[.,]\d)?|a|an|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fifteen|twenty(?:-five)?|thirty|forty(?:-five)?|fifty|sixty|ninety`

var (
	plainTime = regexp.MustCompile(`(?i)\b(` + numeral + `)(?:\s*(?:-|–|to|or)\s*(` + numeral + `))?(?:\s+or\s+so|\s+more)?[\s-]+(second|sec|minute|min|hour|hr)s?\b`)
	partTime  = regexp.MustCompile(`(?i)\b(half|(?:a |three )?quarters?)\s+(?:of\s+)?an?\s+hour\b`)
)

// Bounds of a timer: what is shorter is over before it is set, and by what is longer nobody waits.
const (
	leastSeconds = 20
	mostSeconds  = 12 * 3600
	mostTimers   = 4
)

// timersIn finds the times that a step names, the longer end of "10-12 minutes".
func timersIn(text string) []timer {
	var out []timer
	add := func(said string, seconds float64) {
		if seconds >= leastSeconds && seconds <= mostSeconds && len(out) < mostTimers {
			out = append(out, timer{said, int(seconds)})
		}
	}
	for _, m := range partTime.FindAllStringSubmatch(text, -1) {
		quarters := 1.0
		switch part := strings.ToLower(m[1]); {
		case part == "half":
			quarters = 2
		case strings.HasPrefix(part, "three"):
			quarters = 3
		}
		add(m[0], quarters*900)
	}
	for _, m := range plainTime.FindAllStringSubmatch(partTime.ReplaceAllString(text, ""), -1) {
		much := m[1]
		if m[2] != "" {
			much = m[2]
		}
		n, known := numerals[strings.ToLower(much)]
		if !known {
			n, _ = strconv.ParseFloat(strings.ReplaceAll(much, ",", "."), 64)
		}
		add(m[0], n*unitSeconds[strings.ToLower(m[3][:1])])
	}
	return out
}
