package catalog

import (
	"slices"
	"strings"
	"sync"
	"unicode"
)

// maxTerms is how many words of a query count.
const maxTerms = 64

// maxText is how much of a text is split into words, in bytes.
const maxText = 64 << 10

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

// fillers are the stems of words that most texts have, and of what people say around what
// they want.
var fillers = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, word := range stems(`a about actually again ah alright already also although always am an and any anyway apparently are as at away be because been being believe
		best better bit both but by can cannot come could couple course curious dear definitely did do does done each either else even ever every everything few for from
		fun general gladly glad go going good got grateful great guess had happen hardly has have he hello help her here hers hey hi him himself his hm hmm how
		however i idea if im in indeed instead into is it its itself just kind kindly know later least less let listen little lot love lovely make many may
		maybe me might mine more most much must my myself need neither never nice no none nor not now of oh ok okay on once one ones only or other others ought
		our ours out over own particular perhaps please possible pretty probably quick quickly quite rather real really right same say see seem shall she should
		since so some something somehow somewhere soon sort still stuff such suppose sure take than thank thanks that the their theirs them themselves then there
		therefore these they thing think this those though through thus till to too try up upon us use very via want was way we well were what whatever when where
		whether which while who whom whose why will wish with without wonder would yeah yes yet you your yours`) {
		out[word] = true
	}
	return out
})

// isFiller reports whether a word says nothing of what somebody wants.
func isFiller(word string) bool { return fillers()[word] }

// meaningful returns the terms that are no fillers.
func meaningful(terms []string) []string {
	return slices.DeleteFunc(slices.Clone(terms), isFiller)
}

// whole is the prefix of a term that is a whole name.
const whole = "="

// split returns the words of a text unchanged.
func split(text string) []string {
	text = text[:min(len(text), maxText)]
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}

// stems splits a text into the stems of its words, and names at their case changes.
func stems(text string) []string {
	var out []string
	for _, w := range split(text) {
		for _, part := range words(w) {
			for _, piece := range pieces(part) {
				out = append(out, stem(piece))
			}
		}
	}
	return out
}

// pieces returns a word, or of a text in a script that puts no spaces between words, each two letters
// that stand side by side: words that two such texts share have most of these in common.
func pieces(word string) []string {
	if strings.IndexFunc(word, spaceless) < 0 {
		return []string{word}
	}
	var out []string
	runs := []rune(word)
	for at := 0; at < len(runs); {
		end := at + 1
		for end < len(runs) && spaceless(runs[end]) == spaceless(runs[at]) {
			end++
		}
		if !spaceless(runs[at]) || end == at+1 {
			out = append(out, string(runs[at:end]))
		}
		for i := at; spaceless(runs[at]) && i+1 < end; i++ {
			out = append(out, string(runs[i:i+2]))
		}
		at = end
	}
	return out
}

// spaceless reports whether a letter is of a script that puts no spaces between words.
func spaceless(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// stemsOf returns a list of stems that is made when it is first needed: a worker of scripts
// has this package and never searches.
func stemsOf(text string) func() []string {
	return sync.OnceValue(func() []string { return stems(text) })
}

// stem returns the stem of an English word in lower case: "expires", "expiring",
// "expired", "expiration" and "expiry" have the same one. Stems are only compared with
// stems; they need not be words.
func stem(w string) string {
	if present, ok := irregular()[w]; ok {
		w = present
	}
	w = singular(w)
	if rest, ok := withoutEnding(w); ok {
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

// withoutEnding removes -ing and -ed from a verb, and reports whether it has one of them.
func withoutEnding(w string) (string, bool) {
	for _, ending := range []string{"ing", "ed"} {
		rest, ok := strings.CutSuffix(w, ending)
		if ok && len(rest) >= 3 && strings.ContainsAny(rest, vowels+"y") && !strings.HasSuffix(w, "eed") {
			return rest, true
		}
	}
	return w, false
}

// form is the form of a word.
type form uint8

const (
	base       form = iota // delete
	plural                 // deletes, files
	participle             // deleting, deleted, found
)

// formsIn returns the forms of the words that stems returns of a text.
func formsIn(text string) []form {
	var out []form
	for _, w := range split(text) {
		for _, part := range words(w) {
			for _, piece := range pieces(part) {
				out = append(out, formOf(piece))
			}
		}
	}
	return out
}

// formOf returns the form of a word in lower case.
func formOf(w string) form {
	_, ended := withoutEnding(w)
	switch {
	case ended || irregular()[w] != "":
		return participle
	case singular(w) != w:
		return plural
	}
	return base
}

// irregular are forms of verbs that do not look like the others, and the verbs.
var irregular = sync.OnceValue(func() map[string]string {
	out := map[string]string{}
	for _, forms := range strings.Split("began begun begin,bought buy,brought bring,built build,came come,caught catch,chose chosen choose,drew drawn draw,drove driven drive,fell fallen fall,"+
		"felt feel,forgot forgotten forget,found find,gave given give,got gotten get,grew grown grow,heard hear,held hold,kept keep,knew known know,lent lend,lost lose,made make,"+
		"meant mean,met meet,paid pay,ran run,rang rung ring,rode ridden ride,said say,sang sing,saw seen see,sent send,shot shoot,showed shown show,shook shaken shake,sold sell,"+
		"spent spend,spoke spoken speak,stood stand,stuck stick,swept sweep,taught teach,thought think,threw thrown throw,told tell,took taken take,understood understand,went gone go,"+
		"woke woken wake,won win,wore worn wear,wrote written write", ",") {
		words := strings.Fields(forms)
		for _, form := range words[:len(words)-1] {
			out[form] = words[len(words)-1]
		}
	}
	return out
})

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
