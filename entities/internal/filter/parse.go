package filter

import (
	"errors"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

var errTrailing = errors.New("unexpected data after the JSON value")

// maxDetails bounds a report; more problems than that help nobody.
const maxDetails = 50

// maxShown is how much of a wrong name or value a message repeats, in bytes.
const maxShown = 64

var (
	logic       = catalog.OperatorNames(catalog.InFilter)
	quantifiers = catalog.EdgeOperators()
)

// parser reads one filter.
type parser struct {
	report
	graph  Graph
	guards *Guards
}

// report is what is wrong with a filter, and how much of it was read.
type report struct {
	details []fault.Detail
	nodes   int
	values  int
	bytes   int
	full    bool // a limit was passed: say so once and stop
}

func (p *report) fail(d fault.Detail) {
	if len(p.details) < maxDetails && !p.full {
		p.details = append(p.details, d)
	}
}

func (p *report) wrong(at, message, expected string, got any) {
	p.fail(fault.Detail{Path: at, Message: message, Expected: expected, Received: Describe(got)})
}

// limit reports that the filter is too big, and silences what follows.
func (p *report) limit(at, message, expected string) {
	p.fail(fault.Detail{Path: at, Message: message, Expected: expected})
	p.full = true
}

// node counts one condition or group.
func (p *report) node(at string) bool {
	if p.nodes++; p.nodes > MaxNodes && !p.full {
		p.limit(at, "the filter has too many conditions", "at most "+strconv.Itoa(MaxNodes))
	}
	return !p.full
}

// object reads a filter object: all its members are joined by and.
func (p *parser) object(e *descriptor.Entity, m map[string]any, at string, depth int) node {
	all := &group{}
	if depth > MaxDepth {
		p.limit(at, "the filter is nested too deeply", "at most "+strconv.Itoa(MaxDepth)+" levels")
		return all
	}
	for _, key := range sortedKeys(m) {
		v, here := m[key], at+"/"+Escape(key)
		if !p.node(here) {
			return all
		}
		if n := p.member(e, key, v, here, depth); n != nil {
			all.of = append(all.of, n)
		}
	}
	return all.simple()
}

func (p *parser) member(e *descriptor.Entity, key string, v any, at string, depth int) node {
	if strings.HasPrefix(key, "$") {
		return p.logic(e, key, v, at, depth)
	}
	if f := e.Resource.Field(key); Readable(f) {
		if c := e.Column(key); c != nil {
			return p.condition(c, f, v, at)
		}
	}
	if edge, target := Related(e, p.graph, key); target != nil {
		return p.edge(edge, target, e, v, at, depth)
	}
	known := append(FieldNames(e), EdgeNames(e, p.graph)...)
	p.fail(fault.Detail{Path: at, Message: "unknown field " + Quote(key) + " of " + e.Resource.Name + fault.DidYouMean(key, known)})
	return nil
}

func (p *parser) logic(e *descriptor.Entity, key string, v any, at string, depth int) node {
	switch key {
	case "$not":
		m, ok := v.(map[string]any)
		if !ok {
			p.wrong(at, "$not takes a filter object", "object", v)
			return nil
		}
		return &not{p.object(e, m, at, depth+1)}
	case "$search":
		s, _ := v.(string)
		if !p.text(s, at) {
			return nil
		}
		words, d := ParseWords(e, v, at, "$search")
		if d != nil {
			p.fail(*d)
			return nil
		}
		return words
	case "$and", "$or", "$nor":
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			p.wrong(at, key+" takes a list with at least one filter object", "non-empty array of objects", v)
			return nil
		}
		g := &group{or: key != "$and"}
		for i, item := range list {
			here := at + "/" + strconv.Itoa(i)
			m, ok := item.(map[string]any)
			if !ok {
				p.wrong(here, key+" takes filter objects", "object", item)
				continue
			}
			if !p.node(here) {
				break
			}
			g.of = append(g.of, p.object(e, m, here, depth+1))
		}
		if key == "$nor" {
			return &not{g}
		}
		return g
	}
	message := "unknown operator " + Quote(key) + fault.DidYouMean(key, logic)
	switch {
	case belongsTo(key, catalog.AtField):
		message = "operator " + key + " belongs to a field: {\"" + exampleField(e) + "\": {\"" + key + "\": ...}}"
	case slices.Contains(quantifiers, key):
		message = "operator " + key + " applies only to a to-many relationship"
	}
	p.fail(fault.Detail{Path: at, Message: message})
	return nil
}

// belongsTo reports whether a name is an operator that stands in a place.
func belongsTo(name string, place catalog.OperatorPlace) bool {
	op, ok := catalog.FilterOperatorNamed(name)
	return ok && op.Place == place
}

