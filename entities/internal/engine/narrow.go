package engine

import (
	"reflect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
)

type narrowKey struct{ e *engine }

// as returns the engine of an app that has no more than what a sight shows: for
// schemas and for decoding inputs, never for data.
func (e *engine) as(s *catalog.Sight) *engine {
	if s.Whole() {
		return e
	}
	return catalog.SightMemo(s, narrowKey{e}, func() *engine { return e.narrow(s) })
}

func (e *engine) narrow(s *catalog.Sight) *engine {
	app := *e.app
	n := &engine{base: e, sight: s, app: &app, opts: e.opts, byType: map[string]*kind{}, byName: map[string]*kind{}}
	var readable []*descriptor.Entity
	for _, entity := range e.app.Graph.Entities {
		seen := s.Resource(entity.Resource.Name)
		if seen == nil {
			continue
		}
		k := e.byName[seen.Name].restrictedTo(seen)
		n.byType[k.Type], n.byName[seen.Name] = k, k
		if seen.Readable() {
			readable = append(readable, k.Entity)
		}
	}
	app.Graph = descriptor.Index(readable...)
	return n
}

// restrictedTo returns a kind with the fields, edges and sets that a caller sees. What its
// edges lead to are kinds with all that there is.
func (k *kind) restrictedTo(seen *catalog.Resource) *kind {
	if k.isWholeFor(seen) {
		return k
	}
	e := *k.Entity
	e.Resource, e.Columns, e.Edges, e.Memo = *seen, nil, nil, &descriptor.Memo{}
	e.Resource.Edges = nil
	for i := range seen.Fields {
		e.Columns = append(e.Columns, *k.Entity.Column(seen.Fields[i].Name))
	}
	out := &kind{rules: k.rules, refers: k.refers}
	for i := range seen.Edges {
		if column := k.Entity.Edge(seen.Edges[i].Name); column != nil {
			e.Resource.Edges, e.Edges = append(e.Resource.Edges, seen.Edges[i]), append(e.Edges, *column)
		}
	}
	for i := range e.Edges {
		whole, target := k.edge(e.Edges[i].Name)
		out.edges = append(out.edges, edge{json: &e.Resource.Edges[i], column: whole.column, target: target, keyed: whole.keyed})
	}
	for i := range k.Entity.Resource.Fields {
		f := &k.Entity.Resource.Fields[i]
		shown := e.Resource.Field(f.Name)
		out.partial = out.partial || f.Readable() && (shown == nil || !shown.Readable())
	}
	for i := range k.edges {
		required := k.edges[i].json
		out.blind = out.blind || required.Required && required.Reference == "" && e.Resource.Edge(required.Name) == nil
	}
	shim := *k.Kind
	shim.Entity, out.Kind = &e, &shim
	return out
}

// isWholeFor reports whether a caller sees all of a kind.
func (k *kind) isWholeFor(seen *catalog.Resource) bool {
	own := &k.Entity.Resource
	return reflect.DeepEqual(own.Fields, seen.Fields) && reflect.DeepEqual(own.Edges, seen.Edges) && reflect.DeepEqual(own.Sets, seen.Sets) && own.Searchable == seen.Searchable
}
