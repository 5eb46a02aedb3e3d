package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/koan-go/koan/framework/schema/subschema"
)

// useDialect has a compiler read a schema, which it changes, as its author meant it: with what OpenAPI
// and earlier versions of JSON Schema say in other words than 2020-12. A schema that names no version,
// and has tuples as the versions before 2020-12 wrote them, is one of 2019-09.
func useDialect(c *jsonschema.Compiler, doc any) {
	older, booleanBounds := false, false
	if root, ok := doc.(map[string]any); ok {
		version, _ := root["$schema"].(string)
		booleanBounds = strings.Contains(version, "draft-04")
		latest := version == "" || strings.Contains(version, "2020-12")
		if older = !latest; latest && hasArrayOfItems(doc) {
			older = true
			delete(root, "$schema")
			c.DefaultDraft(jsonschema.Draft2019)
		}
	}
	subschema.Each(doc, func(_ string, s map[string]any) {
		admitNull(s)
		if !booleanBounds {
			numberBound(s, "exclusiveMinimum", "minimum")
			numberBound(s, "exclusiveMaximum", "maximum")
		}
		if prefix, ok := s["prefixItems"].([]any); ok && older && !isList(s["items"]) {
			if more, ok := s["items"]; ok {
				s["additionalItems"] = more
			}
			s["items"] = prefix
			delete(s, "prefixItems")
		}
	})
}

func hasArrayOfItems(doc any) (found bool) {
	subschema.Each(doc, func(_ string, s map[string]any) { found = found || isList(s["items"]) })
	return found
}

func isList(v any) bool {
	_, ok := v.([]any)
	return ok
}

// admitNull lets a value be null where its schema says `nullable: true`, as in OpenAPI 3.0.
func admitNull(s map[string]any) {
	if s["nullable"] != true {
		return
	}
	delete(s, "nullable")
	switch t := s["type"].(type) {
	case string:
		if t != "null" {
			s["type"] = []any{t, "null"}
		}
	case []any:
		if !slices.Contains(t, any("null")) {
			s["type"] = append(slices.Clip(t), "null")
		}
	}
	if values, ok := s["enum"].([]any); ok && !slices.Contains(values, nil) {
		s["enum"] = append(slices.Clip(values), nil)
	}
	rest := map[string]any{}
	for _, keyword := range []string{"const", "$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else"} {
		if v, ok := s[keyword]; ok {
			rest[keyword] = v
			delete(s, keyword)
		}
	}
	if len(rest) > 0 {
		s["anyOf"] = []any{rest, map[string]any{"type": "null"}}
	}
}

// numberBound makes a bound of `exclusiveMinimum: true`, as in OpenAPI 3.0.
func numberBound(s map[string]any, exclusive, inclusive string) {
	is, ok := s[exclusive].(bool)
	if !ok {
		return
	}
	delete(s, exclusive)
	if bound, ok := s[inclusive].(json.Number); ok && is {
		s[exclusive] = bound
		delete(s, inclusive)
	}
}
