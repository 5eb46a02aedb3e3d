package catalog

import (
	"encoding/json"
	"maps"
	"slices"
	"sort"

	"github.com/koan-go/koan/framework/schema/subschema"
)

// part is a part of what is known of a hit.
type part int

const (
	ofName    part = iota // names, titles and aliases
	ofSummary             // descriptions
	ofMembers             // names of fields, relationships and parameters
	ofDetails             // their descriptions and values
	parts
)

type indexKey struct{}

// index is the inverted index of one view.
type index struct {
	hits     []Hit
	ids      []string
	names    [][]string          // the stems of each hit's name
	titles   [][]string          // those of its title that are no fillers
	intents  []intent            // what its name says that it does
	owners   map[string][]string // the stems of the names of operations' owners
	servers  bool                // some hits are tools of servers
	lengths  [][parts]float64
	average  [parts]float64
	postings map[string][]posting
	terms    []string    // sorted, to find words by their beginning
	entities map[int]int // from an entity's operation to the entity
}

type posting struct {
	hit   int
	times [parts]float64 // how often, by where
}

func indexOf(v *View) *index {
	return Memo(v, indexKey{}, func() *index { return newIndex(v) })
}

func newIndex(v *View) *index {
	ix := &index{postings: map[string][]posting{}, entities: map[int]int{}, owners: map[string][]string{}}
	at := map[string]int{}
	for _, r := range v.Resources() {
		p := passage{}
		p.say(ofName, append([]string{r.Name}, r.Aliases...)...)
		p.say(ofSummary, r.Description)
		p.members(r)
		at[r.Name] = len(ix.hits)
		ix.add(Hit{Resource: r}, p)
	}
	for _, op := range v.Script() {
		p := passage{}
		p.say(ofName, op.ID.Owner, op.ID.Op, op.Title)
		p.say(ofSummary, append([]string{op.Summary}, op.AskedBy...)...)
		if op.Resource == "" {
			p.schema(op.Input)
			p.schema(op.Output)
		}
		if of, ok := at[op.Resource]; ok {
			ix.entities[len(ix.hits)] = of
		}
		ix.add(Hit{Operation: op}, p)
	}
	for term := range ix.postings {
		ix.terms = append(ix.terms, term)
	}
	sort.Strings(ix.terms)
	for _, lengths := range ix.lengths {
		for p, l := range lengths {
			ix.average[p] += l / float64(len(ix.lengths))
		}
	}
	return ix
}

// passage is the indexed text of one hit: its terms, and how long its parts are.
type passage struct {
	times   map[string][parts]float64
	lengths [parts]float64
}

func (p *passage) say(where part, texts ...string) {
	if p.times == nil {
		p.times = map[string][parts]float64{}
	}
	for _, text := range texts {
		for _, term := range terms(text) {
			times := p.times[term]
			times[where]++
			p.times[term] = times
			p.lengths[where]++
		}
	}
}

// members are the fields and relationships of an entity.
func (p *passage) members(r *Resource) {
	for _, f := range r.Fields {
		if f.Sensitive {
			continue
		}
		p.say(ofMembers, append([]string{f.Name}, f.Aliases...)...)
		p.say(ofDetails, f.Description, kinds[f.Type])
		p.say(ofDetails, f.Enum...)
	}
	for _, e := range r.Edges {
		p.say(ofMembers, append([]string{e.Name}, e.Aliases...)...)
		p.say(ofDetails, e.Description, e.Target)
	}
}

// maxSchema is how long a schema may be, in bytes, for its words to be found.
const maxSchema = 256 << 10

// schema adds the names, descriptions and values of a schema.
func (p *passage) schema(raw json.RawMessage) {
	var doc any
	if len(raw) > maxSchema || json.Unmarshal(raw, &doc) != nil {
		return
	}
	subschema.Each(doc, func(_ string, s map[string]any) {
		if text, ok := s["description"].(string); ok {
			p.say(ofDetails, text)
		}
		if members, ok := s["properties"].(map[string]any); ok {
			p.say(ofMembers, slices.Collect(maps.Keys(members))...)
		}
		values, _ := s["enum"].([]any)
		for _, value := range values {
			if text, ok := value.(string); ok {
				p.say(ofDetails, text)
			}
		}
	})
}

func (ix *index) add(h Hit, p passage) {
	at := len(ix.hits)
	ix.hits = append(ix.hits, h)
	ix.ids = append(ix.ids, h.ID())
	ix.names = append(ix.names, stems(ownName(h)))
	ix.titles = append(ix.titles, meaningful(stems(title(h))))
	ix.intents = append(ix.intents, intentOf(h.Operation))
	if op := h.Operation; op != nil && op.ID.Kind == KindUpstream {
		ix.servers = true
	}
	if op := h.Operation; op != nil && op.Resource == "" && op.AskedBy == nil && ix.owners[op.ID.Owner] == nil {
		ix.owners[op.ID.Owner] = stems(op.ID.Owner)
	}
	ix.lengths = append(ix.lengths, p.lengths)
	for term, times := range p.times {
		ix.postings[term] = append(ix.postings[term], posting{at, times})
	}
}

// ownName is the name of a hit, without its title.
func ownName(h Hit) string {
	if h.Resource != nil {
		return h.Resource.Name
	}
	return h.Operation.ID.Owner + " " + h.Operation.ID.Op
}

func title(h Hit) string {
	if h.Operation == nil {
		return ""
	}
	return h.Operation.Title
}
