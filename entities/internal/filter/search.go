package filter

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/database/words"
	"github.com/koan-go/koan/framework/fault"
)

// The limits of one search.
const (
	MaxQuery = 200 // characters
	MaxWords = words.Max
)

// Words is a checked search: every word has to start a word of some searchable
// field. No words match everything. It is immutable.
type Words struct {
	columns []*descriptor.Column
	words   []string
	index   *sqltext.WordIndex
}

// Index is the index of the words that a search of an entity looks for, nil where it
// is not searched, or without regard to accents, which the index has.
func Index(e *descriptor.Entity) *sqltext.WordIndex {
	if len(e.Searched) == 0 || slices.ContainsFunc(e.Columns, func(c descriptor.Column) bool {
		return c.Folds(descriptor.FoldsAccents) && slices.Contains(e.Searched, c.Name)
	}) {
		return nil
	}
	return &sqltext.WordIndex{Table: e.Table, Key: e.Key.Name, Columns: e.Searched}
}

// ParseWords checks what is searched for in an entity. name is how the input
// calls it, "q" or "$search".
func ParseWords(e *descriptor.Entity, v any, at, name string) (*Words, *fault.Detail) {
	columns := Searchable(e)
	s, ok := v.(string)
	d := &fault.Detail{Path: at, Expected: "string", Received: Describe(v)}
	switch {
	case len(columns) == 0:
		d.Message = e.Resource.Name + " has no searchable fields; use a filter with $icontains"
	case !ok:
		d.Message = name + " must be a string of words to search for"
	case utf8.RuneCountInString(s) > MaxQuery || strings.ContainsRune(s, 0):
		d.Message = name + " must have at most " + strconv.Itoa(MaxQuery) + " characters, none of them NUL"
	case len(strings.Fields(s)) > MaxWords:
		d.Message = name + " must have at most " + strconv.Itoa(MaxWords) + " words"
	default:
		return &Words{columns, strings.Fields(s), Index(e)}, nil
	}
	return nil, d
}

// Searchable are the columns that a search looks into, the most important first.
func Searchable(e *descriptor.Entity) []*descriptor.Column {
	if !e.Resource.Searchable {
		return nil
	}
	var out []*descriptor.Column
	for i := range e.Resource.Fields {
		if f := &e.Resource.Fields[i]; f.Searchable && Readable(f) {
			if c := e.Column(f.Name); c != nil && c.Storage == descriptor.Text {
				out = append(out, c)
			}
		}
	}
	return out
}

// Empty reports whether nothing is looked for.
func (w *Words) Empty() bool { return w == nil || len(w.words) == 0 }

// List returns the words.
func (w *Words) List() []string {
	if w == nil {
		return nil
	}
	return slices.Clone(w.words)
}

// Where appends the search as a condition, as Tree.Where does.
func (w *Words) Where(b *sqltext.Builder, a sqltext.Alias) { w.where(b, a, false) }

func (w *Words) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	if w.Empty() {
		b.Raw(truth(!negate))
		return
	}
	sure := false
	if b.Indexed && !negate && w.index != nil { // what is not found cannot be looked up
		var found bool
		if found, sure = b.Dialect.Find(b, w.index, a, w.words); found {
			b.Raw(" AND ")
		}
	}
	if sure && len(w.columns) == len(w.index.Columns) { // the others need not be read: their words are in these columns
		b.Raw("CASE WHEN ") // SQLite evaluates the second part of an OR first where the first asks another table
		b.Dialect.Unknown(b, w.index, a)
		b.Raw(" THEN ")
		defer b.Raw(" ELSE " + truth(true) + " END")
	}
	b.Raw("(")
	if w.score(b, a) {
		b.Raw(">0")
	} else {
		w.fits(b, a)
	}
	if negate {
		b.Raw(") IS NOT TRUE")
		return
	}
	b.Raw(") IS TRUE")
}

// Ranking is the search for the index of words, nil where that cannot decide: it has other texts than the caller may
// search, or none.
func (w *Words) Ranking() *sqltext.Ranking {
	if w.Empty() || w.index == nil || len(w.columns) != len(w.index.Columns) {
		return nil
	}
	return &sqltext.Ranking{Index: w.index, Words: w.words, Score: func(b *sqltext.Builder, a sqltext.Alias) { w.score(b, a) }}
}

// score appends what the database's own function says of a row, where it has one, which knows accents.
func (w *Words) score(b *sqltext.Builder, a sqltext.Alias) bool {
	if slices.ContainsFunc(w.columns, func(c *descriptor.Column) bool { return c.Folds(descriptor.FoldsAccents) }) {
		return false
	}
	texts := make([]func(*sqltext.Builder), len(w.columns))
	for i, c := range w.columns {
		texts[i] = func(b *sqltext.Builder) { Column(b, a, c) }
	}
	return b.Dialect.Score(b, texts, w.words)
}

// fits appends whether each word is found in some column.
func (w *Words) fits(b *sqltext.Builder, a sqltext.Alias) {
	b.Raw("(")
	for i, word := range w.words {
		if i > 0 {
			b.Raw(") AND (")
		}
		for j, c := range w.columns {
			if j > 0 {
				b.Raw(" OR ")
			}
			w.found(b, a, c, word, sqltext.WordPrefix)
		}
	}
	b.Raw(")")
}

func (w *Words) found(b *sqltext.Builder, a sqltext.Alias, c *descriptor.Column, word string, m sqltext.WordMatch) {
	b.Dialect.Word(b, func(b *sqltext.Builder) { Column(b, a, c) }, word, m, formOf(c))
}

// Rank appends the number that tells how well a row that Where finds fits: words.Score.
func (w *Words) Rank(b *sqltext.Builder, a sqltext.Alias) {
	if w.score(b, a) {
		return
	}
	n := len(w.columns)
	points := func(word string, m sqltext.WordMatch, c *descriptor.Column, n int) {
		b.Raw(" WHEN ")
		w.found(b, a, c, word, m)
		b.Raw(" THEN " + strconv.Itoa(n))
	}
	b.Raw("(")
	for i, c := range w.columns {
		if i > 0 {
			b.Raw("+")
		}
		weight := n - i
		b.Raw("(CASE")
		points(strings.Join(w.words, " "), sqltext.WordEntire, c, words.Entire(n)*weight)
		b.Raw(" ELSE 0 END")
		for _, word := range w.words {
			b.Raw("+CASE")
			points(word, sqltext.WordWhole, c, words.Whole*weight)
			points(word, sqltext.WordPrefix, c, words.Prefix*weight)
			b.Raw(" ELSE 0 END")
		}
		b.Raw(")")
	}
	b.Raw(")")
}
