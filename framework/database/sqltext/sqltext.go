// Package sqltext assembles the text of a statement and its arguments for one
// SQL dialect.
//
// What belongs here: quoting, placeholders, and how each dialect spells what the
// engine needs. Not here: entities, JSON, or a value written into the
// text instead of being bound.
package sqltext

import (
	"bytes"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/database/fold"
)

// Dialect is what differs between databases. Its methods append to b and give
// the longer slice, as append does.
type Dialect interface {
	// Name is ent's name of the dialect: "sqlite3", "postgres".
	Name() string
	// Placeholder appends the mark of the n-th argument, counted from 1.
	Placeholder(b []byte, n int) []byte
	// Typed appends to the mark of an argument what tells the database the type of
	// the value, where it would take it for another one.
	Typed(b []byte, v any) []byte
	// Time returns the value that a time is bound as, such that comparing columns
	// with it orders by the moment.
	Time(t time.Time) any
	// Days returns what the first and the last of the values that a column has for a day
	// are compared with: every value from the first to the last one is of that day.
	Days(day time.Time) (first, last any)
	// DayText opens and closes an expression that gives a column of days as it is sorted and
	// grouped by: the same for all values of one day, and what the reader understands.
	DayText() (before, after string)
	// TimeText opens and closes an expression that gives a time column as text in
	// the form that the reader understands.
	TimeText() (before, after string)
	// TimesAreTexts reports whether columns keep times as the texts that were written, so
	// that a place in a sort is compared with as it was read.
	TimesAreTexts() bool
	// Position opens, divides and closes an expression that is above 0 when the
	// second text stands in the first, and 1 when it stands at its start.
	Position() (before, between, after string)
	// Prefixed appends conditions, each with AND behind it, that an index of the texts answers
	// and that all texts fulfil which begin with prefix; nothing where no index could.
	Prefixed(b *Builder, text func(*Builder), prefix string)
	// Suffix opens, divides, divides and closes an expression that takes as many
	// characters from the end of the first text as the second one has.
	Suffix() (before, between, after string)
	// Folded appends an expression that gives a text in a form; null where the text is.
	Folded(b *Builder, text func(*Builder), as fold.Form)
	// Fold returns a text as Folded gives it. Where the database is the app's own and
	// has no such function, the form is only that ASCII letters have one case.
	Fold(s string, as fold.Form) string
	// Numeric opens and closes an expression that makes a decimal comparable.
	Numeric() (before, after string)
	// IsDecimal appends a condition that a column of decimals is one of values, whatever
	// digits they have and however they are written; null where the column is.
	IsDecimal(b *Builder, column func(*Builder), values []string)
	// Native opens and closes an expression that makes a value one of a type of
	// descriptor.Column.Native. Both are empty where the dialect has no such types.
	Native(typ string) (before, after string)
	// BareColumn opens an expression that gives a column without its declared type, by which SQLite's
	// drivers make times and booleans of values.
	BareColumn() string
	// Bucket returns the pieces of an expression of the bucket that a time falls
	// into in a zone that package zone knows: its start, in the form of a time. The time stands
	// between each two pieces. There are none where the database cannot reckon in the zone.
	Bucket(u Unit, in string) []string
	// DayBucket is Bucket of a day, as DayText gives it: the first day of the bucket.
	DayBucket(u Unit) []string
	// Computed returns the pieces of an expression that takes from a decimal what
	// computing with binary floats put behind its true digits, so that it compares
	// as it is shown. The number stands between each two pieces.
	Computed() []string
	// Integers returns the pieces of the sum of an expression that is an integer, exact
	// whatever the order of rows; one that no integer holds ends the statement. The
	// expression stands between each two pieces.
	Integers() []string
	// Bound appends an expression that is 0, and that ends the statement where a value
	// takes more than so many bytes. The error names mark and, behind it, how many bytes
	// there are; binary says that the value is not text.
	Bound(b *Builder, value func(*Builder), binary bool, most int, mark string)
	// CountPast appends a statement after which the database counts the ids of a table's new rows on
	// from one that was chosen.
	CountPast(b *Builder, table, column string, id int64)
	// NullsFirst reports whether an ascending sort puts null before all values, and a
	// descending one behind them; else it is the other way round.
	NullsFirst() bool
	// Word appends a condition that is true where a word is found in a text; it is
	// null where the text is.
	Word(b *Builder, text func(*Builder), word string, m WordMatch, as fold.Form)
	// Score appends an expression of how well the texts of a row, the most important first, fit all
	// words: words.Score. It is false, and appends nothing, where the database has no function for it.
	Score(b *Builder, texts []func(*Builder), words []string) bool
	// Find appends a condition that is true at least for the rows of a table in which
	// all words are found by WordPrefix, and that an index answers. found is false, and nothing is
	// appended, where the index knows of none of the words; sure says that it is true for no other
	// rows but those of Unknown.
	Find(b *Builder, x *WordIndex, table Alias, words []string) (found, sure bool)
	// Unknown appends a condition that is true for the rows whose words the index does not know. Find
	// finds all of them.
	Unknown(b *Builder, x *WordIndex, table Alias)
	// Ranked appends a query of the columns key and score, of all rows that a search finds, each once. It is false, and
	// appends nothing, where the index does not know enough.
	Ranked(b *Builder, r *Ranking) bool
	// MakeIndex returns what makes an index and puts into it what is there; it is kept
	// by the database. DropIndex gives what takes one away, whatever is left of it.
	MakeIndex(x *WordIndex) []Statement
	DropIndex(name string) []Statement
	// Indexes asks for the names of the indexes that are there, Complete whether
	// nothing of one is missing.
	Indexes() string
	Complete(name string) string
	// FoldedKeys asks for the names of the folded keys that are there. MakeKey returns what makes one.
	FoldedKeys() string
	MakeKey(x *FoldedKey) []Statement
	// Prefixes asks for the names of the indexes of how texts begin that are there; it is "", and MakePrefix
	// makes none, where a plain index answers that.
	Prefixes() string
	MakePrefix(x *PrefixIndex) []Statement
	Looker
}

