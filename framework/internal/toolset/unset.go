package toolset

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
)

// WithoutUnset returns a tool's input without those optional members that are null, where their
// schema does not admit it: some models send every member that a schema has (CONTRACT section 2).
// Of operations of entities, whose texts are never empty, so do those that are "" where a text is
// meant. Routes of REST whose body is a tool's input come here too. Scripts and what REST has in its queries do
// not: there a condition that is null was lost.
func WithoutUnset(op *catalog.Operation, input json.RawMessage) json.RawMessage {
	ofEntity := op.ID.Kind == catalog.KindEntity
	if op.ID.Kind == catalog.KindUpstream || !bytes.Contains(input, []byte("null")) && !(ofEntity && bytes.Contains(input, []byte(`""`))) {
		return input
	}
	members, err := exact.Members(input)
	if err != nil { // the operation says what is wrong
		return input
	}
	given, s := len(members), signatureOf(op.Input)
	maps.DeleteFunc(members, func(name string, value json.RawMessage) bool {
		empty := string(bytes.TrimSpace(value))
		if empty != "null" && (!ofEntity || empty != `""`) || slices.Contains(s.Required, name) {
			return false
		}
		schema, known := s.Properties[name]
		if !known { // a tool for all entities has it for others
			return ofEntity && slices.ContainsFunc(parameters, func(p parameter) bool { return p.name == name })
		}
		admitted := typesNamed(schema)
		if empty == "null" {
			return len(admitted) > 0 && !slices.Contains(admitted, "null")
		}
		return slices.Contains(admitted, "string")
	})
	if len(members) == given {
		return input
	}
	return encoded(members)
}

// typesNamed returns the types that a schema names, none if it admits any or refers to another schema.
func typesNamed(schema json.RawMessage) []string {
	var s struct {
		Type         json.RawMessage
		Enum         []any
		AnyOf, OneOf []json.RawMessage
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var several []string
	if json.Unmarshal(s.Type, &several) == nil && len(several) > 0 {
		return several
	}
	var one string
	if json.Unmarshal(s.Type, &one) == nil && one != "" {
		return []string{one}
	}
	for _, v := range s.Enum {
		switch v.(type) {
		case nil:
			several = append(several, "null")
		case string:
			several = append(several, "string")
		default:
			several = append(several, "")
		}
	}
	for _, branch := range slices.Concat(s.AnyOf, s.OneOf) {
		inner := typesNamed(branch)
		if len(inner) == 0 {
			return nil
		}
		several = append(several, inner...)
	}
	return several
}
