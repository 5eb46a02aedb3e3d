package entities

import (
	"encoding/json"
	"slices"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
)

type narrowedKey struct{ e *engine }

// as gives the engine of an app that has no more than what a view sees: for schemas
// and for checks, never for data.
func (e *engine) as(v *catalog.View) *engine {
	return catalog.Memo(v, narrowedKey{e}, func() *engine {
		app := *e.app
		app.Kinds = nil
		var readable []*descriptor.Entity
		for _, kind := range e.app.Kinds {
			k := *kind
			if k.Entity != nil {
				k.Entity = sight(k.Entity, v)
			}
			if k.Entity != nil && (k.Entity.Resource.Has("collection") || k.Entity.Resource.Has("get-by-id")) {
				readable = append(readable, k.Entity)
			}
			app.Kinds = append(app.Kinds, &k)
		}
		app.Graph = descriptor.NewGraph(readable...)
		return newEngine(&app, e.opts)
	})
}

// sight is an entity with the fields, edges and sets that a view sees, nil for one
// that it does not see.
func sight(e *descriptor.Entity, v *catalog.View) *descriptor.Entity {
	seen := v.Sees(e.Resource.Name)
	if seen == nil {
		return nil
	}
	out := *e
	out.Resource, out.Columns, out.Edges = *seen, nil, nil
	for _, f := range seen.Fields {
		out.Columns = append(out.Columns, *e.Column(f.Name))
	}
	out.Resource.Edges = slices.DeleteFunc(slices.Clone(seen.Edges), func(one catalog.Edge) bool { return e.Edge(one.Name) == nil })
	for _, one := range out.Resource.Edges {
		out.Edges = append(out.Edges, *e.Edge(one.Name))
	}
	return &out
}

// checked checks an input, whichever way the operation does it.
func (o *operation) checked(e *engine, k *kind, in json.RawMessage) error {
	if o.decode == nil {
		return o.check(e, k, in)
	}
	d := &decoder{kind: k, graph: e.app.Graph}
	o.decode(d, in)
	return d.err()
}

// narrow gives an operation as a view sees it (catalog.Operation.Narrow).
func (p *Provider) narrow(op *catalog.Operation, o *operation, v *catalog.View) *catalog.Operation {
	e := p.engine.as(v)
	k := e.byName[op.Resource]
	if k == nil {
		return op
	}
	seen := *op
	seen.Input, seen.Output, seen.Example = o.input(e, k), o.output(k), o.example(k)
	seen.Check = func(in json.RawMessage) error {
		if err := o.checked(e, k, in); err != nil {
			return err
		}
		var about struct {
			Set *string `json:"set"`
		}
		if err := json.Unmarshal(in, &about); err != nil || about.Set == nil {
			return err
		}
		return checkSet(&k.Entity.Resource, *about.Set)
	}
	return &seen
}