// Unit is the length of a bucket of time. Weeks begin on Monday.
type Unit string

// The units.
const (
	Day   Unit = "day"
	Week  Unit = "week"
	Month Unit = "month"
	Year  Unit = "year"
)

// Builder collects the text and the arguments of one statement. The zero value
// with a dialect is ready; Reset makes it ready again.
type Builder struct {
	Dialect Dialect
	// Indexed says that tables have the indexes of words that searches ask.
	Indexed bool
	text    []byte
	args    []any
	aliases int
}

// Reset empties the builder and keeps its memory.
func (b *Builder) Reset() {
	clear(b.args)
	b.text, b.args, b.aliases = b.text[:0], b.args[:0], 0
}

// Raw appends SQL that is a constant of the program.
func (b *Builder) Raw(sql string) *Builder {
	b.text = append(b.text, sql...)
	return b
}

// Name appends a quoted identifier.
func (b *Builder) Name(name string) *Builder {
	b.text = AppendName(b.text, name)
	return b
}

// Rename writes another name wherever the text has a name behind a number of bytes, in quotes as the
// engine writes them or as ent does on SQLite.
func (b *Builder) Rename(behind int, name, other string) {
	tail := bytes.ReplaceAll(b.text[behind:], AppendName(nil, name), AppendName(nil, other))
	tail = bytes.ReplaceAll(tail, []byte("`"+name+"`"), AppendName(nil, other))
	b.text = append(b.text[:behind], tail...)
}

// Column appends a column of an alias.
func (b *Builder) Column(a Alias, name string) *Builder {
	b.Alias(a)
	b.text = append(b.text, '.')
	return b.Name(name)
}

// Alias appends an alias.
func (b *Builder) Alias(a Alias) *Builder {
	b.text = a.append(b.text)
	return b
}

// Arg binds a value and appends its placeholder.
func (b *Builder) Arg(v any) *Builder {
	b.args = append(b.args, v)
	b.text = b.Dialect.Typed(b.Dialect.Placeholder(b.text, len(b.args)), v)
	return b
}

// List binds values as a comma separated list, padded with its last value to a
// power of two, so that lists of similar length share one statement. values must
// not be empty.
func (b *Builder) List(values []any) *Builder { return b.ListWith(values, func(v any) { b.Arg(v) }) }

// ListWith is List, with each value bound by a function.
func (b *Builder) ListWith(values []any, bind func(any)) *Builder {
	n := 1
	for n < len(values) {
		n *= 2
	}
	for i := range n {
		if i > 0 {
			b.Raw(",")
		}
		bind(values[min(i, len(values)-1)])
	}
	return b
}

// Embed appends a statement that another builder made. other gets how many
// arguments are bound before it, since some dialects number them.
func (b *Builder) Embed(other func(bound int) (text string, args []any)) *Builder {
	text, args := other(len(b.args))
	b.args = append(b.args, args...)
	return b.Raw(text)
}

// Text is the statement so far; valid until the builder changes.
func (b *Builder) Text() []byte { return b.text }

// Args are the bound values in order; valid until the builder is reset.
func (b *Builder) Args() []any { return b.args }

// Alias is the alias of a table in one statement.
type Alias int

// NewAlias returns an alias that the statement has not used yet.
func (b *Builder) NewAlias() Alias {
	b.aliases++
	return Alias(b.aliases - 1)
}

func (a Alias) append(b []byte) []byte {
	b = append(b, 't')
	if a < 10 {
		return append(b, '0'+byte(a))
	}
	return appendInt(b, int(a))
}

// Qualified is the name of a table in a schema, as AppendName writes it; "" is no schema.
func Qualified(schema, name string) string {
	if schema == "" {
		return name
	}
	return schema + schemaMark + name
}

// SplitQualified takes apart what Qualified made.
func SplitQualified(qualified string) (schema, name string) {
	if schema, name, ok := strings.Cut(qualified, schemaMark); ok {
		return schema, name
	}
	return "", qualified
}

// schemaMark stands between a schema and a name in it: no identifier has it.
const schemaMark = "\x00"

// AppendName appends a quoted identifier; both dialects of SQL that the engine
// speaks quote by the standard.
func AppendName(b []byte, name string) []byte {
	b = append(b, '"')
	for i := range len(name) {
		if name[i] == schemaMark[0] {
			b = append(b, '"', '.', '"')
			continue
		}
		if name[i] == '"' {
			b = append(b, '"')
		}
		b = append(b, name[i])
	}
	return append(b, '"')
}
