// Package fold compares texts without regard to case, in Go and in the databases: Unicode's full
// case folding, and one form of what is canonically equivalent.
//
// What belongs here: the folding of texts, and how PostgreSQL spells it. Not here: what
// is searched, and how.
package fold

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Function is the function of a set's own database that does what Text does.
const Function = "koan_fold"

// Text returns a text in the form in which texts are compared without regard to case:
// Unicode's full case folding, and one form of what is canonically equivalent. Accents
// count.
func Text(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	var out strings.Builder
	to := targets()
	for s = norm.NFD.String(s); s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		if folded, ok := to[r]; ok {
			out.WriteString(folded)
		} else {
			out.WriteString(s[:n]) // what is not UTF-8 stays
		}
		s = s[n:]
	}
	return norm.NFC.String(out.String())
}

// targets are what characters become.
var targets = sync.OnceValue(func() map[rune]string {
	out := map[rune]string{}
	for r := 'A'; r <= 'Z'; r++ {
		out[r] = string(unicode.ToLower(r))
	}
	for _, f := range foldings() {
		out[f.from] = f.to
	}
	return out
})

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// folding is a character that Text changes and that has no decomposition.
type folding struct {
	from rune
	to   string
}

// foldings are all of them but those of ASCII, in order.
var foldings = sync.OnceValue(func() []folding {
	var out []folding
	for r := rune(utf8.RuneSelf); r <= lastCased; r++ {
		if unicode.SimpleFold(r) == r && !unicode.IsLetter(r) || norm.NFD.PropertiesString(string(r)).Decomposition() != nil {
			continue
		}
		to := cases.Fold().String(string(r))
		if unicode.Is(unicode.Cherokee, r) { // which cases.Fold swaps
			to = string(unicode.ToUpper(r))
		}
		if to != string(r) {
			out = append(out, folding{r, to})
		}
	}
	return out
})

// lastCased is behind all characters with case.
const lastCased = 0x1ffff

// blocks are the last characters of blocks that one statement translates together: a text
// is of few of them, and translating takes time with each character of a block.
var blocks = []rune{0x36f, 0x3ff, 0x52f, 0x10ff, 0x1c8f, 0x2fff, 0xa69f, 0xabbf, lastCased}

// Postgres opens and closes the expression of Text in PostgreSQL.
var Postgres = sync.OnceValues(func() (before, after string) {
	before, after = "(SELECT lower(normalize(", ",NFD) COLLATE \"C\") AS t OFFSET 0)"
	var multiple []folding
	next := 0
	for _, last := range blocks {
		var from, to []rune
		for ; next < len(foldings()) && foldings()[next].from <= last; next++ {
			f := foldings()[next]
			if utf8.RuneCountInString(f.to) > 1 {
				multiple = append(multiple, f)
				continue
			}
			r, _ := utf8.DecodeRuneInString(f.to)
			from, to = append(from, f.from), append(to, r)
		}
		if len(from) > 0 {
			before = "(SELECT CASE WHEN t~'[" + ranges(from) + "]' THEN translate(t,'" + string(from) + "','" + string(to) + "') ELSE t END AS t FROM " + before
			after += " AS f OFFSET 0)"
		}
	}
	text, some := "t", []rune{}
	for _, f := range multiple {
		text = "replace(" + text + ",'" + string(f.from) + "','" + f.to + "')"
		some = append(some, f.from)
	}
	return "(SELECT normalize(CASE WHEN t~'[" + ranges(some) + "]' THEN " + text + " ELSE t END,NFC) FROM " + before, after + " AS f)"
})

// ranges writes sorted characters as a class of regular expressions.
func ranges(of []rune) string {
	var out strings.Builder
	for i := 0; i < len(of); {
		last := i
		for last+1 < len(of) && of[last+1] == of[last]+1 {
			last++
		}
		out.WriteRune(of[i])
		if last > i {
			out.WriteByte('-')
			out.WriteRune(of[last])
		}
		i = last + 1
	}
	return out.String()
}

// PostgresFunction makes Function in a schema of PostgreSQL. It calls nothing that
// depends on a setting, or on the server's locale.
func PostgresFunction() string {
	before, after := Postgres()
	return "CREATE OR REPLACE FUNCTION " + Function + "(text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 100 AS $koan$ SELECT " + before + "$1" + after + " $koan$"
}
