package read

import (
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/fault"
)

// allEdges is the name that stands for every relationship, one level deep.
const allEdges = "all"

var relationKeys = []string{"limit", "sort", "filter", "fields", "with"}

// with reads "a,b.c", ["a","b.c"], "all", or {edge: true | {limit, sort, filter,
// fields, with}}.
func (in *input) with(s *selection, v any, at string, depth int) {
	if m, ok := v.(map[string]any); ok {
		for _, name := range sorted(m) {
			in.option(s, name, m[name], at+"/"+filter.Escape(name), depth)
		}
		return
	}
	for _, n := range in.names(v, at, "relationships") {
		here, level := s, depth
		for _, name := range strings.Split(n.name, ".") {
			if name == allEdges && !contains(filter.EdgeNames(here.entity, in.graph), allEdges) {
				for _, edge := range filter.EdgeNames(here.entity, in.graph) {
					in.relation(here, edge, n.at, level)
				}
				break
			}
			r := in.relation(here, name, n.at, level)
			if r == nil {
				break
			}
			here, level = r.reads, level+1
		}
	}
}

// relation finds or adds an edge of a selection; nil if there is none.
func (in *input) relation(s *selection, name, at string, depth int) *relation {
	edge, target := filter.Related(s.entity, in.graph, name)
	if edge == nil {
		known := filter.EdgeNames(s.entity, in.graph)
		in.fail(at, "unknown relationship "+filter.Quote(name)+" of "+s.entity.Resource.Name+fault.DidYouMean(name, known))
		return nil
	}
	for _, r := range s.relations {
		if r.edge == edge {
			return r
		}
	}
	if depth > maxWithDepth {
		in.fail(at, "relationships are nested at most "+strconv.Itoa(maxWithDepth)+" deep")
		return nil
	}
	if in.edges++; in.edges > maxWith {
		if in.edges == maxWith+1 {
			in.fail(at, "at most "+strconv.Itoa(maxWith)+" relationships can be read at once")
		}
		return nil
	}
	r := &relation{
		edge: edge, own: s.entity, many: s.entity.Resource.Edge(name).Many,
		order: in.sort(target, nil, ""), filter: in.filter(target, nil, ""),
		reads: &selection{entity: target, layout: fullLayout(target)},
		key:   "," + strconv.Quote(edge.Name) + ":",
	}
	s.relations = append(s.relations, r)
	return r
}

// option reads what the object form says of one relationship.
func (in *input) option(s *selection, name string, v any, at string, depth int) {
	r := in.relation(s, name, at, depth)
	if r == nil || v == true {
		return
	}
	m, ok := v.(map[string]any)
	if !ok {
		in.wrong(at, "a relationship takes true, or an object of limit, sort, filter, fields, with", "true or object", v)
		return
	}
	in.unknown(at, "option", m, relationKeys)
	if l, ok := m["limit"]; ok {
		n, ok := filter.Integer(l)
		if !ok || n < 1 || n > maxEdgeLimit {
			in.wrong(at+"/limit", "limit must be from 1 to "+strconv.Itoa(maxEdgeLimit), "integer", l)
		}
		r.limit = int(n)
	}
	if !r.many {
		for _, key := range []string{"limit", "sort"} {
			if _, ok := m[key]; ok {
				in.fail(at+"/"+key, key+" is for relationships to many; "+filter.Quote(name)+" is to one")
			}
		}
		r.limit = 0
	} else {
		r.order = in.sort(r.reads.entity, m, at)
	}
	r.filter = in.filter(r.reads.entity, m, at)
	r.reads = in.selection(r.reads.entity, m, at, depth+1)
}
