package model

import (
	"reflect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
)

type narrowKey struct{ e *Model }

// As returns the model of an app that has no more than what a sight shows: for
// schemas and for decoding inputs, never for data.
func (m *Model) As(s *catalog.Sight) *Model {
	if s.Whole() {
		return m
	}
	return catalog.SightMemo(s, narrowKey{m}, func() *Model { return m.narrow(s) })
}

func (m *Model) narrow(s *catalog.Sight) *Model {
	app := *m.App
	n := &Model{base: m, sight: s, App: &app, ByType: map[string]*Kind{}, ByName: map[string]*Kind{}}
	var readable []*descriptor.Entity
	for _, entity := range m.App.Graph.Entities {
		seen := s.Resource(entity.Resource.Name)
		if seen == nil {
			continue
		}
		k := m.ByName[seen.Name].restrictedTo(seen)
		n.ByType[k.Type], n.ByName[seen.Name] = k, k
		if seen.Readable() {
			readable = append(readable, k.Entity)
		}
	}
	app.Graph = descriptor.Index(readable...)
	return n
}

// restrictedTo returns a kind with the fields, edges and sets that a caller sees. What its
// edges lead to are kinds with all that there is.
func (k *Kind) restrictedTo(seen *catalog.Resource) *Kind {
	if k.isWholeFor(seen) {
		return k
	}
	e := *k.Entity
	e.Resource, e.Columns, e.Edges, e.Memo = *seen, nil, nil, &descriptor.Memo{}
	e.Resource.Edges = nil
	for i := range seen.Fields {
		e.Columns = append(e.Columns, *k.Entity.Column(seen.Fields[i].Name))
	}
	out := &Kind{rules: k.rules, Refers: k.Refers}
	for i := range seen.Edges {
		if column := k.Entity.Edge(seen.Edges[i].Name); column != nil {
			e.Resource.Edges, e.Edges = append(e.Resource.Edges, seen.Edges[i]), append(e.Edges, *column)
		}
	}
	for i := range e.Edges {
		whole, target := k.EdgeNamed(e.Edges[i].Name)
		out.Edges = append(out.Edges, Edge{JSON: &e.Resource.Edges[i], Column: whole.Column, Target: target, Keyed: whole.Keyed})
	}
	for i := range k.Entity.Resource.Fields {
		f := &k.Entity.Resource.Fields[i]
		shown := e.Resource.Field(f.Name)
		out.Partial = out.Partial || f.Readable() && (shown == nil || !shown.Readable())
	}
	for i := range k.Edges {
		required := k.Edges[i].JSON
		out.blind = out.blind || required.Required && required.Reference == "" && e.Resource.Edge(required.Name) == nil
	}
	shim := *k.Kind
	shim.Entity, out.Kind = &e, &shim
	return out
}

// isWholeFor reports whether a caller sees all of a kind.
func (k *Kind) isWholeFor(seen *catalog.Resource) bool {
	own := &k.Entity.Resource
	return reflect.DeepEqual(own.Fields, seen.Fields) && reflect.DeepEqual(own.Edges, seen.Edges) && reflect.DeepEqual(own.Sets, seen.Sets) && own.Searchable == seen.Searchable
}
