package toolset

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// shortFilterHelp follows an entity's declaration.
const shortFilterHelp = `filter: {a: 1, b: {$gte: 1}}, $in $contains $or $not, to-many {$some: {}}; sort: "-a,b"`

// ofEntities returns a tool for each entity and operation.
func (b *builder) ofEntities(ops []*catalog.Operation) []*tool {
	var out []*tool
	cut := false
	for len(ops) > 0 {
		own := ops // in the catalog's order, which groups them by entity
		if end := slices.IndexFunc(ops, func(op *catalog.Operation) bool { return op.Resource != ops[0].Resource }); end >= 0 {
			own = ops[:end]
		}
		ops = ops[len(own):]
		tools, whole := b.ofEntity(b.view.At(catalog.SurfaceTools).Resource(own[0].Resource), own)
		out, cut = append(out, tools...), cut || !whole
	}
	if cut {
		out = append(out, b.describe(nil)...)
	}
	return out
}

// ofEntity returns the tools of one entity. The entity is declared once, in the tool
// that lists it, or else in the first; whole reports whether the declaration fit.
func (b *builder) ofEntity(r *catalog.Resource, ops []*catalog.Operation) (out []*tool, whole bool) {
	declaring := max(0, slices.IndexFunc(ops, func(op *catalog.Operation) bool { return op.ID.Op == "collection" }))
	whole = true
	for i, op := range ops {
		t := &tool{id: op.ID, Description: summaryOf(op), Annotations: annotate(op.Effects)}
		if i == declaring && r != nil {
			t.Description, whole = b.declaring(op, r)
		}
		t.Description = bounded(t.Description, maxDescription)
		t.InputSchema = withExample(encoded(inputOfEntity(op.ID.Op, signatureOf(op.Input))), op.Example)
		t.OutputSchema = rawOrNone(b.outputOf(op))
		out = append(out, t)
	}
	return out, whole
}

// summaryOf describes an operation of an entity that is declared in another tool.
func summaryOf(op *catalog.Operation) string {
	known, ok := verbs[op.ID.Op]
	if !ok {
		return op.Summary
	}
	text := op.Title + known.suffix
	if op.ID.Op != "upsert" {
		return text
	}
	var model struct {
		Description string `json:"description"`
	}
	_ = json.Unmarshal(signatureOf(op.Input).Properties["model"], &model)
	if _, byFields, ok := strings.Cut(model.Description, "Without id, "); ok {
		return text + " Without id, " + byFields
	}
	return text
}

// declaring describes an operation with the entity's declaration: with comments if
// they fit, else without. whole is false if it does not fit at all.
func (b *builder) declaring(op *catalog.Operation, r *catalog.Resource) (text string, whole bool) {
	text, tail := summaryOf(op), ""
	if r.Description != "" {
		text = op.Title + ": " + r.Description
	}
	if len(r.Sets) > 0 {
		tail = "\nset: " + strings.Join(r.Sets, ", ")
	}
	if op.ID.Op == "collection" {
		tail += "\n" + shortFilterHelp
	}
	for _, d := range []detail{limited, types} {
		if all := text + "\n" + declaration(r, d) + tail; len(all) <= maxDescription {
			return all, true
		}
	}
	return text + "\n" + b.view.Snapshot().ToolName(catalog.Generic(catalog.DescribeOp)) + " returns its fields." + tail, false
}

// listedInput is the input schema of a tool as lists show it.
type listedInput struct {
	Type       string   `json:"type"`
	Properties ordered  `json:"properties"`
	Required   []string `json:"required,omitempty"`
}

func inputOfEntity(op string, s signature) listedInput {
	in := listedInput{Type: "object", Properties: ordered{}}
	for name, own := range s.Properties {
		in.Properties = append(in.Properties, namedSchema{name, shown(op, name, []json.RawMessage{own}, false)})
	}
	in.Required = s.Required
	return in.sorted()
}

// sorted returns the schema with its members in the order of lists.
func (in listedInput) sorted() listedInput {
	slices.SortFunc(in.Properties, func(a, b namedSchema) int {
		if d := place(a.name) - place(b.name); d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	return in
}

// rawOrNone returns a schema as JSON, nil for none.
func rawOrNone(s object) json.RawMessage {
	if s == nil {
		return nil
	}
	return encoded(s)
}

// outputOf returns the output schema that the list shows for an entity's operation,
// nil for none.
func (b *builder) outputOf(op *catalog.Operation) object {
	_, known := verbs[op.ID.Op]
	switch {
	case b.options.Outputs == OutputsNever:
		return nil
	case b.options.Outputs == OutputsAlways, !known:
		return portableOutput(op.Output, Wraps(op))
	}
	number, _ := numberOf(op.ID.Op)
	return number
}
