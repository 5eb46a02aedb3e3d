package catalog

import (
	"cmp"
	"math"
	"slices"
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
	entityAdvantage  = 1.5  // of an entity, which ranks before its own operations unless the query wants a change
	entityShare      = 0.5  // of an entity's score, for its operations where only operations are asked for
	prefixShare      = 0.4  // where only a word's beginning fits
	synonymShare     = 0.7  // where only another word for it fits
	maybeShare       = 0.25 // the same, where it may well not be meant
	meaningShare     = 0.6  // of each of the things that it means together
	expressionWeight = 1.25 // of an expression of several words, which is seldom something else
	againShare       = 0.4  // of what a term is worth, where another word stood for it before
	onlyOneShare     = 0.4  // of a hit's score that does not depend on how many of the words it has
	ownerShare       = 0.3  // of an operation whose owner the query does not name, where it names one
	ownerScore       = 0.01 // of an operation whose owner the query names, and nothing else of it
	yieldingShare    = 0.3  // of an operation that yields to tools of servers
	verbWeight       = 0.85 // of a verb that many tools have: fit counts it, too
	minPrefix        = 4    // characters of a word that may match as a beginning
)

// The constants of BM25F: how soon more occurrences of a word count no more, what a word
// counts in each part, and how much the part's length takes away from that.
const bm25K = 4

var (
	partWeights = [parts]float64{ofName: 5, ofSummary: 2.5, ofMembers: 0.75, ofDetails: 0.25}
	bm25B       = [parts]float64{ofName: 0.3, ofSummary: 0.75, ofMembers: 0.5, ofDetails: 0.75}
)

// Search ranks what scripts of this view can call, and the entities they see, by
// BM25F over names, descriptions, aliases, fields, relationships and values; for
// operations that belong to no entity, over the names, descriptions and values in their
// schemas. Words match by their stems, and words and expressions by what they stand for
// (words.txt). It returns at most limit hits, the best first, equal ones by ID. An empty query returns everything,
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
func (ix *index) search(text string, limit int, keep func(*Operation) bool) []Hit {
	q := newQuery(text)
	scores := ix.scores(q)
	if keep != nil {
		for at, of := range ix.entities {
			scores[at] += entityShare * scores[of]
		}
	}
	ix.weigh(scores, q)
	best := slices.Max(append(slices.Clone(scores), 0))
	var found []scored
	for at, score := range scores {
		if isName(ix.hits[at].Operation, text) {
			score += 2*best + ownerScore
		}
		if op := ix.hits[at].Operation; len(q.said) > 0 && score == 0 || keep != nil && (op == nil || !keep(op)) {
			continue
		}
		if len(q.said) > 0 && !ix.yields(at, q) && (same(ix.names[at], q.words) || same(ix.titles[at], meaningful(q.words))) {
			score += best // who calls a thing by its name or title means it
		}
		found = append(found, scored{at, math.Round(score*1000) / 1000})
	}
	if len(q.said) > 0 { // else they are in the order of the index
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
// those of other owners than it names. All of an owner that it names are hits.
func (ix *index) weigh(scores []float64, q query) {
	named := map[string]bool{}
	for owner, words := range ix.owners {
		words = meaningful(words)
		if isNamed := !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(q.words, w) }); isNamed && len(words) > 0 {
			named[owner] = true
		}
	}
	for at, h := range ix.hits {
		if h.Operation == nil {
			continue
		}
		share := fit(q.wants, q.sure, ix.intents[at])
		if ix.yields(at, q) {
			share *= yieldingShare
		}
		scores[at] *= share
		switch {
		case len(named) == 0:
		case !named[h.Operation.ID.Owner]:
			scores[at] *= ownerShare
		case scores[at] == 0:
			scores[at] = ownerScore * share
		}
	}
}

// yields reports whether a hit is an operation that a query does not ask for as long as there
// are tools of servers.
func (ix *index) yields(at int, q query) bool {
	op := ix.hits[at].Operation
	if !ix.servers || op == nil || op.AskedBy == nil {
		return false
	}
	for _, word := range op.AskedBy {
		if slices.ContainsFunc(stems(word), func(stem string) bool { return slices.Contains(q.words, stem) }) {
			return false
		}
	}
	return true
}

// scores returns the score of each hit for a query.
func (ix *index) scores(q query) []float64 {
	sums := newQueryScore(ix)
	rest := ix.withoutOwners(q.said)
	slices.SortStableFunc(rest, func(a, b said) int { return cmp.Compare(ix.strength(b), ix.strength(a)) })
	for _, s := range rest {
		sums.say(s)
	}
	out := sums.scores
	for at, score := range out {
		if score > 0 {
			out[at] = score * (onlyOneShare + (1-onlyOneShare)*sums.matched[at]/sums.asked)
		}
	}
	for at, h := range ix.hits {
		if h.Resource != nil && (!q.sure || q.wants == reads) {
			out[at] *= entityAdvantage
		}
	}
	return out
}

// withoutOwners removes the names of owners, which weigh counts, if there is anything else. A
// name that is an everyday word as well may be that.
func (ix *index) withoutOwners(all []said) []said {
	rest := slices.DeleteFunc(slices.Clone(all), func(s said) bool { return s.means == nil && everyday().alike[s.word] == nil && ix.isOwner(s.word) })
	if len(rest) == 0 {
		return all
	}
	return rest
}

// strength orders what is said: words that hits have come before those that stand for them, of
// which a term that has been counted takes the worth.
func (ix *index) strength(s said) int {
	switch {
	case len(ix.postings[s.word]) > 0:
		return 2
	case s.word == "":
		return 1
	}
	return 0
}

// isOwner reports whether a word is an owner's whole name.
func (ix *index) isOwner(word string) bool {
	for _, words := range ix.owners {
		if len(words) == 1 && words[0] == word {
			return true
		}
	}
	return false
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

// isName reports whether a query is the name of a tool, letter by letter: stems of other names
// may be the same.
func isName(op *Operation, query string) bool {
	return op != nil && op.ID.Kind == KindUpstream && strings.EqualFold(op.ID.Op, strings.TrimSpace(query))
}

// same reports whether a query is a name and nothing else.
func same(name, query []string) bool {
	if len(name) == 0 {
		return false
	}
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
