package catalog

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// said is a word of a query, or what an expression of several words means.
type said struct {
	word  string // "" for an expression
	means *meaning
	exact bool // a word of an expression: others do not stand for it
	form  form
}

// query is what somebody asks for.
type query struct {
	words []string // stems of all its words
	said  []said   // those that say something
	wants intent
	sure  bool // of wants
}

// spoken returns the regular expressions for shortened words of spoken English with what each
// stands for, and the one for what a text of somebody else looks like. They are compiled by the
// first query: a worker has none.
var spoken = sync.OnceValues(func() (shortened []spokenForm, quoted *regexp.Regexp) {
	return []spokenForm{
		{regexp.MustCompile(`(?i)\bcan(['’]t| not)\b`), "cannot"},
		{regexp.MustCompile(`(?i)\bwon['’]t\b`), "will not"},
		{regexp.MustCompile(`(?i)\bshan['’]t\b`), "shall not"},
		{regexp.MustCompile(`(?i)n['’]t\b`), " not"},
		{regexp.MustCompile(`(?i)\b(what|who|where|when|how|it|that|there|here)['’]s\b`), "$1 is"},
		{regexp.MustCompile(`(?i)['’](s|m|d|ll|re|ve)\b`), " "},
	}, regexp.MustCompile(`"[^"]*"|“[^”]*”`)
})

type spokenForm struct {
	short *regexp.Regexp
	long  string
}

// maxQuery is how much of a query is read, in bytes: more than maxTerms words have.
const maxQuery = 4 << 10

// newQuery reads a query.
func newQuery(text string) query {
	for _, prefix := range []string{"SDK.", "Entities."} { // as results and scripts name things
		text = strings.TrimPrefix(strings.TrimSpace(text), prefix)
	}
	text = text[:min(len(text), maxQuery)]
	q := query{words: stems(text)}
	shortened, quoted := spoken()
	for _, s := range shortened {
		text = s.short.ReplaceAllString(text, s.long)
	}
	if rest := quoted.ReplaceAllString(text, " "); len(meaningful(stems(rest))) > 0 {
		text = rest
	}
	all := everyday().read(nameThings(text))
	q.wants, q.sure = intentOfQuery(all)
	q.said = slices.DeleteFunc(slices.Clone(all), func(s said) bool { return s.word != "" && (isFiller(s.word) || isNumber(s.word)) })
	if len(q.said) == 0 {
		q.said = all
	}
	q.said = q.said[:min(len(q.said), maxTerms)]
	return q
}

// read returns what a text says. The meanings of expressions stand in the place of their
// words, which come last.
func (lex *lexicon) read(text string) []said {
	var out, own []said
	words, forms := terms(text), formsIn(text)
	used := make([]bool, len(words))
	for at, word := range words {
		if used[at] {
			continue
		}
		if means, places := lex.expressionAt(words, at); means != nil {
			for _, place := range places {
				used[place] = true
				if !means.isEmpty() && !isFiller(words[place]) {
					own = append(own, said{word: words[place], exact: true, form: forms[place]})
				}
			}
			if !means.isEmpty() {
				out = append(out, said{means: means})
			}
			continue
		}
		one := said{word: word, means: lex.said[word]}
		if at < len(forms) { // names come after the words
			one.form = forms[at]
		}
		out = append(out, one)
	}
	return append(out, own...)
}

// isNumber reports whether a word has digits alone.
func isNumber(word string) bool { return strings.Trim(word, "0123456789") == "" }
