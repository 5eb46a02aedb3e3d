package restapi

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/koan-go/koan/framework/schema/subschema"
)

// components are the schemas that others refer to.
type components struct {
	schemas node
	known   map[string]string // names of schemas by their JSON
}

func reference(name string) node { return node{"$ref": "#/components/schemas/" + name} }

// schema reads a JSON Schema. What it refers to within itself becomes a component, and what is a
// component already a reference to it.
func (b *components) schema(raw json.RawMessage, owner string) any {
	var s any
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil { // a snapshot has checked that it is JSON
		return node{}
	}
	return b.refer(b.withComponents(s, owner), owner)
}

// refer replaces parts of a schema by references.
func (b *components) refer(s any, owner string) any {
	object, ok := s.(node)
	if !ok { // true or false
		return s
	}
	if name := b.known[canonical(object)]; name != "" {
		return reference(name)
	}
	return withFormat(withMembers(joinChoices(splitTypes(subschema.Replace(object, func(inner any) any { return b.refer(inner, owner) })))))
}

// keywords are those that mean something for one type alone.
var keywords = map[string][]string{
	"string": {"minLength", "maxLength", "pattern", "format", "contentEncoding"}, "integer": {"minimum", "maximum"}, "number": {"minimum", "maximum"},
	"array": {"items", "minItems", "maxItems"}, "object": {"properties", "required", "additionalProperties", "minProperties"},
}

// splitTypes turns a schema of several types into a choice of schemas of one: few generators of
// clients read more than one type and null.
func splitTypes(s node) node {
	types, _ := s["type"].([]any)
	if several := len(slices.DeleteFunc(slices.Clone(types), func(t any) bool { return t == "null" })); several < 2 {
		return s
	}
	out, choices := maps.Clone(s), []any{}
	delete(out, "type")
	for _, t := range types {
		choice := node{"type": t}
		name, _ := t.(string)
		for _, keyword := range keywords[name] {
			if value, ok := s[keyword]; ok {
				choice[keyword] = value
				delete(out, keyword)
			}
		}
		choices = append(choices, choice)
	}
	out["anyOf"] = choices
	return out
}

// joinChoices takes the choices of a choice that says nothing else for choices of the schema itself:
// of one within another, oapi-codegen makes a type that nobody can give a value.
func joinChoices(s node) node {
	choices, ok := s["anyOf"].([]any)
	if !ok {
		return s
	}
	var out []any
	for _, c := range choices {
		inner, _ := c.(node)
		if within, ok := inner["anyOf"].([]any); ok && len(inner) == 1 {
			out = append(out, within...)
			continue
		}
		out = append(out, c)
	}
	s = maps.Clone(s)
	s["anyOf"] = out
	return s
}

// withMembers says that an object has members, where a schema says nothing of them, or only what
// their names are like: generators of clients make objects without any of it.
func withMembers(s node) node {
	choices, _ := s["anyOf"].([]any)
	for _, c := range choices {
		if c, ok := c.(node); ok && c["type"] == "object" {
			withMembers(c)
		}
	}
	types, _ := s["type"].([]any)
	if s["type"] != "object" && !slices.Contains(types, any("object")) || s["properties"] != nil {
		return s
	}
	if patterns, ok := s["patternProperties"].(node); ok && len(patterns) == 1 {
		for _, only := range patterns {
			s["additionalProperties"] = only
		}
		return s
	}
	for _, keyword := range []string{"additionalProperties", "unevaluatedProperties", "$ref", "anyOf", "oneOf", "allOf"} {
		if _, said := s[keyword]; said {
			return s
		}
	}
	s["additionalProperties"] = true
	return s
}

// withFormat says how wide a schema's numbers are: generators of clients take 32 bits otherwise.
func withFormat(s node) node {
	width := map[any]string{"number": "double", "integer": "int64"}
	types, several := s["type"].([]any)
	if !several {
		types = []any{s["type"]}
	}
	for _, t := range types {
		if format := width[t]; format != "" && s["format"] == nil {
			s["format"] = format
		}
	}
	choices, _ := s["anyOf"].([]any)
	for _, c := range choices {
		if c, ok := c.(node); ok {
			withFormat(c)
		}
	}
	return s
}

func canonical(s any) string {
	raw, _ := json.Marshal(s) // it came from JSON
	return string(raw)
}

// component makes a schema a component, so that equal ones, and those written as text, refer to it.
func (b *components) component(want string, s any, text string) {
	object, ok := s.(node)
	if !ok || len(object) == 0 {
		return
	}
	made := b.refer(s, want)
	name := b.take(want)
	b.schemas[name] = made
	b.know(name, canonical(s), text)
}

// know has schemas that are written as given refer to a component, if they do not to another one.
func (b *components) know(name string, texts ...string) {
	for _, text := range texts {
		if b.known[text] == "" {
			b.known[text] = name
		}
	}
}
