package sqltext

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/koan-go/koan/framework/database/words"
)

// WordIndex is what finds the rows of a table in which words may stand. It finds
// every row in which Dialect.Word finds them, and perhaps others: who asks it looks
// at the rows again.
type WordIndex struct {
	Table   string
	Key     string   // the column that identifies a row
	Columns []string // of text
}

// IndexPrefix is what names of word indexes begin with, and no name of an app's.
const IndexPrefix = "koan_words_"

// indexForm changes with what the index is made of, so that older ones are rebuilt.
const indexForm = "3"

// Name identifies the index in a database, with what it is made of.
func (x *WordIndex) Name() string {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %q %q %q", indexForm, x.Table, x.Key, x.Columns)
	return fmt.Sprintf("%s%08x", IndexPrefix, h.Sum32())
}

// Statement is one of what makes or drops an index.
type Statement struct {
	Text    string
	Comment string // for people
}

// run is a run of letters of a word that is looked for: a word of the text starts
// with it or, if whole, is it.
type run struct {
	letters []rune
	whole   bool
}

// runs returns what must be among the words of a text for a folded word to stand in it.
// known reports whether the index knows all that a letter of it may be in a text; what it
// does not know ends a run.
func runs(word []rune, known func(word []rune, i int) bool) []run {
	var out []run
	var now []rune
	lost := false // the start of this run is not known
	end := func(whole bool) {
		if len(now) > 0 {
			out = append(out, run{now, whole})
		}
		now = nil
	}
	for i, r := range word {
		switch {
		case !words.Letter(r):
			end(true)
			lost = false
		case known(word, i):
			if !lost {
				now = append(now, r)
			}
		default:
			end(false)
			lost = true
		}
	}
	end(false)
	return out
}

// isOneRun reports whether a word is one run of letters, of which nothing is left out: then it stands
// wherever its run does.
func isOneRun(word []rune, parts []run) bool {
	return len(parts) == 1 && len(parts[0].letters) == len(word)
}

// joinTexts is the text of all columns, with column writing each.
func (x *WordIndex) joinTexts(column func(name string) string) string {
	parts := make([]string, len(x.Columns))
	for i, c := range x.Columns {
		parts[i] = "coalesce(CAST(" + column(c) + " AS text),'')"
	}
	return strings.Join(parts, "||' '||")
}

func quoted(name string) string { return string(AppendName(nil, name)) }
