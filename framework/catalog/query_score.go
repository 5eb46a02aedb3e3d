package catalog

import (
	"math"
	"sort"
	"strings"
)

// queryScore sums the scores of hits.
type queryScore struct {
	ix      *index
	scores  []float64
	matched []float64          // how much of what is asked for a hit has
	asked   float64            // how much that is
	one     []float64          // the scores of one thing that is asked for
	counted map[string]float64 // the shares of terms that have been scored
}

func newQueryScore(ix *index) *queryScore {
	n := len(ix.hits)
	return &queryScore{ix: ix, scores: make([]float64, n), matched: make([]float64, n), one: make([]float64, n), counted: map[string]float64{}}
}

// add adds one thing that is asked for, with its share: score sets the scores of hits in one.
func (t *queryScore) add(share float64, score func()) {
	clear(t.one)
	score()
	known := false
	for at, score := range t.one {
		if score > 0 {
			t.scores[at] += share * score
			t.matched[at] += share
			known = true
		}
	}
	if known {
		t.asked += share
	}
}

// say adds what a word or an expression says.
func (t *queryScore) say(s said) {
	if s.word != "" || len(s.means.either)+len(s.means.maybe) > 0 {
		weight := 1.0
		if s.word == "" {
			weight = expressionWeight
		}
		if of := intentOfWord(s); of >= reads && of <= deletes {
			weight *= verbWeight
		}
		t.add(weight, func() { t.either(s) })
	}
	if s.means != nil {
		for _, one := range s.means.all {
			t.add(meaningShare, func() { t.others(one, 1, math.Inf(1)) })
		}
	}
}

// either scores for each hit what fits best of the word itself, other words for it, and words
// that begin with it.
func (t *queryScore) either(s said) {
	most := math.Inf(1)
	if s.word != "" {
		most = t.ix.idf(s.word) // another word for it is not worth more than the word itself
		t.term(s.word, 1, most)
		t.term(whole+s.word, 1, t.ix.idf(whole+s.word)) // GitHub, of which a query says github
	}
	if s.exact {
		return
	}
	alike := everyday().alike[s.word]
	t.others(alike, synonymShare, most)
	if s.means != nil {
		t.others(s.means.either, synonymShare, most)
		t.others(s.means.maybe, maybeShare, most)
	} else if len([]rune(s.word)) >= minPrefix && !strings.HasPrefix(s.word, whole) && len(alike) == 0 {
		for i := sort.SearchStrings(t.ix.terms, s.word); i < len(t.ix.terms) && strings.HasPrefix(t.ix.terms[i], s.word); i++ {
			if t.ix.terms[i] != s.word {
				t.term(t.ix.terms[i], prefixShare, most)
			}
		}
	}
}

// others scores words that stand for another one, which are worth most at most.
func (t *queryScore) others(words []string, share, most float64) {
	for _, other := range words {
		t.term(other, share, most)
	}
}

// term scores a term. One that several words of a query stand for counts little more than once.
func (t *queryScore) term(term string, share, most float64) {
	before := t.counted[term]
	t.counted[term] = max(before, share)
	t.ix.score(t.one, term, max(share-before, againShare*share)*min(most, t.ix.idf(term)))
}
