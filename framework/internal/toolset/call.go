package toolset

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// Call is what a tool call resolves to: an operation and its input.
type Call struct {
	Operation *catalog.Operation
	Input     json.RawMessage

	at string // JSON Pointer to the input within the tool's arguments
}

// Resolve finds the operation behind a tool call, by the tool's name in either spelling
// and its arguments, which are JSON. The tools of both styles can be called, whichever
// the list shows. known is false if the view has no such tool. err is invalid_payload
// or read_only, and names the argument that leads to no operation.
func Resolve(v *catalog.View, name string, arguments json.RawMessage) (c Call, known bool, err error) {
	if op := v.Tool(name); op != nil {
		return Call{Operation: op, Input: WithoutUnset(op, arguments)}, true, nil
	}
	id, ok := v.Snapshot().ToolID(name)
	switch {
	case !ok:
		return Call{}, false, nil
	case id == catalog.ToolsID("call") && v.Listed(catalog.ToolsID(catalog.DescribeOp)):
		c, err = resolveFunction(v, arguments)
		return c, true, err
	case id == catalog.Generic(id.Op):
		entities := entitiesWithTools(v, id.Op)
		if len(entities) == 0 {
			return Call{}, false, nil
		}
		c, err = resolveEntity(v, id.Op, entities, arguments)
		return c, true, err
	}
	return Call{}, false, nil
}

// Fault returns a fault of the operation with paths into the tool's arguments.
func (c Call) Fault(f *fault.Fault) *fault.Fault {
	if c.at == "" || f == nil {
		return f
	}
	moved := *f
	if details, ok := f.Details.([]fault.Detail); ok {
		details = slices.Clone(details)
		for i := range details {
			details[i].Path = c.at + details[i].Path
		}
		moved.Details = details
	}
	if f.Path != "" {
		moved.Path = c.at + f.Path
	}
	return &moved
}

func resolveEntity(v *catalog.View, op string, entities []string, arguments json.RawMessage) (Call, error) {
	input, err := argumentsOf(arguments)
	if err != nil {
		return Call{}, err
	}
	name, err := text(input, entityMember)
	if err != nil {
		return Call{}, err
	}
	if !slices.Contains(entities, name) {
		return Call{}, noSuchEntity(v, op, name, entities)
	}
	delete(input, entityMember)
	found := v.At(catalog.SurfaceTools).Operation(catalog.EntityID(name, op))
	return Call{Operation: found, Input: WithoutUnset(found, encoded(input))}, nil
}

// noSuchEntity returns the fault for an entity that does not have the operation.
func noSuchEntity(v *catalog.View, op, name string, entities []string) *fault.Fault {
	path := "/" + entityMember
	if !slices.Contains(entitiesWithTools(v, ""), name) {
		return fault.Invalid(fault.Detail{Path: path, Message: "there is no entity " + quoted(name) + fault.DidYouMean(name, entities)}).
			WithHint("%s lists the entities.", v.Snapshot().ToolName(catalog.Generic(catalog.DescribeOp)))
	}
	if v.At(catalog.SurfaceTools).Resource(name).ReadOnly {
		return fault.Newf(fault.ReadOnly, "%s is read-only: it has no %s", name, op).WithPath(path)
	}
	return fault.Invalid(fault.Detail{Path: path, Message: name + " has no " + op})
}

func resolveFunction(v *catalog.View, arguments json.RawMessage) (Call, error) {
	given, err := argumentsOf(arguments)
	if err != nil {
		return Call{}, err
	}
	for member := range given {
		if known := []string{nameMember, inputMember}; !slices.Contains(known, member) {
			return Call{}, fault.Invalid(fault.Detail{Path: "/" + member, Message: "there is no " + quoted(member) + " here" + fault.DidYouMean(member, known)})
		}
	}
	name, err := text(given, nameMember)
	if err != nil {
		return Call{}, err
	}
	op, bad := function(v, name)
	if bad != nil {
		return Call{}, bad.WithPath("/" + nameMember)
	}
	input := given[inputMember]
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return Call{Operation: op, Input: WithoutUnset(op, input), at: "/" + inputMember}, nil
}

// argumentsOf returns the members of a call's arguments.
func argumentsOf(arguments json.RawMessage) (map[string]json.RawMessage, error) {
	members, err := exact.Members(arguments)
	var twice *exact.Repeated
	switch {
	case errors.As(err, &twice):
		return nil, fault.Invalid(fault.Detail{Path: twice.Path, Message: "the name appears twice"})
	case err != nil:
		return nil, fault.Invalid(fault.Detail{Message: "the arguments must be an object", Expected: "object"})
	}
	return members, nil
}

// text reads an argument that must be a string.
func text(in map[string]json.RawMessage, name string) (string, error) {
	raw, ok := in[name]
	if !ok {
		return "", fault.Invalid(fault.Detail{Path: "/" + name, Message: quoted(name) + " is missing", Expected: "string"})
	}
	var s *string
	if json.Unmarshal(raw, &s) != nil || s == nil {
		return "", fault.Invalid(fault.Detail{Path: "/" + name, Message: quoted(name) + " must be a string", Expected: "string"})
	}
	return *s, nil
}

// ScopesFor returns what a call of a tool needs in the view of somebody with all scopes; none
// if it cannot be made there either.
func ScopesFor(v *catalog.View, name string, arguments json.RawMessage) []string {
	if c, _, err := Resolve(v, name, arguments); err == nil && c.Operation != nil && c.Operation.Reach != 0 {
		return c.Operation.Needs()
	}
	return nil
}

// UnknownTool is the fault of a call of a tool that a view does not have.
func UnknownTool(v *catalog.View, name string) *fault.Fault {
	name = fault.Clip(name, 64)
	names := make([]string, len(v.Tools()))
	for i, op := range v.Tools() {
		names[i] = v.Snapshot().ToolName(op.ID)
	}
	f := fault.Newf(fault.ToolNotFound, "there is no tool %q%s", name, fault.DidYouMean(name, names))
	if !v.Listed(catalog.CodeID("koan", "search")) {
		return f.WithHint("List the tools.") // the registry's hint names one that is not offered here
	}
	return f
}
