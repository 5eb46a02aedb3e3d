// Package subschema finds the schemas within a JSON Schema. It alone knows at which keywords they
// are, so that whoever walks or rewrites schemas never takes a name or a value for a keyword.
//
// What belongs here: where schemas are in others. Not here: what they mean.
package subschema

import (
	"maps"
	"slices"
	"strconv"

	"github.com/koan-go/koan/framework/fault"
)

// Where a schema has others: by name, in a list, or one. Everything else in it is data, even if
// it looks like a schema: values of const, default, enum and examples, and names of members,
// which may be those of keywords.
var (
	byName = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"}
	inList = []string{"allOf", "anyOf", "oneOf", "prefixItems", "items"}
	single = []string{"items", "additionalItems", "additionalProperties", "unevaluatedItems", "unevaluatedProperties", "contains", "propertyNames", "not", "if", "then", "else", "contentSchema"}
)

// IsOne reports whether a schema may stand at a keyword.
func IsOne(keyword string) bool { return slices.Contains(single, keyword) }

// AreNamed reports whether an object of schemas by name may stand at a keyword.
func AreNamed(keyword string) bool { return slices.Contains(byName, keyword) }

// AreListed reports whether a list of schemas may stand at a keyword.
func AreListed(keyword string) bool { return slices.Contains(inList, keyword) }

// Each calls visit for a decoded schema and all schemas within it that are objects, with their
// JSON Pointers, in a fixed order.
func Each(doc any, visit func(path string, s map[string]any)) { each(doc, "", visit) }

func each(v any, path string, visit func(path string, s map[string]any)) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	visit(path, s)
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		at := path + "/" + fault.Step(keyword)
		switch inner := s[keyword].(type) {
		case map[string]any:
			switch {
			case IsOne(keyword):
				each(inner, at, visit)
			case AreNamed(keyword):
				for _, name := range slices.Sorted(maps.Keys(inner)) {
					each(inner[name], at+"/"+fault.Step(name), visit)
				}
			}
		case []any:
			if AreListed(keyword) {
				for i := range inner {
					each(inner[i], at+"/"+strconv.Itoa(i), visit)
				}
			}
		}
	}
}

// Replace returns a copy of a schema with what replace returns for each schema directly within
// it, be that an object, true or false, asked for in a fixed order. Whoever wants those further down
// calls Replace from replace.
func Replace(s map[string]any, replace func(any) any) map[string]any {
	out := maps.Clone(s)
	for _, keyword := range slices.Sorted(maps.Keys(s)) {
		switch inner := s[keyword].(type) {
		case map[string]any:
			switch {
			case IsOne(keyword):
				out[keyword] = replace(inner)
			case AreNamed(keyword):
				named := make(map[string]any, len(inner))
				for _, name := range slices.Sorted(maps.Keys(inner)) {
					one := inner[name]
					named[name] = one
					if isSchema(one) {
						named[name] = replace(one)
					}
				}
				out[keyword] = named
			}
		case []any:
			if AreListed(keyword) {
				list := make([]any, len(inner))
				for i := range inner {
					list[i] = replace(inner[i])
				}
				out[keyword] = list
			}
		case bool:
			if IsOne(keyword) {
				out[keyword] = replace(inner)
			}
		}
	}
	return out
}

// isSchema reports whether a value can be a schema; a dependency of an older draft may be a list
// of names.
func isSchema(v any) bool {
	switch v.(type) {
	case map[string]any, bool:
		return true
	}
	return false
}
