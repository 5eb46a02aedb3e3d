package fold

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Form says which letters are the same.
type Form int

// The forms.
const (
	Case    Form = iota // upper and lower case: Text
	Accents             // those with and without accents, too: Bare
)

// Text returns a text in the form in which texts are compared.
func (f Form) Text(s string) string {
	if f == Accents {
		return Bare(s)
	}
	return Text(s)
}

// BareFunction is the function of SQLite that does what Bare does.
const BareFunction = "koan_fold_accents"

// The combining marks that Bare leaves out: accents of Latin, Greek and Cyrillic letters. Marks of other scripts
// are vowels and signs that change the word.
const firstMark, lastMark = '\u0300', '\u036f'

// strokes are the folded letters whose accents Unicode does not take apart, and what they are without.
var strokes = map[rune]string{'æ': "ae", 'ð': "d", 'ø': "o", 'þ': "th", 'đ': "d", 'ħ': "h", 'ı': "i", 'ł': "l", 'œ': "oe", 'ŧ': "t"}

// Bare returns Text without accents.
func Bare(s string) string {
	s = Text(s)
	if isASCII(s) {
		return s
	}
	var out strings.Builder
	for s = norm.NFD.String(s); s != ""; {
		r, n := utf8.DecodeRuneInString(s)
		switch to, ok := strokes[r]; {
		case ok:
			out.WriteString(to)
		case r < firstMark || r > lastMark:
			out.WriteString(s[:n]) // what is not UTF-8 stays
		}
		s = s[n:]
	}
	return norm.NFC.String(out.String())
}

// PostgresBare opens and closes the expression in PostgreSQL that leaves the accents of a folded text out.
var PostgresBare = sync.OnceValues(func() (before, after string) {
	before, after = "normalize(", ",NFC)"
	var from, to []rune
	for _, r := range slices.Sorted(maps.Keys(strokes)) {
		if bare := strokes[r]; len(bare) > 1 {
			before, after = before+"replace(", ",'"+string(r)+"','"+bare+"')"+after
		} else {
			from, to = append(from, r), append(to, rune(bare[0]))
		}
	}
	return before + "translate(regexp_replace(normalize(", ",NFD),'[" + string(firstMark) + "-" + string(lastMark) + "]','','g'),'" + string(from) + "','" + string(to) + "')" + after
})
