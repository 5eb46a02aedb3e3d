package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Members of inputs.
const (
	entityMember = "entity"
	namesMember  = "entities"
	toolsMember  = "names"
	nameMember   = "name"
	inputMember  = "input"
)

// Bounds of one answer.
const (
	maxDescribed  = 20 // described at a time
	maxSummarised = 60 // names with their descriptions; beyond that names alone
)

// Operations returns the operations that describe the list itself.
func Operations() []*catalog.Operation {
	return []*catalog.Operation{describeEntities(), describeTools()}
}

func describeEntities() *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.Generic(catalog.DescribeOp),
		Contract: catalog.Contract{
			Input:   json.RawMessage(`{"type":"object","properties":{"entities":{"type":"array","items":{"type":"string"},"maxItems":` + strconv.Itoa(maxDescribed) + `},"entity":{"type":"string"}},"additionalProperties":false}`),
			Output:  json.RawMessage(`{"type":"object","required":["entities"],"properties":{"entities":{"type":"array","items":{"type":"object"}},"filter":{"type":"string"}}}`),
			Effects: catalog.Effects{ReadOnly: true, Idempotent: true}, Example: json.RawMessage(`{}`),
		},
		Listing: catalog.Listing{
			Title:   "Describe entities",
			Summary: "Returns fields, relationships, operations, filters and an example of entities. Without names: which there are. Call it before other entity tools.", Reach: catalog.ReachTools,
			ListedBeside: func(other *catalog.Operation) bool {
				return other.ID.Kind == catalog.KindEntity && other.Resource != ""
			},
		},
		Work: catalog.Work{
			Handler: func(_ context.Context, call catalog.Call) (json.RawMessage, error) {
				var in struct {
					Entities []string `json:"entities"`
					Entity   *string  `json:"entity"`
				}
				if err := json.Unmarshal(call.Input(), &in); err != nil {
					return nil, fault.Invalid(fault.Detail{Message: "the input cannot be read"})
				}
				if in.Entity != nil {
					in.Entities = append(in.Entities, *in.Entity)
				}
				return describedEntities(call.View(), in.Entities)
			},
		},
	}
}

// entityText is the description of an entity.
type entityText struct {
	Name          string                     `json:"name"`
	Description   string                     `json:"description,omitempty"`
	Sets          []string                   `json:"sets,omitempty"`
	Operations    []string                   `json:"operations,omitempty"`
	Relationships map[string]string          `json:"relationships,omitempty"` // the target of each
	Declaration   string                     `json:"declaration,omitempty"`
	Schemas       map[string]json.RawMessage `json:"schemas,omitempty"` // of fields that hold JSON
	Example       json.RawMessage            `json:"example,omitempty"` // an input of upsert, or of create where there is no upsert
}

type entitiesText struct {
	Entities []entityText `json:"entities"`
	Filter   string       `json:"filter,omitempty"`
	More     string       `json:"more,omitempty"`
}

// describedEntities describes the named entities of those that have tools in a view,
// or lists them all if none is named.
func describedEntities(v *catalog.View, asked []string) (json.RawMessage, error) {
	out := entitiesText{Entities: []entityText{}}
	all := entitiesWithTools(v, "")
	if len(asked) == 0 {
		for _, name := range all {
			e := entityText{Name: name}
			if len(all) <= maxSummarised {
				e.Description = v.At(catalog.SurfaceTools).Resource(name).Description
			}
			out.Entities = append(out.Entities, e)
		}
		out.More = "Name some in `" + namesMember + "` for their fields."
		return encoded(out), nil
	}
	var wrong []fault.Detail
	for i, name := range asked {
		if !slices.Contains(all, name) {
			wrong = append(wrong, fault.Detail{
				Path: fmt.Sprintf("/%s/%d", namesMember, i), Message: "there is no entity " + quoted(name) + fault.DidYouMean(name, all),
			})
			continue
		}
		out.Entities = append(out.Entities, describedEntity(v.At(catalog.SurfaceTools), name))
	}
	if len(wrong) > 0 {
		return nil, fault.Invalid(wrong...)
	}
	out.Filter = filterHelp
	return encoded(out), nil
}

func describedEntity(s *catalog.Sight, name string) entityText {
	r := s.Resource(name)
	e := entityText{
		Name: r.Name, Description: r.Description, Sets: r.Sets, Operations: r.Operations,
		Relationships: map[string]string{}, Declaration: declaration(r, whole),
	}
	for _, edge := range r.Edges {
		if !edge.WriteOnly {
			e.Relationships[edge.Name] = edge.Target
		}
	}
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Type == catalog.TypeJSON && len(f.Schema) > 0 && documentType(f) != "unknown" {
			continue
		} else if f.Type == catalog.TypeJSON && len(f.Schema) > 0 && string(f.Schema) != "true" {
			if e.Schemas == nil {
				e.Schemas = map[string]json.RawMessage{}
			}
			e.Schemas[f.Name] = f.Schema
		}
	}
	for _, name := range []string{"upsert", "create"} {
		if op := s.Operation(catalog.EntityID(r.Name, name)); op != nil && e.Example == nil {
			e.Example = op.Example
		}
	}
	return e
}

