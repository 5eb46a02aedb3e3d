package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

// operation is how one of the vocabulary's operations is described and carried out.
type operation struct {
	catalog.EntityOperation
	title   func(name string) string
	summary func(name string) string
	input   func(e *engine, k *kind) json.RawMessage
	output  func(k *kind) json.RawMessage
	example func(k *kind) json.RawMessage
	decode  func(d *decoder, input json.RawMessage) any // the result is what call.Decoded returns to handle
	handle  func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error)
}

var (
	verb = func(format string) func(string) string {
		return func(name string) string { return fmt.Sprintf(format, name) }
	}
	noExample  = func(*kind) json.RawMessage { return nil }
	constantly = func(text string) func(*kind) json.RawMessage {
		return func(*kind) json.RawMessage { return json.RawMessage(text) }
	}
)

// named returns what the vocabulary says of an operation.
func named(op string) catalog.EntityOperation {
	known, _ := catalog.EntityOperationNamed(op)
	return known
}

// operations are all of them, in catalog order.
var operations = []operation{
	{
		EntityOperation: named("collection"), title: verb("List %s"), summary: verb("Lists %s entities: filtered, searched, sorted, page by page, with related ones."),
		input:  func(e *engine, k *kind) json.RawMessage { return read.CollectionSchema(k.Entity, e.app.Graph) },
		output: (*kind).pageSchema, example: constantly(`{"pageSize":5}`),
		decode: reading(read.DecodeCollection),
		handle: func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error) {
			in, err := asked[*read.Collection](t, call)
			if err != nil {
				return nil, err
			}
			in.Set = t.set // a cursor belongs to the set, however the input names it
			t.once(in.Single())
			return e.reader.Collection(ctx, t.sql, in)
		},
	},
	{
		EntityOperation: named("get-by-id"), title: verb("Get %s"), summary: verb("Gives one %s by its id."),
		example: noExample,
		input:   func(e *engine, k *kind) json.RawMessage { return read.GetSchema(k.Entity, e.app.Graph) },
		output:  func(k *kind) json.RawMessage { return encode(k.outputSchema()) },
		decode:  decodeGet,
		handle: func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error) {
			in, err := asked[*read.Get](t, call)
			if err != nil {
				return nil, err
			}
			if in.Single() {
				// One row by its key takes less time than watching for a cancel would.
				t.once(true)
				ctx = context.WithoutCancel(ctx)
			}
			return e.reader.Get(ctx, t.sql, in)
		},
	},
	{
		EntityOperation: named("count"), title: verb("Count %s"), summary: verb("Counts %s entities that match a filter."),
		example: constantly(`{}`),
		input:   func(e *engine, k *kind) json.RawMessage { return read.CountSchema(k.Entity, e.app.Graph) },
		output:  func(*kind) json.RawMessage { return numberSchema("count") },
		decode:  reading(read.DecodeCount),
		handle: func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error) {
			in, err := asked[*read.Count](t, call)
			if err != nil {
				return nil, err
			}
			t.once(true)
			return e.reader.Count(ctx, t.sql, in)
		},
	},
	{
		EntityOperation: named("aggregate"), title: verb("Aggregate %s"), summary: verb("Groups %s entities and computes count, distinct count, sum, avg, min and max, in the database."),
		example: constantly(`{"count":true}`),
		input:   func(e *engine, k *kind) json.RawMessage { return read.AggregateSchema(k.Entity, e.app.Graph) },
		output:  func(*kind) json.RawMessage { return rowsSchema },
		decode:  reading(read.DecodeAggregate),
		handle: func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error) {
			in, err := asked[*read.Aggregate](t, call)
			if err != nil {
				return nil, err
			}
			t.once(true)
			return e.reader.Aggregate(ctx, t.sql, in)
		},
	},
	{
		EntityOperation: named("new"), title: verb("New %s"), summary: verb("Gives a model of a %s with defaults, without storing it."),
		example: constantly(`{}`),
		input: func(_ *engine, k *kind) json.RawMessage {
			return input(object{"set": read.SetSchema(&k.Entity.Resource)})
		},
		output: func(k *kind) json.RawMessage { return encode(object{"type": "object"}) },
		decode: decodeNew,
	},
	{
		EntityOperation: named("upsert"), title: verb("Store %s"), summary: verb("Creates a %s, or changes the one with the model's id; absent fields keep their values."),
		example: upsertExample,
		input: func(_ *engine, k *kind) json.RawMessage {
			p := object{"model": k.modelSchema(true), "set": read.SetSchema(&k.Entity.Resource), "replace": object{"type": "boolean", "default": false, "description": "Absent fields are reset to their defaults instead of kept."}}
			return input(k.withVersion(p), "model")
		},
		output: func(k *kind) json.RawMessage { return encode(k.outputSchema()) },
		decode: decodeUpsert,
		handle: func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error) {
			in := call.Decoded().(*upsertInput)
			return e.upsert(ctx, t, k, in.model, in.replace, in.ifVersion)
		},
	},
	{
		EntityOperation: named("upsert-many"), title: verb("Store many %s"), summary: verb("Stores several %s models in one call: all, or none."),
		example: upsertManyExample,
		input: func(_ *engine, k *kind) json.RawMessage {
			p := object{"models": object{"type": "array", "items": k.modelSchema(true), "maxItems": maxBatch}, "set": read.SetSchema(&k.Entity.Resource)}
			return input(p, "models")
		},
		output: func(k *kind) json.RawMessage {
			return encode(object{"type": "object", "required": []string{"items"}, "properties": object{"items": object{"type": "array", "items": k.outputSchema()}}})
		},
		decode: decodeUpsertMany,
		handle: func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error) {
			in := call.Decoded().(*upsertManyInput)
			return e.upsertMany(ctx, t, k, in.models, call)
		},
	},
	{
		EntityOperation: named("patch"), title: verb("Change %s"), summary: verb("Changes the named fields of one %s."),
		example: noExample,
		input: func(_ *engine, k *kind) json.RawMessage {
			p := object{"id": read.IDSchema(&k.Entity.Key), "changes": k.modelSchema(false), "set": read.SetSchema(&k.Entity.Resource)}
			return input(k.withVersion(p), "id", "changes")
		},
		output: func(k *kind) json.RawMessage { return encode(k.outputSchema()) },
		decode: decodePatch,
		handle: func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error) {
			in := call.Decoded().(*patchInput)
			return e.patch(ctx, t, k, in)
		},
	},
	updateByQuery,
	deleteByQuery,
	{
		EntityOperation: named("delete"), title: verb("Delete %s"), summary: verb("Deletes one %s; says how many were there to delete."),
		example: deleteExample,
		input: func(_ *engine, k *kind) json.RawMessage {
			return input(k.withVersion(object{"id": read.IDSchema(&k.Entity.Key), "set": read.SetSchema(&k.Entity.Resource)}), "id")
		},
		output: func(*kind) json.RawMessage { return numberSchema("deleted") },
		decode: decodeDelete,
		handle: func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error) {
			in := call.Decoded().(*deleteInput)
			return e.deleteAll(ctx, t, k, in, call)
		},
	},
	{
		EntityOperation: named("delete-many"), title: verb("Delete many %s"), summary: verb("Deletes %s entities by their ids; says how many were there to delete."),
		example: deleteManyExample,
		input: func(_ *engine, k *kind) json.RawMessage {
			return input(object{"ids": object{"type": "array", "items": read.IDSchema(&k.Entity.Key), "maxItems": maxBatch}, "set": read.SetSchema(&k.Entity.Resource)}, "ids")
		},
		output: func(*kind) json.RawMessage { return numberSchema("deleted") },
		decode: decodeDeleteMany,
		handle: func(ctx context.Context, e *engine, t *tx, k *kind, call catalog.Call) (json.RawMessage, error) {
			in := call.Decoded().(*deleteInput)
			return e.deleteAll(ctx, t, k, in, call)
		},
	},
}

