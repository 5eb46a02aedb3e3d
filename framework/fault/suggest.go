package fault

import "strings"

// maxWord is the longest word that is compared.
const maxWord = 64

// Nearest returns the candidate that a misspelt word most likely means, "" if none is
// near. Case and separators between words are ignored; of equally near ones the first one
// wins. A word that only one candidate begins with means that one.
func Nearest(word string, candidates []string) string {
	if len(word) > maxWord {
		return ""
	}
	best, bestDistance := "", maxWord
	for _, c := range candidates {
		a, b := distinctParts(strings.ToLower(word), strings.ToLower(c))
		limit := tolerance(max(len(a), len(b)))
		if swapped(a, b) {
			limit = 1
		}
		d := min(distance(a, b, limit), distance(singular(a), singular(b), limit))
		if d <= limit && d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best != "" {
		return best
	}
	begun := ""
	for _, c := range candidates {
		if a, b := distinctParts(strings.ToLower(word), strings.ToLower(c)); len(a) >= minBeginning && strings.HasPrefix(b, a) {
			if begun != "" {
				return ""
			}
			begun = c
		}
	}
	return begun
}

// minBeginning is how long the beginning of a name must be to mean it.
const minBeginning = 3

// tolerance is how many characters may differ in a word of some length: about one in
// five, and none if it is too short to be recognised.
func tolerance(length int) int {
	switch {
	case length < 3:
		return 0
	case length <= 6:
		return 1
	case length <= 14:
		return 2
	}
	return 3
}

// swapped reports whether words of two characters have them in the other order: all
// that can be recognised of so short a word.
func swapped(a, b string) bool {
	return len(a) == 2 && len(b) == 2 && a[0] == b[1] && a[1] == b[0]
}

var wordSeparators = strings.NewReplacer("_", "", "-", "", " ", "", "$", "")

// distinctParts removes from two paths the steps that they share, which do not say how
// near they are, and the separators between words.
func distinctParts(a, b string) (string, string) {
	shared := 0
	for i := 0; i < len(a) && i < len(b) && a[i] == b[i]; i++ {
		if strings.IndexByte("/:.", a[i]) >= 0 {
			shared = i + 1
		}
	}
	return wordSeparators.Replace(a[shared:]), wordSeparators.Replace(b[shared:])
}

// singular undoes the plural of words in -y, which differs in too many characters.
func singular(word string) string {
	if stem, ok := strings.CutSuffix(word, "ies"); ok {
		return stem + "y"
	}
	return word
}

// DidYouMean returns `; did you mean "x"?` for the nearest candidate, to append to
// a message; "" without one.
func DidYouMean(word string, candidates []string) string {
	if n := Nearest(word, candidates); n != "" {
		return `; did you mean "` + n + `"?`
	}
	return ""
}

// DidYouMeanOr is DidYouMean with more to say behind it, which is a sentence of its own after the question.
func DidYouMeanOr(word string, candidates []string, more string) string {
	if near := DidYouMean(word, candidates); near != "" {
		return near + " " + strings.ToUpper(more[:1]) + more[1:]
	}
	return "; " + more
}

// distance is the optimal string alignment distance (a swap of neighbours counts
// one), or limit+1 when it is larger than limit.
func distance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	before, last, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(last[j]+1, cur[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, last, cur = last, cur, before
	}
	return min(last[len(b)], limit+1)
}