// entitiesWithTools returns the entities whose operation is among a view's tools, or
// any operation for "", in the catalog's order.
func entitiesWithTools(v *catalog.View, name string) []string {
	var out []string
	for _, op := range v.Tools() {
		if op.ID.Kind != catalog.KindEntity || op.Resource == "" || name != "" && op.ID.Op != name {
			continue
		}
		if len(out) == 0 || out[len(out)-1] != op.Resource {
			out = append(out, op.Resource)
		}
	}
	return out
}

func describeTools() *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.ToolsID(catalog.DescribeOp),
		Contract: catalog.Contract{
			Input:   json.RawMessage(`{"type":"object","properties":{"names":{"type":"array","items":{"type":"string"},"maxItems":` + strconv.Itoa(maxDescribed) + `}},"additionalProperties":false}`),
			Output:  json.RawMessage(`{"type":"object","required":["tools"],"properties":{"tools":{"type":"array","items":{"type":"object"}}}}`),
			Effects: catalog.Effects{ReadOnly: true, Idempotent: true}, Example: json.RawMessage(`{}`),
		},
		Listing: catalog.Listing{
			Title:   "Describe tools",
			Summary: "Describes tools that this list leaves out: what they do, take and return. Without names: which there are.", Reach: catalog.ReachTools,
			ListedBeside: foldable,
		},
		Work: catalog.Work{
			Handler: func(_ context.Context, call catalog.Call) (json.RawMessage, error) {
				var in struct {
					Names []string `json:"names"`
				}
				if err := json.Unmarshal(call.Input(), &in); err != nil {
					return nil, fault.Invalid(fault.Detail{Message: "the input cannot be read"})
				}
				return describedTools(call.View(), in.Names)
			},
		},
	}
}

// toolText is the description of a tool.
type toolText struct {
	Name         string          `json:"name"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  *annotations    `json:"annotations,omitempty"`
	Example      json.RawMessage `json:"example,omitempty"`
}

func describedTools(v *catalog.View, asked []string) (json.RawMessage, error) {
	out := struct {
		Tools []toolText `json:"tools"`
	}{[]toolText{}}
	functions := functionsOf(v)
	if len(asked) == 0 {
		for _, op := range functions {
			t := toolText{Name: v.Snapshot().ToolName(op.ID)}
			if len(functions) <= maxSummarised {
				t.Description = bounded(op.Description(v), maxAbout)
			}
			out.Tools = append(out.Tools, t)
		}
		return encoded(out), nil
	}
	var wrong []fault.Detail
	for i, name := range asked {
		op, bad := function(v, name)
		if bad != nil {
			wrong = append(wrong, fault.Detail{Path: fmt.Sprintf("/%s/%d", toolsMember, i), Message: bad.Message})
			continue
		}
		hints := annotate(v.Effects(op))
		out.Tools = append(out.Tools, toolText{v.Snapshot().ToolName(op.ID), op.Description(v), op.Input, op.Output, &hints, op.Example})
	}
	if len(wrong) > 0 {
		return nil, fault.Invalid(wrong...)
	}
	return encoded(out), nil
}

// foldable reports whether an operation can do without a tool of its own: tools.call reaches it.
func foldable(op *catalog.Operation) bool {
	return op.ID.Kind == catalog.KindPlugin || op.ID.Kind == catalog.KindAction
}

// functionsOf returns the tools of a view that tools.call reaches.
func functionsOf(v *catalog.View) []*catalog.Operation {
	return slices.DeleteFunc(slices.Clone(v.Tools()), func(op *catalog.Operation) bool { return !foldable(op) })
}

// function returns one of them by its name in either spelling.
func function(v *catalog.View, name string) (*catalog.Operation, *fault.Fault) {
	if op := v.Tool(name); op != nil && foldable(op) {
		return op, nil
	}
	var names []string
	for _, op := range functionsOf(v) {
		names = append(names, v.Snapshot().ToolName(op.ID))
	}
	return nil, fault.New(fault.InvalidPayload, "there is no tool "+quoted(name)+fault.DidYouMean(name, names))
}

// quoted returns a name that a caller sent, bounded and in quotes.
func quoted(name string) string { return catalog.Quote(bounded(name, 64)) }