func (k *kind) withVersion(p object) object {
	if k.Entity.Resource.Versioned {
		p["ifVersion"] = object{"type": "integer", "description": "Ends in conflict when the entity is at another version."}
	}
	return p
}

// offer is what the provider puts into the catalog.
func (e *engine) offer(p *Provider) catalog.Offer {
	var out catalog.Offer
	for _, entity := range p.app.Graph.Entities {
		k := e.byName[entity.Resource.Name]
		r := entity.Resource
		for _, c := range entity.Columns {
			if c.Name == entity.VersionColumn {
				r.Version = c.Field
			}
		}
		for i := range operations {
			if o := &operations[i]; r.Has(o.Name) {
				out.Operations = append(out.Operations, p.operation(e, k, o))
			}
		}
		out.Resources = append(out.Resources, &r)
	}
	return out
}

// operation makes an operation on what an engine and a kind have of the entities: all
// of them, or what somebody sees of them.
func (p *Provider) operation(e *engine, k *kind, o *operation) *catalog.Operation {
	r := &k.Entity.Resource
	op := &catalog.Operation{
		ID: catalog.EntityID(k.name(), o.Name), Title: o.title(k.name()), Summary: o.summary(k.name()),
		Input: o.input(e, k), Output: o.output(k), Effects: o.Effects, Example: o.example(k),
		Scopes: k.scopes(o), Reach: catalog.Everywhere, Resource: k.name(),
		Exposure: r.Exposure, Default: r.Default, ToolPrefix: r.ToolPrefix, Serial: true, Proven: true,
	}
	op.Decode = func(in catalog.Input) (catalog.Decoded, error) {
		d := &decoder{kind: k, graph: e.app.Graph, set: in.Set}
		if in.Ahead {
			d.ahead = e
		}
		value := o.decode(d, in.JSON)
		if err := d.err(); err != nil {
			return catalog.Decoded{}, err
		}
		return catalog.Decoded{Value: value, Target: catalog.Target{Entity: r.Name, Set: d.set, Keys: d.keys}}, checkSet(r, d.set)
	}
	if o.Name == "collection" && r.Description != "" { // said once, where one looks first
		op.Summary += " " + r.Description
	}
	if o.Access == catalog.AccessDelete {
		op.Summary += e.cascadeNote(k)
	}
	op.Narrow = func(s *catalog.Sight) *catalog.Operation {
		seen := p.engine.as(s)
		return p.operation(seen, seen.byName[r.Name], o)
	}
	if o.handle == nil { // new: the same answer every time, without a transaction
		model := blank(r)
		op.Handler = func(context.Context, catalog.Call) (json.RawMessage, error) { return model, nil }
		return op
	}
	op.Handler = p.handler(o, r.Name)
	return op
}

