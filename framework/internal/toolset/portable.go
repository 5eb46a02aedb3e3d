package toolset

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Model providers accept different parts of JSON Schema, and a client loses all of its
// tools over one schema that its provider refuses. A portable schema stays within what
// they have in common: each schema has one `type`, or `anyOf` and nothing beside it;
// arrays have `items`; there are no references, no keywords beyond OpenAPI's, enums are
// of strings only, and names have at most 64 plain characters. A portable schema admits
// whatever its original admits, except that an input must not contain null, and that
// each form of an object in a choice has its own members only. The operation validates
// the call; the listed schema only informs.

// Bounds on the conversion: plugins bring schemas of any size.
const (
	maxSchemaDepth = 5
	maxSchemaNodes = 1000
	maxAbout       = 500 // characters of a description inside a schema
)

// propertyName matches the property names that all providers accept.
var propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

type object = map[string]any

// portableInput returns an input schema as a portable one: an object with properties.
func portableInput(schema json.RawMessage) object {
	c := newConverter(schema, false)
	return rooted(c.convert(c.doc, 0), false)
}

// portableOutput returns an output schema as a portable one, which also admits the body
// of a failure (CONTRACT section 2). wraps says that the output is under "result".
func portableOutput(schema json.RawMessage, wraps bool) object {
	c := newConverter(schema, true)
	success := c.convert(c.doc, 0)
	if wraps {
		out := simple("object")
		if success != nil {
			out["properties"] = object{"result": success}
		}
		return out
	}
	out := rooted(success, true)
	delete(out, "required") // a failure has other members
	delete(out, "description")
	if properties, ok := out["properties"].(object); ok {
		delete(properties, "error") // which has a form of its own there
		if own, ok := properties["success"].(object); ok {
			properties["success"] = object{"type": "boolean"} // true here, and false there
			if own["type"] != "boolean" {
				delete(properties, "success")
			}
		}
	}
	return out
}

// rooted returns a converted schema as the root of a tool's schema: an object.
func rooted(s object, output bool) object {
	if branches, ok := s["anyOf"].([]object); ok {
		s = joined(branches, output)
	}
	if s == nil || s["type"] != "object" {
		return simple("object")
	}
	return s
}

// joined returns an object that admits what any of several admit. It leaves out members
// in which they differ and, with shared, members that not all of them have.
func joined(branches []object, shared bool) object {
	properties := object{}
	var required []string
	for i, b := range branches {
		if b["type"] != "object" {
			return nil
		}
		own, _ := b["properties"].(object)
		for name, schema := range own {
			if known, ok := properties[name]; ok {
				schema = either(known, schema)
			}
			properties[name] = schema
		}
		needs, _ := b["required"].([]string)
		if i == 0 {
			required = needs
		}
		required = slices.DeleteFunc(slices.Clone(required), func(name string) bool { return !slices.Contains(needs, name) })
	}
	maps.DeleteFunc(properties, func(name string, schema any) bool {
		return schema == nil || shared && slices.ContainsFunc(branches, func(b object) bool {
			own, _ := b["properties"].(object)
			return own[name] == nil
		})
	})
	out := object{"type": "object", "properties": properties}
	required = slices.DeleteFunc(required, func(name string) bool { return properties[name] == nil })
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// either returns a schema that admits what either of two admits, nil if there is no
// portable one.
func either(a, b any) any {
	one, isObject := a.(object)
	other, both := b.(object)
	if !isObject || !both {
		return nil
	}
	if sameSchema(one, other) {
		return one
	}
	values, isEnum := one["enum"].([]string)
	more, bothEnums := other["enum"].([]string)
	if !isEnum || !bothEnums {
		return nil
	}
	out := maps.Clone(one)
	for _, v := range more {
		if !slices.Contains(values, v) {
			values = append(slices.Clone(values), v)
		}
	}
	out["enum"] = values
	return out
}

func sameSchema(a, b object) bool { return bytes.Equal(encoded(a), encoded(b)) }

// bounded returns a text of at most so many characters, with … if it was cut.
func bounded(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return strings.TrimRight(string(r[:most-1]), " ,;") + "…"
	}
	return text
}
