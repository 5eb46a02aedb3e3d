package model

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Operation is how one of the vocabulary's operations is described, and its input decoded.
type Operation struct {
	catalog.EntityOperation
	title   func(name string) string
	summary func(name string) string
	input   func(e *Model, k kindSchemas) json.RawMessage
	output  func(k kindSchemas) json.RawMessage
	example func(k *Kind) json.RawMessage
	decode  func(d *decoder, input json.RawMessage) any // the result is what the handler gets
}

var (
	verb = func(format string) func(string) string {
		return func(name string) string { return fmt.Sprintf(format, name) }
	}
	noExample  = func(*Kind) json.RawMessage { return nil }
	constantly = func(text string) func(*Kind) json.RawMessage {
		return func(*Kind) json.RawMessage { return json.RawMessage(text) }
	}
)

// named returns what the vocabulary says of an operation.
func named(op string) catalog.EntityOperation {
	known, _ := catalog.EntityOperationNamed(op)
	return known
}

// Operations are all of them, in catalog order.
var Operations = []Operation{
	{
		EntityOperation: named("collection"), title: verb("List %s"), summary: verb("Lists %s entities: filtered, searched, sorted, page by page, with related ones."),
		input:  func(e *Model, k kindSchemas) json.RawMessage { return read.CollectionSchema(k.Entity, e.App.Graph) },
		output: kindSchemas.pageSchema, example: constantly(`{"pageSize":5}`),
		decode: reading(read.DecodeCollection),
	},
	{
		EntityOperation: named("get-by-id"), title: verb("Get %s"), summary: verb("Returns one %s by its id."),
		example: noExample,
		input:   func(e *Model, k kindSchemas) json.RawMessage { return read.GetSchema(k.Entity, e.App.Graph) },
		output:  kindSchemas.outputSchema,
		decode:  decodeGet,
	},
	{
		EntityOperation: named("count"), title: verb("Count %s"), summary: verb("Counts %s entities that match a filter."),
		example: constantly(`{}`),
		input:   func(e *Model, k kindSchemas) json.RawMessage { return read.CountSchema(k.Entity, e.App.Graph) },
		output:  func(kindSchemas) json.RawMessage { return numberSchema("count") },
		decode:  reading(read.DecodeCount),
	},
	{
		EntityOperation: named("aggregate"), title: verb("Aggregate %s"), summary: verb("Groups %s entities and computes count, distinct count, sum, avg, min and max, in the database."),
		example: constantly(`{"count":true}`),
		input:   func(e *Model, k kindSchemas) json.RawMessage { return read.AggregateSchema(k.Entity, e.App.Graph) },
		output:  func(kindSchemas) json.RawMessage { return rowsSchema },
		decode:  reading(read.DecodeAggregate),
	},
	{
		EntityOperation: named("new"), title: verb("New %s"), summary: verb("Returns a model of a %s with defaults, without storing it."),
		example: constantly(`{}`),
		input: func(_ *Model, k kindSchemas) json.RawMessage {
			return input(Object{"set": read.SetSchema(&k.Entity.Resource)})
		},
		output: func(k kindSchemas) json.RawMessage { return Encode(Object{"type": "object"}) },
		decode: decodeNew,
	},
	{
		EntityOperation: named("create"), title: verb("Create %s"), summary: verb("Creates a %s; conflict where its id or a unique key is taken."),
		example: createExample,
		input: func(_ *Model, k kindSchemas) json.RawMessage {
			return input(Object{"model": k.newModelSchema(), "set": read.SetSchema(&k.Entity.Resource)}, "model")
		},
		output: kindSchemas.outputSchema,
		decode: decodeCreate,
	},
	{
		EntityOperation: named("upsert"), title: verb("Store %s"), summary: verb("Creates a %s, or changes the one with the model's id; absent fields keep their values."),
		example: upsertExample,
		input: func(_ *Model, k kindSchemas) json.RawMessage {
			p := Object{"model": k.modelSchema(true), "set": read.SetSchema(&k.Entity.Resource), "replace": Object{"type": "boolean", "default": false, "description": "Absent fields are reset to their defaults instead of kept."}}
			return input(k.withVersion(p), "model")
		},
		output: kindSchemas.outputSchema,
		decode: decodeUpsert,
	},
	{
		EntityOperation: named("upsert-many"), title: verb("Store many %s"), summary: verb("Stores several %s models in one call: all, or none."),
		example: upsertManyExample,
		input: func(_ *Model, k kindSchemas) json.RawMessage {
			p := Object{"models": Object{"type": "array", "items": k.modelSchema(true), "maxItems": maxBatch}, "set": read.SetSchema(&k.Entity.Resource)}
			return input(p, "models")
		},
		output: func(k kindSchemas) json.RawMessage {
			return Encode(Object{"type": "object", "required": []string{"items"}, "properties": Object{"items": Object{"type": "array", "items": k.outputSchema()}}})
		},
		decode: decodeUpsertMany,
	},
	{
		EntityOperation: named("patch"), title: verb("Change %s"), summary: verb("Changes the named fields of one %s."),
		example: noExample,
		input: func(_ *Model, k kindSchemas) json.RawMessage {
			p := Object{"id": read.IDSchema(&k.Entity.Key), "changes": k.modelSchema(false), "set": read.SetSchema(&k.Entity.Resource)}
			return input(k.withVersion(p), "id", "changes")
		},
		output: kindSchemas.outputSchema,
		decode: decodePatch,
	},
	{
		EntityOperation: named("update-by-query"), title: verb("Change %s by filter"),
		summary: verb("Changes the named fields of every %s that matches a filter; with more matches than maxAffected nothing is changed."),
		example: updateByQueryExample,
		input: func(e *Model, k kindSchemas) json.RawMessage {
			changes := k.modelSchema(false)
			changes["minProperties"] = 1
			return queryInputSchema(e, k, Object{"changes": changes}, "filter", "changes")
		},
		output: func(kindSchemas) json.RawMessage { return numberSchema("updated") },
		decode: decodeUpdateByQuery,
	},
	{
		EntityOperation: named("delete-by-query"), title: verb("Delete %s by filter"),
		summary: verb("Deletes every %s that matches a filter; with more matches than maxAffected nothing is deleted."),
		example: deleteByQueryExample,
		input: func(e *Model, k kindSchemas) json.RawMessage {
			return queryInputSchema(e, k, Object{}, "filter")
		},
		output: func(kindSchemas) json.RawMessage { return numberSchema("deleted") },
		decode: decodeDeleteByQuery,
	},
	{
		EntityOperation: named("delete"), title: verb("Delete %s"), summary: verb("Deletes one %s; returns how many there were."),
		example: deleteExample,
		input: func(_ *Model, k kindSchemas) json.RawMessage {
			return input(k.withVersion(Object{"id": read.IDSchema(&k.Entity.Key), "set": read.SetSchema(&k.Entity.Resource)}), "id")
		},
		output: func(kindSchemas) json.RawMessage { return numberSchema("deleted") },
		decode: decodeDelete,
	},
	{
		EntityOperation: named("delete-many"), title: verb("Delete many %s"), summary: verb("Deletes %s entities by their ids; returns how many there were."),
		example: deleteManyExample,
		input: func(_ *Model, k kindSchemas) json.RawMessage {
			return input(Object{"ids": Object{"type": "array", "items": read.IDSchema(&k.Entity.Key), "maxItems": maxBatch}, "set": read.SetSchema(&k.Entity.Resource)}, "ids")
		},
		output: func(kindSchemas) json.RawMessage { return numberSchema("deleted") },
		decode: decodeDeleteMany,
	},
}

