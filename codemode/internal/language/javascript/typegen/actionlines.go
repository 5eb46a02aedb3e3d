package typegen

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// maxActionType bounds the type of one member in a line, in bytes: every conversation pays for it.
const maxActionType = 60

// maxShortDepth bounds how deep a type in a line looks: branches of unions multiply with it.
const maxShortDepth = 3

// actionSignature returns the name of an action with its input and output.
func actionSignature(name string, op *catalog.Operation) string {
	line := name + "(" + shortSignature(op.Input, true) + ")"
	if returns := shortSignature(op.Output, false); returns != "" {
		line += ": " + returns
	}
	return line
}

// shortSignature returns the members of an object, what is required first, with their types if it is
// written; of another schema its type, and "" for one that says nothing.
func shortSignature(schema json.RawMessage, written bool) string {
	doc, ok := decode(schema)
	if !ok {
		return ""
	}
	c := &converter{doc: doc}
	s := c.target(doc)
	properties, _ := s["properties"].(map[string]any)
	if len(properties) == 0 {
		if kind := c.shortType(doc); kind != "object" && kind != "unknown" {
			return kind
		}
		return ""
	}
	required := map[string]bool{}
	names, _ := s["required"].([]any)
	for _, name := range names {
		required[str(name)] = true
	}
	members := sortedNames(properties)
	if written {
		sort.SliceStable(members, func(i, j int) bool { return required[members[i]] && !required[members[j]] })
	}
	parts := make([]string, len(members))
	for i, name := range members {
		parts[i] = property(name)
		if !written {
			continue
		}
		if !required[name] {
			parts[i] += "?"
		}
		parts[i] += ": " + c.shortType(properties[name])
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// shortType returns the type of a schema in a word, or in the values of a short enum.
func (c *converter) shortType(schema any) string { return c.shortTypeAt(schema, 0) }

func (c *converter) shortTypeAt(schema any, depth int) string {
	s := c.target(schema)
	c.nodes++
	if s == nil || depth > maxShortDepth || c.nodes > maxSchemaNodes {
		return "unknown"
	}
	if values, ok := s["enum"].([]any); ok {
		if text := enum(values); len(text) <= maxActionType {
			return text
		}
	}
	if v, ok := s["const"]; ok {
		if text := literal(v, 0); len(text) <= maxActionType {
			return text
		}
	}
	kinds, _ := s["type"].([]any)
	if kind, ok := s["type"]; ok && kinds == nil {
		kinds = []any{kind}
	}
	var out []string
	for _, kind := range kinds {
		switch kind {
		case "integer":
			out = append(out, "number")
		case "array":
			out = append(out, list(c.shortTypeAt(s["items"], depth+1)))
		default:
			out = append(out, str(kind))
		}
	}
	for _, member := range []string{"anyOf", "oneOf"} {
		branches, _ := s[member].([]any)
		for _, branch := range branches {
			if kind := c.shortTypeAt(branch, depth+1); len(kinds) == 0 && !slices.Contains(out, kind) {
				out = append(out, kind)
			}
		}
	}
	if text := union(out); len(out) > 0 && len(text) <= maxActionType {
		return text
	}
	return "unknown"
}
