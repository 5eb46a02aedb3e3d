package catalog

import (
	"slices"
	"strings"
	"unicode"
)

// maxTerms is how many words of a query count.
const maxTerms = 64

// maxQuery is how much of a text is split into words, in bytes.
const maxQuery = 64 << 10

// terms are the stems of a text, and its names unchanged: "expiresAt" is more than
// "expires" and "at".
func terms(text string) []string {
	out := stems(text)
	for _, w := range split(text) {
		if len(words(w)) > 1 {
			out = append(out, whole+strings.ToLower(w))
		}
	}
	return out
}

// fillers are the stems of words that most texts have.
var fillers = stems(`a about all am an and any are as at be been but by can could did do does for from had has have he her him his
	how i if in into is it its just let me my of on once or our out please she should so some than that the their them then there they this to up us was we
	were what when which who whose why will with would you your`)

// meaningful removes fillers from the terms of a query that has other terms.
func meaningful(terms []string) []string {
	if out := slices.DeleteFunc(slices.Clone(terms), func(t string) bool { return slices.Contains(fillers, t) }); len(out) > 0 {
		return out
	}
	return terms
}

// whole is the prefix of a term that is a whole name.
const whole = "="

// split returns the words of a text unchanged.
func split(text string) []string {
	if len(text) > maxQuery {
		text = text[:maxQuery]
	}
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// stems splits a text into the stems of its words, and names at their case changes.
func stems(text string) []string {
	var out []string
	for _, w := range split(text) {
		for _, part := range words(w) {
			out = append(out, stem(part))
		}
	}
	return out
}

// stem returns the stem of an English word in lower case: "expires", "expiring",
// "expired", "expiration" and "expiry" have the same one. Stems are only compared with
// stems; they need not be words.
func stem(w string) string {
	w = singular(w)
	for _, ending := range []string{"ing", "ed"} {
		rest, ok := strings.CutSuffix(w, ending)
		if !ok || len(rest) < 3 || !strings.ContainsAny(rest, vowels+"y") || strings.HasSuffix(w, "eed") {
			continue
		}
		once := undouble(rest)
		if once == rest && isShort(rest) {
			return rest + "e" // naming
		}
		return withoutAt(once)
	}
	switch {
	case len(w) > 7 && (strings.HasSuffix(w, "tion") || strings.HasSuffix(w, "sion")):
		return withoutAt(w[:len(w)-3])
	case len(w) > 4 && strings.HasSuffix(w, "e"):
		return withoutAt(undouble(w[:len(w)-1]))
	case len(w) > 5 && (strings.HasSuffix(w, "iry") || strings.HasSuffix(w, "ery")):
		return w[:len(w)-1]
	}
	return undouble(w)
}

const vowels = "aeiou"

// singular removes a plural's ending.
func singular(w string) string {
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 4 && slices.ContainsFunc([]string{"ches", "shes", "sses", "xes"}, func(s string) bool { return strings.HasSuffix(w, s) }):
		return w[:len(w)-2]
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is"):
		return w[:len(w)-1]
	}
	return w
}

// undouble removes one of two equal consonants at the end: planned, shopping.
func undouble(w string) string {
	n := len(w)
	if n < 4 || w[n-1] != w[n-2] || w[n-1] >= 0x80 || strings.IndexByte(vowels, w[n-1]) >= 0 || n == 4 && strings.IndexByte("lsz", w[n-1]) >= 0 {
		return w
	}
	return w[:n-1]
}

// isShort reports whether a word is a consonant, a vowel and a consonant: then its form
// without ending usually has an e.
func isShort(w string) bool {
	vowel := func(i int) bool { return strings.IndexByte(vowels+"y", w[i]) >= 0 }
	return len(w) == 3 && !vowel(0) && vowel(1) && !vowel(2) && strings.IndexByte("wx", w[2]) < 0
}

// withoutAt removes the rest of the ending of verbs in -ate.
func withoutAt(w string) string {
	if rest, ok := strings.CutSuffix(w, "at"); ok && len(rest) > 4 {
		return rest
	}
	return w
}

// kinds are the words that people use for the values of a type of field.
var kinds = map[FieldType]string{TypeTime: "date time", TypeDay: "date day"}
