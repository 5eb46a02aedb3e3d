package sqltext

import (
	"slices"
	"strings"
	"sync"

	"github.com/koan-go/koan/framework/database/fold"
)

// foldASCII is what lower() of a database does that knows ASCII only.
func foldASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Folded implements Dialect. Most texts are ASCII, for which the database has a function that
// costs less.
func (d PostgreSQL) Folded(b *Builder, text func(*Builder), as fold.Form) {
	before, after := fold.Function+"(", ")"
	if !d.Folds {
		before, after = fold.Postgres()
	}
	if as == fold.Accents {
		outer, behind := fold.PostgresBare()
		before, after = outer+before, after+behind
	}
	b.Raw("(CASE WHEN octet_length(")
	text(b)
	b.Raw(")=length(")
	text(b)
	b.Raw(") THEN lower(")
	text(b)
	b.Raw(" COLLATE \"C\") ELSE " + before)
	text(b)
	b.Raw(after + " END)")
}

// Fold implements Dialect.
func (PostgreSQL) Fold(s string, as fold.Form) string { return as.Text(s) }

// Folded implements Dialect.
func (d SQLite) Folded(b *Builder, text func(*Builder), as fold.Form) {
	if !d.Folds {
		b.Raw("lower(")
		text(b)
		b.Raw(")")
		return
	}
	b.Raw("(CASE WHEN length(CAST(")
	text(b)
	b.Raw(" AS BLOB))=length(")
	text(b)
	b.Raw(") THEN lower(")
	text(b)
	function := fold.Function
	if as == fold.Accents {
		function = fold.BareFunction
	}
	b.Raw(") ELSE " + function + "(")
	text(b)
	b.Raw(") END)")
}

// Fold implements Dialect.
func (d SQLite) Fold(s string, as fold.Form) string {
	if !d.Folds {
		return foldASCII(s)
	}
	return as.Text(s)
}

// lastKnown is behind all of ftsKnown.
const lastKnown = 0x1ffff

// spellings returns what one character of a folded text may be in a text, as far as the index of
// SQLite knows such texts, and the longer sequences that one character may be.
var spellings = sync.OnceValues(func() (of map[rune][]rune, sequences [][]rune) {
	of = map[rune][]rune{}
	for r := rune(1); r <= lastKnown; r++ {
		if !inFTS(r) {
			continue
		}
		to := []rune(fold.Text(string(r)))
		if len(to) == 1 {
			of[to[0]] = append(of[to[0]], r)
		} else if !slices.ContainsFunc(sequences, func(s []rune) bool { return slices.Equal(s, to) }) {
			sequences = append(sequences, to)
		}
	}
	return of, sequences
})
