package catalog

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"strings"
)

// Hit is one result of a search: an operation, or an entity.
type Hit struct {
	Operation *Operation // nil for an entity
	Resource  *Resource  // nil for an operation
	Score     float64    // greater is better; 0 where the query was empty
}

// ID identifies what was found: an operation's ID, or "koan::Todo" for an
// entity.
func (h Hit) ID() string {
	if h.Resource != nil {
		return string(KindEntity) + "::" + h.Resource.Name
	}
	return h.Operation.ID.String()
}

// The shares of a word's score.
const (
	entityAdvantage = 1.5 // of an entity, which ranks before its own operations
	entityShare     = 0.5 // of an entity's score, for its operations where only operations are asked for
	prefixShare     = 0.4 // where only a word's beginning fits
	synonymShare    = 0.7 // where only another word for it fits
	meaningShare    = 0.6 // of each of the words that it means together
	onlyOneShare    = 0.4 // of a hit's score that does not depend on how many of the words it has
	changeShare     = 0.6 // of an operation that changes something, where the query wants to read
	otherShare      = 0.8 // of an operation that does something else than the query wants
	ownerShare      = 0.6 // of an operation whose owner the query does not name, where it names one
	minPrefix       = 4   // characters of a word that may match as a beginning
)

// The constants of BM25F: how soon more occurrences of a word count no more, what a word
// counts in each part, and how much the part's length takes away from that.
const bm25K = 3

var (
	partWeights = [parts]float64{ofName: 4, ofSummary: 2, ofMembers: 1.5, ofDetails: 0.25}
	bm25B       = [parts]float64{ofName: 0.3, ofSummary: 0.75, ofMembers: 0.75, ofDetails: 0.75}
)

// Search ranks what scripts of this view can call, and the entities they see, by
// BM25F over names, descriptions, aliases, fields, relationships and values; for
// operations that belong to no entity, over the names, descriptions and values in their
// schemas. Words match by their stems, by synonyms, and by what they mean. It returns at
// most limit hits, the best first, equal ones by ID. An empty query returns everything,
// entities first. The index is made at a view's first search.
func (v *View) Search(query string, limit int) []Hit {
	return indexOf(v).search(query, limit, nil)
}

// SearchOperations ranks like Search the operations for which keep returns true. Those of
// an entity are found by what is known of the entity, too.
func (v *View) SearchOperations(query string, limit int, keep func(*Operation) bool) []Hit {
	return indexOf(v).search(query, limit, keep)
}

// scored is a hit by its place in the index.
type scored struct {
	at    int
	score float64
}

// search finds hits: with keep, operations for which it returns true.
func (ix *index) search(query string, limit int, keep func(*Operation) bool) []Hit {
	for _, prefix := range []string{"SDK.", "Entities."} { // as results and scripts name things
		query = strings.TrimPrefix(strings.TrimSpace(query), prefix)
	}
	asked := meaningful(terms(plainly(query)))
	scores := ix.scores(asked[:min(len(asked), maxTerms)])
	if keep != nil {
		for at, of := range ix.entities {
			scores[at] += entityShare * scores[of]
		}
	}
	ix.weigh(scores, query)
	best := slices.Max(append(slices.Clone(scores), 0))
	name := stems(query)
	var found []scored
	for at, score := range scores {
		if op := ix.hits[at].Operation; len(asked) > 0 && score == 0 || keep != nil && (op == nil || !keep(op)) {
			continue
		}
		if len(asked) > 0 && same(ix.names[at], name) {
			score += best // who calls a thing by its name means it
		}
		found = append(found, scored{at, math.Round(score*1000) / 1000})
	}
	if len(asked) > 0 { // else they are in the order of the index
		slices.SortFunc(found, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(ix.ids[a.at], ix.ids[b.at]))
		})
	}
	found = found[:min(len(found), max(limit, 0))]
	out := make([]Hit, len(found))
	for i, f := range found {
		out[i] = ix.hits[f.at]
		out[i].Score = f.score
	}
	return out
}

// weigh lowers the scores of operations that do something else than the query wants, and of
// those of other owners than it names.
func (ix *index) weigh(scores []float64, query string) {
	wanted, asked := intentOfQuery(query), stems(query)
	named := map[string]bool{}
	for owner, words := range ix.owners {
		if isNamed := !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(asked, w) }); isNamed && len(words) > 0 {
			named[owner] = true
		}
	}
	for at, h := range ix.hits {
		if h.Operation == nil {
			continue
		}
		scores[at] *= fit(wanted, ix.intents[at])
		if len(named) > 0 && !named[h.Operation.ID.Owner] {
			scores[at] *= ownerShare
		}
	}
}

// scores returns the score of each hit for the terms of a query.
func (ix *index) scores(query []string) []float64 {
	sums := tally{scores: make([]float64, len(ix.hits)), matched: make([]float64, len(ix.hits)), one: make([]float64, len(ix.hits))}
	for _, term := range query {
		sums.add(ix, term, 1)
		for _, other := range meanings()[term] {
			sums.add(ix, other, meaningShare)
		}
	}
	out := sums.scores
	for at, score := range out {
		if score > 0 {
			out[at] = score * (onlyOneShare + (1-onlyOneShare)*sums.matched[at]/sums.asked)
		}
	}
	for at, h := range ix.hits {
		if h.Resource != nil {
			out[at] *= entityAdvantage
		}
	}
	return out
}

// tally sums the scores of hits.
type tally struct {
	scores  []float64
	matched []float64 // how many terms a hit has, each by its share
	asked   float64   // how many there are
	one     []float64 // the scores of one term
}

// add adds the scores of one term: for each hit that of its best match.
func (t *tally) add(ix *index, term string, share float64) {
	clear(t.one)
	most := ix.idf(term) // another word for it is not worth more than the word itself
	ix.score(t.one, term, share*most)
	for _, other := range synonyms()[term] {
		ix.score(t.one, other, share*synonymShare*min(most, ix.idf(other)))
	}
	if len([]rune(term)) >= minPrefix && !strings.HasPrefix(term, whole) {
		for i := sort.SearchStrings(ix.terms, term); i < len(ix.terms) && strings.HasPrefix(ix.terms[i], term); i++ {
			if ix.terms[i] != term {
				ix.score(t.one, ix.terms[i], share*prefixShare*min(most, ix.idf(ix.terms[i])))
			}
		}
	}
	t.asked += share
	for at, score := range t.one {
		if score > 0 {
			t.scores[at] += score
			t.matched[at] += share
		}
	}
}

// idf is what a term is worth: the more, the fewer hits have it.
func (ix *index) idf(term string) float64 {
	n, df := float64(len(ix.hits)), float64(len(ix.postings[term]))
	return math.Log(1 + (n-df+0.5)/(df+0.5))
}

// score raises the scores of the hits that have a term to those of the term, which is worth
// that much.
func (ix *index) score(scores []float64, term string, worth float64) {
	for _, p := range ix.postings[term] {
		weight := 0.0
		for where, times := range p.times {
			if times > 0 {
				weight += partWeights[where] * times / (1 - bm25B[where] + bm25B[where]*ix.lengths[p.hit][where]/ix.average[where])
			}
		}
		scores[p.hit] = max(scores[p.hit], worth*weight*(bm25K+1)/(weight+bm25K))
	}
}

// same reports whether a query is a name and nothing else.
func same(name, query []string) bool {
	for _, word := range query {
		if !slices.Contains(name, word) {
			return false
		}
	}
	for _, part := range name {
		if !slices.Contains(query, part) {
			return false
		}
	}
	return true
}
