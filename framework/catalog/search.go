package catalog

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strings"
)

// Hit is one result of View.Search: an operation, or an entity.
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

// Weights of the places of a word, and of the kinds of hits.
const (
	nameWeight      = 4
	summaryWeight   = 2
	memberWeight    = 2   // of the names of fields, relationships and parameters
	entityAdvantage = 1.5 // an entity ranks before its own operations
	prefixShare     = 0.4 // of the score, where only a word's beginning fits
	synonymShare    = 0.4 // of the score, where only another word for it fits
	minPrefix       = 3   // characters of a word that may match as a beginning
)

// The constants of BM25 as the literature has them.
const (
	bm25K = 1.2
	bm25B = 0.75
)

// Search ranks what scripts of this view can call, and the entities they see, by
// BM25 over names, descriptions, aliases, fields, relationships and values; for
// operations that belong to no entity, over the names in their schemas. Words match by
// their stems, and by synonyms. It returns at most limit hits, the best first, equal
// ones by ID. An empty query returns everything, entities first. The index is built at
// a view's first search.
func (v *View) Search(query string, limit int) []Hit {
	ix := Memo(v, indexKey{}, func() *index { return newIndex(v) })
	for _, prefix := range []string{"SDK.", "Entities."} { // as results and scripts name things
		query = strings.TrimPrefix(strings.TrimSpace(query), prefix)
	}
	asked := meaningful(terms(query))
	return ix.rank(asked[:min(len(asked), maxTerms)], stems(query), limit)
}

type indexKey struct{}

// index is the inverted index of one view.
type index struct {
	hits     []Hit
	ids      []string
	names    [][]string // the stems of each hit's name
	lengths  []float64
	average  float64
	postings map[string][]posting
	terms    []string // sorted, to find words by their beginning
}

type posting struct {
	hit    int
	weight float64 // how often, weighed by where
}

func newIndex(v *View) *index {
	ix := &index{postings: map[string][]posting{}}
	for _, r := range v.Resources() {
		p := passage{}
		p.say(nameWeight, append([]string{r.Name}, r.Aliases...)...)
		p.say(summaryWeight, r.Description)
		p.members(r)
		ix.add(Hit{Resource: r}, p)
	}
	for _, op := range v.Script() {
		p := passage{}
		p.say(nameWeight, op.ID.Owner, op.ID.Op, op.Title)
		p.say(summaryWeight, op.Summary)
		if op.Resource == "" {
			p.schema(op.Input)
			p.schema(op.Output)
		}
		ix.add(Hit{Operation: op}, p)
	}
	for term := range ix.postings {
		ix.terms = append(ix.terms, term)
	}
	sort.Strings(ix.terms)
	for _, l := range ix.lengths {
		ix.average += l / float64(len(ix.lengths))
	}
	return ix
}

// passage is the indexed text of one hit: its terms and their weights.
type passage struct {
	weights map[string]float64
	length  float64
}

func (p *passage) say(weight float64, texts ...string) {
	if p.weights == nil {
		p.weights = map[string]float64{}
	}
	for _, text := range texts {
		for _, term := range terms(text) {
			p.weights[term] += weight
			p.length++
		}
	}
}

// members are the fields and relationships of an entity.
func (p *passage) members(r *Resource) {
	for _, f := range r.Fields {
		if f.Sensitive {
			continue
		}
		p.say(memberWeight, append([]string{f.Name}, f.Aliases...)...)
		p.say(1, f.Description, kinds[f.Type])
		p.say(1, f.Enum...)
	}
	for _, e := range r.Edges {
		p.say(memberWeight, append([]string{e.Name}, e.Aliases...)...)
		p.say(1, e.Description, e.Target)
	}
}

// maxSchema is how long a schema may be, in bytes, for its words to be found.
const maxSchema = 256 << 10

// schema adds the names, descriptions and values of a schema.
func (p *passage) schema(schema json.RawMessage) {
	var doc any
	if len(schema) > maxSchema || json.Unmarshal(schema, &doc) != nil {
		return
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, one := range v {
				switch text, isText := one.(string); {
				case key == "description" && isText:
					p.say(1, text)
				case key == "properties":
					members, _ := one.(map[string]any)
					for name := range members {
						p.say(memberWeight, name)
					}
					walk(one)
				case key == "enum":
					values, _ := one.([]any)
					for _, value := range values {
						if text, ok := value.(string); ok {
							p.say(1, text)
						}
					}
				default:
					walk(one)
				}
			}
		case []any:
			for _, one := range v {
				walk(one)
			}
		}
	}
	walk(doc)
}

func (ix *index) add(h Hit, p passage) {
	at := len(ix.hits)
	ix.hits = append(ix.hits, h)
	ix.ids = append(ix.ids, h.ID())
	ix.names = append(ix.names, stems(ownName(h)))
	ix.lengths = append(ix.lengths, p.length)
	for term, w := range p.weights {
		ix.postings[term] = append(ix.postings[term], posting{at, w})
	}
}

// scored is a hit by its place in the index.
type scored struct {
	at    int
	score float64
}

// rank finds hits by terms; one whose name is the query comes first.
func (ix *index) rank(query, name []string, limit int) []Hit {
	found := make([]scored, 0, len(ix.hits))
	if len(query) == 0 {
		for at := range ix.hits {
			found = append(found, scored{at, 0})
		}
		return ix.take(found, limit)
	}
	scores := make([]float64, len(ix.hits))
	for _, term := range query {
		ix.score(scores, term, 1)
		for _, other := range synonyms()[term] {
			ix.score(scores, other, synonymShare)
		}
		if len([]rune(term)) < minPrefix || strings.HasPrefix(term, whole) {
			continue
		}
		for i := sort.SearchStrings(ix.terms, term); i < len(ix.terms) && strings.HasPrefix(ix.terms[i], term); i++ {
			if ix.terms[i] != term {
				ix.score(scores, ix.terms[i], prefixShare)
			}
		}
	}
	best := 0.0
	for at, score := range scores {
		if score > 0 && ix.hits[at].Resource != nil {
			scores[at] = score * entityAdvantage
		}
		best = max(best, scores[at])
	}
	for at, score := range scores {
		if score == 0 {
			continue
		}
		if same(ix.names[at], name) {
			score += best // who calls a thing by its name means it
		}
		found = append(found, scored{at, math.Round(score*1000) / 1000})
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(ix.ids[a.at], ix.ids[b.at]))
	})
	return ix.take(found, limit)
}

// take returns the first hits.
func (ix *index) take(found []scored, limit int) []Hit {
	found = found[:min(len(found), max(limit, 0))]
	out := make([]Hit, len(found))
	for i, f := range found {
		out[i] = ix.hits[f.at]
		out[i].Score = f.score
	}
	return out
}

// ownName is the name of a hit, without its title.
func ownName(h Hit) string {
	if h.Resource != nil {
		return h.Resource.Name
	}
	return h.Operation.ID.Owner + " " + h.Operation.ID.Op
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

// score adds the score of one term to every document that has it.
func (ix *index) score(scores []float64, term string, share float64) {
	found := ix.postings[term]
	n, df := float64(len(ix.hits)), float64(len(found))
	idf := math.Log(1 + (n-df+0.5)/(df+0.5))
	for _, p := range found {
		norm := bm25K * (1 - bm25B + bm25B*ix.lengths[p.hit]/ix.average)
		scores[p.hit] += share * idf * p.weight * (bm25K + 1) / (p.weight + norm)
	}
}
