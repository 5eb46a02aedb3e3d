package fault

import "strings"

// Nearest gives the candidate that a misspelt word most likely meant, "" when
// none is near. Case does not count; of equals the first one wins.
func Nearest(word string, candidates []string) string {
	if len(word) > 64 {
		return ""
	}
	limit := 1 + len(word)/4
	best, bestDistance := "", limit+1
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), strings.ToLower(c), limit); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean gives `; did you mean "x"?` for the nearest candidate, "" without
// one, to stand behind a message.
func DidYouMean(word string, candidates []string) string {
	if n := Nearest(word, candidates); n != "" {
		return `; did you mean "` + n + `"?`
	}
	return ""
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