// scopes are what a caller needs for an operation. Where nothing is declared for
// writing, reading rights alone do not grant it.
func (k *kind) scopes(o *operation) []string {
	e := k.Entity
	if !o.Access.Writes() {
		return e.ReadScopes
	}
	declared := e.WriteScopes
	if o.Access == catalog.AccessDelete {
		declared = slices.Concat(declared, e.DeleteScopes)
	}
	return slices.Concat(e.ReadScopes, catalog.Guard(catalog.KindEntity, declared))
}

// handler carries an operation out in the run's transaction.
func (p *Provider) handler(o *operation, name string) catalog.Handler {
	e, k := p.engine, p.engine.byName[name]
	return func(ctx context.Context, call catalog.Call) (out json.RawMessage, err error) {
		err = run.Within(ctx, p.store, call.Target().Set, o.Access.Writes(), func(ctx context.Context, joined run.Tx) error {
			t := joined.(*tx)
			t.caller = e.see(ctx, t, call)
			defer t.passed(t.passing)
			if o.Access.Writes() || e.opts.Viewer != nil {
				if ctx, err = t.caller.viewer(); err != nil {
					return err
				}
			}
			out, err = o.handle(ctx, e, t, k, call)
			return t.verdict(err)
		})
		return out, err
	}
}

// query is a decoded input of an operation that reads.
type query interface {
	Obey(rules filter.Rules) error
	SetOr(standard string) string
}

// reading decodes the inputs of an operation that reads. The rules that hold for rows
// are asked for in the transaction.
func reading[T query](decode func(json.RawMessage, *descriptor.Entity, filter.Graph) (T, error)) func(*decoder, json.RawMessage) any {
	return func(d *decoder, raw json.RawMessage) any {
		in, err := decode(raw, d.kind.Entity, d.graph)
		if d.refused = err; err == nil {
			d.set = in.SetOr(d.set)
		}
		return in
	}
}

// decodeGet decodes an input of get-by-id.
func decodeGet(d *decoder, raw json.RawMessage) any {
	in := reading(read.DecodeGet)(d, raw)
	d.keys = []string{in.(*read.Get).ID}
	return in
}

// asked returns the decoded input of a query that sees only the rows which its caller may
// read. It ends in forbidden where a policy refuses to read an entity that the input is
// about.
func asked[T query](t *tx, call catalog.Call) (T, error) {
	in := call.Decoded().(T)
	return in, in.Obey(t.caller)
}