// edge reads what stands at a relationship.
func (p *parser) edge(edge *descriptor.Edge, target, own *descriptor.Entity, v any, at string, depth int) node {
	many := own.Resource.Edge(edge.Name).Many
	join := &related{edge: edge, target: target, own: own, guard: p.guards.Of(target)}
	if v == nil && !many {
		return &not{join}
	}
	m, ok := v.(map[string]any)
	switch {
	case !ok && many:
		p.wrong(at, "a to-many relationship takes $some, $every, $none or $exists", "object", v)
		return nil
	case !ok:
		p.wrong(at, "a relationship takes a filter of "+target.Resource.Name+", or null", "object or null", v)
		return nil
	case many:
		return p.toMany(join, m, at, depth)
	}
	rest := make(map[string]any, len(m))
	all := &group{}
	for key, sub := range m {
		if key != "$exists" {
			rest[key] = sub
		} else if n := p.exists(join, sub, at+"/$exists"); n != nil {
			all.of = append(all.of, n)
		}
	}
	if len(rest) > 0 || len(m) == 0 {
		sub := *join
		sub.condition = p.object(target, rest, at, depth+1)
		all.of = append(all.of, &sub)
	}
	return all.simple()
}

func (p *parser) toMany(join *related, m map[string]any, at string, depth int) node {
	all := &group{}
	if len(m) == 0 {
		p.wrong(at, "a to-many relationship takes $some, $every, $none or $exists", "object with one of them", m)
	}
	for _, key := range sortedKeys(m) {
		v, here := m[key], at+"/"+Escape(key)
		if !p.node(here) {
			return all
		}
		if key == "$exists" {
			if n := p.exists(join, v, here); n != nil {
				all.of = append(all.of, n)
			}
			continue
		}
		if !slices.Contains(quantifiers, key) {
			message := "unknown operator " + Quote(key) + " of a to-many relationship" + fault.DidYouMean(key, quantifiers)
			if !strings.HasPrefix(key, "$") {
				message = "a to-many relationship takes $some, $every, $none or $exists around " + Quote(key)
			}
			p.fail(fault.Detail{Path: here, Message: message})
			continue
		}
		inner, ok := v.(map[string]any)
		if !ok {
			p.wrong(here, key+" takes a filter of "+join.target.Resource.Name, "object", v)
			continue
		}
		sub := *join
		sub.condition = p.object(join.target, inner, here, depth+1)
		switch key {
		case "$some":
			all.of = append(all.of, &sub)
		case "$none":
			all.of = append(all.of, &not{&sub})
		case "$every":
			sub.condition = &not{sub.condition}
			all.of = append(all.of, &not{&sub})
		}
	}
	return all.simple()
}

func (p *parser) exists(join *related, v any, at string) node {
	yes, ok := v.(bool)
	if !ok {
		p.wrong(at, "$exists takes true or false", "boolean", v)
		return nil
	}
	if yes {
		return join
	}
	return &not{join}
}

// Readable reports whether callers may filter, sort or select by a field.
func Readable(f *catalog.Field) bool { return f != nil && !f.Sensitive && !f.WriteOnly }

// FieldNames are the fields that callers may name, the key first.
func FieldNames(e *descriptor.Entity) []string {
	out := []string{e.Resource.Key.Name}
	for i := range e.Resource.Fields {
		if f := &e.Resource.Fields[i]; Readable(f) && f.Name != e.Resource.Key.Name {
			out = append(out, f.Name)
		}
	}
	return out
}

// EdgeNames are the relationships that callers may name.
func EdgeNames(e *descriptor.Entity, g Graph) []string {
	var out []string
	for i := range e.Resource.Edges {
		if _, target := Related(e, g, e.Resource.Edges[i].Name); target != nil {
			out = append(out, e.Resource.Edges[i].Name)
		}
	}
	return out
}

// Related returns a relationship and the entity that it leads to; both are nil
// where the graph does not show it.
func Related(e *descriptor.Entity, g Graph, name string) (*descriptor.Edge, *descriptor.Entity) {
	edge, shown := e.Edge(name), e.Resource.Edge(name)
	if edge == nil || shown == nil || shown.WriteOnly {
		return nil, nil
	}
	target := g.Entity(edge.Target)
	if target == nil {
		return nil, nil
	}
	return edge, target
}

func exampleField(e *descriptor.Entity) string {
	if len(e.Resource.Fields) > 0 {
		return e.Resource.Fields[0].Name
	}
	return e.Resource.Key.Name
}

func sortedKeys(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

// Escape makes a name a token of a JSON Pointer.
func Escape(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return fault.Clip(name, maxShown)
	}
	return fault.Clip(strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1"), maxShown)
}

// Quote shows a caller's name in a message: quoted and clipped.
func Quote(name string) string { return strconv.Quote(fault.Clip(name, maxShown)) }
