package catalog

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// wordsFile has what people say, and what it stands for; the file says how to read it.
//
//go:embed words.txt
var wordsFile string

// meaning is what an expression of people stands for, in stems of words of tools.
type meaning struct {
	either []string   // alternatives to each other
	maybe  []string   // the same, of what it need not stand for
	all    [][]string // things that are meant together, each with its alternatives
}

// expression is one of several words, by their stems.
type expression struct {
	words []string
	means *meaning
}

// lexicon is what wordsFile says, by stems.
type lexicon struct {
	alike       map[string][]string
	said        map[string]*meaning
	expressions map[string][]expression // by their first words, the longest first
}

var everyday = sync.OnceValue(func() *lexicon {
	lex := &lexicon{alike: map[string][]string{}, said: map[string]*meaning{}, expressions: map[string][]expression{}}
	for line := range strings.Lines(wordsFile) {
		said, means, directed := strings.Cut(line, ":")
		switch {
		case strings.HasPrefix(line, "#"): // a comment
		case directed:
			for one := range strings.SplitSeq(said, ",") {
				lex.meaning(stems(strings.ReplaceAll(one, "..", gap))).add(means)
			}
		default:
			lex.group(stems(line))
		}
	}
	for _, all := range lex.expressions {
		slices.SortStableFunc(all, func(a, b expression) int { return cmp.Compare(len(b.words), len(a.words)) })
	}
	return lex
})

// group adds words that stand for each other.
func (lex *lexicon) group(words []string) {
	for _, word := range words {
		for _, other := range words {
			if other != word && !slices.Contains(lex.alike[word], other) {
				lex.alike[word] = append(lex.alike[word], other)
			}
		}
	}
}

// meaning returns the meaning of an expression, a new one if there is none.
func (lex *lexicon) meaning(words []string) *meaning {
	first := words[0]
	if len(words) == 1 {
		if lex.said[first] == nil {
			lex.said[first] = &meaning{}
		}
		return lex.said[first]
	}
	for _, e := range lex.expressions[first] {
		if slices.Equal(e.words, words) {
			return e.means
		}
	}
	e := expression{words, &meaning{}}
	lex.expressions[first] = append(lex.expressions[first], e)
	return e.means
}

// add adds what a line says an expression stands for.
func (m *meaning) add(text string) {
	if parts := strings.Split(text, "+"); len(parts) > 1 {
		for _, part := range parts {
			if one := stems(part); !slices.ContainsFunc(m.all, func(other []string) bool { return slices.Equal(one, other) }) {
				m.all = append(m.all, one)
			}
		}
		return
	}
	into := &m.either
	if strings.Contains(text, "?") {
		into = &m.maybe
	}
	for _, word := range stems(text) {
		if !slices.Contains(*into, word) {
			*into = append(*into, word)
		}
	}
}

// isEmpty reports whether an expression says nothing.
func (m *meaning) isEmpty() bool { return len(m.either)+len(m.maybe)+len(m.all) == 0 }

// particles end verbs whose object may stand between their two words.
var particles = stemsOf("aside away back down forward off out over through up")

// gap stands for other words in an expression.
const gap = "gap"

// maxBetween is how many words may stand there.
const maxBetween = 6

// expressionAt returns the longest expression that begins at a place of a text, and the
// places of its words.
func (lex *lexicon) expressionAt(words []string, at int) (*meaning, []int) {
	for _, e := range lex.expressions[words[at]] {
		if places := e.in(words, at); places != nil {
			return e.means, places
		}
	}
	return nil, nil
}

// in returns the places of an expression's words in a text where it begins at one of them.
func (e expression) in(words []string, at int) []int {
	places := []int{at}
	between := 0
	if len(e.words) == 2 && slices.Contains(particles(), e.words[1]) {
		between = maxBetween
	}
	for _, next := range e.words[1:] {
		if next == gap {
			between = maxBetween
			continue
		}
		from := min(places[len(places)-1]+1, len(words))
		found := slices.Index(words[from:min(from+between+1, len(words))], next)
		if found < 0 {
			return nil
		}
		places, between = append(places, from+found), 0
	}
	return places
}