func (k *Kind) withVersion(p Object) Object {
	if k.Entity.Resource.Versioned {
		p["ifVersion"] = Object{"type": "integer", "description": "Ends in conflict when the entity is at another version."}
	}
	return p
}

func queryInputSchema(e *Model, k kindSchemas, p Object, required ...string) json.RawMessage {
	matching := read.FilterByName(k.Entity, e.App.Graph)
	p["filter"] = withDescription(matching, matching["description"].(string)+" One without a condition needs all or maxAffected.")
	p["maxAffected"] = Object{"type": "integer", "minimum": 1, "maximum": MostAffected, "default": defaultAffected, "description": "With more matches nothing is done."}
	p["all"] = Object{"type": "boolean", "default": false, "description": "Affects every match, without limit."}
	p["set"] = read.SetSchema(&k.Entity.Resource)
	return input(p, required...)
}

// Query is a decoded input of an operation that reads.
type Query interface {
	Obey(rules filter.Rules) error
	SetOr(standard string) string
}

// reading decodes the inputs of an operation that reads. The rules that hold for rows
// are asked for in the transaction.
func reading[T Query](decode func(json.RawMessage, *descriptor.Entity, filter.Graph) (T, error)) func(*decoder, json.RawMessage) any {
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

// cascadeNote ends the summary of a deleting operation with what it deletes besides:
// entities that the reader sees and may delete, or that go in any case.
func (m *Model) cascadeNote(k *Kind) string {
	whole := m.unrestricted()
	var names []string
	hidden := false
	var walk func(k *Kind, allowed bool)
	walked := map[string]bool{}
	walk = func(k *Kind, allowed bool) {
		allowed = allowed || k.Entity.Resource.Cascades
		hidden = hidden || allowed && len(k.Entity.Unexposed) > 0
		for i := range k.Entity.Referrers {
			r := &k.Entity.Referrers[i]
			child := whole.ByName[r.Entity]
			if !r.Cascade || walked[r.Entity] || !allowed && !MayFollowReference(m.resource(r.Entity), child, r) {
				continue
			}
			walked[r.Entity] = true
			if m.resource(r.Entity) == nil {
				hidden = true
			} else {
				names = append(names, r.Entity)
			}
			walk(child, allowed)
		}
	}
	walked[k.Name()] = true
	walk(whole.ByName[k.Name()], false)
	slices.Sort(names)
	var parts []string
	if len(names) > 0 {
		parts = append(parts, "its "+strings.Join(names, ", ")+" entities")
	}
	if hidden {
		parts = append(parts, "rows that are not shown here")
	}
	if len(parts) == 0 {
		return ""
	}
	return " Also deletes " + strings.Join(parts, " and ") + "."
}

// Blank is the answer of `new`: constant defaults, null where null is a value,
// and nothing for what the caller has to give or the system makes.
func Blank(r *catalog.Resource) json.RawMessage {
	b := []byte{'{'}
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.ReadOnly || f.Sensitive || f.WriteOnly || f.Default == nil && !f.Nullable {
			continue
		}
		value := f.Default
		if value == nil {
			value = json.RawMessage("null")
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		name, _ := json.Marshal(f.Name) // a string is always JSON
		b = append(append(append(b, name...), ':'), value...)
	}
	return append(b, '}')
}

// Describe returns an operation as the model has it, but for its handler.
func (m *Model) Describe(k *Kind, o *Operation) *catalog.Operation {
	r := &k.Entity.Resource
	op := &catalog.Operation{
		ID: catalog.EntityID(k.Name(), o.Name), Resource: k.Name(),
		Contract: catalog.Contract{
			Input:  k.schemas.get(inputOf{o.Name}, func() json.RawMessage { return o.input(m, kindSchemas{k}) }),
			Output: k.schemas.get(outputOf{o.Name}, func() json.RawMessage { return o.output(kindSchemas{k}) }), Effects: o.Effects, Example: o.example(k),
			Scopes: k.scopes(o), Proven: true,
		},
		Listing: catalog.Listing{
			Title: o.title(k.Name()), Summary: o.summary(k.Name()), Reach: catalog.Everywhere,
			Exposure: r.Exposure, Default: r.Default, ToolPrefix: r.ToolPrefix,
		},
		Work: catalog.Work{Serial: true},
	}
	op.Decode = func(in catalog.Input) (catalog.Decoded, error) {
		d := &decoder{kind: k, graph: m.App.Graph, all: m, report: report{set: in.Set}}
		if in.Ahead {
			d.ahead = m
		}
		value := o.decode(d, in.JSON)
		if err := d.err(); err != nil {
			return catalog.Decoded{}, err
		}
		if err := CheckSet(r, d.set); err != nil {
			return catalog.Decoded{}, err
		}
		if len(d.later) > 0 {
			return catalog.Decoded{}, fault.Invalid(d.later...)
		}
		return catalog.Decoded{Value: value, Target: catalog.Target{Entity: r.Name, Set: d.set, Keys: d.keys}}, nil
	}
	if o.Name == "collection" && r.Description != "" { // said once, where one looks first
		op.Summary += " " + r.Description
	}
	if o.Access == catalog.AccessDelete {
		op.Summary += m.cascadeNote(k)
	}
	return op
}

// scopes are what a caller needs for an operation. Where nothing is declared for
// writing, reading rights alone do not grant it.
func (k *Kind) scopes(o *Operation) []string {
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
