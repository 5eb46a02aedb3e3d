package toolset

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// Bounds of an enum of names, which every tool repeats: the number of names, and their
// bytes together.
const (
	maxNames     = 10
	maxNameBytes = 130
)

// short reports whether names are few enough to be repeated in each tool.
func short(names []string) bool {
	return len(names) <= maxNames && len(strings.Join(names, "")) <= maxNameBytes
}

// generic returns one tool for each operation, with the entity as an argument.
func (b *builder) generic(ops []*catalog.Operation) []*tool {
	if len(ops) == 0 {
		return nil
	}
	byOp := map[string][]*catalog.Operation{}
	var entities []string
	for _, op := range ops {
		byOp[op.ID.Op] = append(byOp[op.ID.Op], op)
		if !slices.Contains(entities, op.Resource) {
			entities = append(entities, op.Resource)
		}
	}
	out := b.describe(entities)
	for _, name := range slices.Sorted(maps.Keys(byOp)) {
		out = append(out, b.forAll(name, byOp[name]))
	}
	return out
}

// forAll returns the tool for an operation of several entities. It takes what any of
// them takes, and requires what all of them require.
func (b *builder) forAll(name string, ops []*catalog.Operation) *tool {
	known, ok := verbs[name]
	if !ok {
		known = verb{summary: ops[0].Summary}
	}
	t := &tool{id: catalog.Generic(name), Description: known.summary, Annotations: annotate(ops[0].Effects)}
	schemas := map[string][]json.RawMessage{}
	var required, entities []string
	for i, op := range ops {
		s := signatureOf(op.Input)
		entities = append(entities, op.Resource)
		for parameter, own := range s.Properties {
			if !slices.ContainsFunc(schemas[parameter], func(known json.RawMessage) bool { return bytes.Equal(known, own) }) {
				schemas[parameter] = append(schemas[parameter], own)
			}
		}
		if i == 0 {
			required = s.Required
		}
		required = slices.DeleteFunc(slices.Clone(required), func(one string) bool { return !slices.Contains(s.Required, one) })
	}
	in := listedInput{Type: "object", Properties: ordered{{"entity", b.named(entities)}}, Required: append([]string{"entity"}, required...)}
	for parameter, own := range schemas {
		in.Properties = append(in.Properties, namedSchema{parameter, shown(name, parameter, own, true)})
	}
	t.InputSchema = withExample(encoded(in.sorted()), genericExample(ops))
	number, counts := numberOf(name)
	switch {
	case b.options.Outputs == OutputsNever:
	case counts:
		t.OutputSchema = encoded(number)
	case b.options.Outputs == OutputsAlways: // it depends on the entity
		t.OutputSchema = encoded(simple("object"))
	}
	return t
}

// named returns the schema of one of several names: an enum if that is short.
func (b *builder) named(names []string) object {
	if !short(names) {
		return simple("string")
	}
	return object{"type": "string", "enum": names}
}

// genericExample returns the example of the first entity that has one.
func genericExample(ops []*catalog.Operation) json.RawMessage {
	for _, op := range ops {
		rest, ok := strings.CutPrefix(strings.TrimSpace(string(op.Example)), "{")
		if !ok {
			continue
		}
		sep := ","
		if strings.TrimSpace(rest) == "}" {
			sep = ""
		}
		return json.RawMessage(`{"entity":` + string(encoded(op.Resource)) + sep + rest)
	}
	return nil
}

// describe returns the tool that describes entities, if the view lists it. Its schema
// lists the entities if they are few.
func (b *builder) describe(entities []string) []*tool {
	op := b.view.Tool(b.view.Snapshot().ToolName(catalog.Generic(catalog.DescribeOp)))
	if op == nil {
		return nil
	}
	t := b.single(op)
	if len(entities) > 0 && short(entities) {
		list := object{"type": "array", "items": b.named(entities)}
		t.InputSchema = withExample(encoded(object{"type": "object", "properties": object{namesMember: list}}), op.Example)
	}
	return []*tool{t}
}

// folded returns the two tools through which functions without a tool are reached.
func (b *builder) folded(functions []*catalog.Operation) []*tool {
	describing := b.view.At(catalog.SurfaceTools).Operation(catalog.ToolsID(catalog.DescribeOp))
	if len(functions) == 0 || describing == nil {
		return nil
	}
	effects := catalog.Effects{ReadOnly: true, Idempotent: true}
	var tools []string
	for _, op := range functions {
		e := op.Effects
		effects.ReadOnly = effects.ReadOnly && e.ReadOnly
		effects.Idempotent = effects.Idempotent && (e.Idempotent || e.ReadOnly)
		effects.Destructive = effects.Destructive || e.Destructive && !e.ReadOnly
		effects.Outside = effects.Outside || e.Outside
		tools = append(tools, b.view.Snapshot().ToolName(op.ID))
	}
	input := listedInput{Type: "object", Required: []string{nameMember, inputMember}, Properties: ordered{
		{nameMember, b.named(tools)}, {inputMember, simple("object")},
	}}
	call := &tool{
		id: catalog.ToolsID("call"), Title: "Call a tool", Annotations: annotate(effects), InputSchema: encoded(input),
		Description: "Calls a tool that this list leaves out. " + b.view.Snapshot().ToolName(describing.ID) + " returns their names and what they take.",
	}
	return []*tool{b.single(describing), call}
}
