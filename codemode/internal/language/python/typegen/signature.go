package typegen

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// maxShortKind bounds the type of one member in a line, in bytes: every conversation pays for it.
const maxShortKind = 60

// actionSignature returns the name of an action with its input and output in short.
func actionSignature(name string, op *catalog.Operation) string {
	line := functionName(name) + "(" + shortInput(op.Input) + ")"
	if returns := shortOutput(op.Output); returns != "" {
		line += " -> " + returns
	}
	return line
}

// shortInput returns the members of an input, what is required first: as keywords or, if one is none, as a dict.
func shortInput(raw json.RawMessage) string {
	of, ok := read(raw)
	if !ok {
		return ""
	}
	names := sorted(of.Properties)
	optional := func(p string) bool { return !slices.Contains(of.Required, p) }
	required := slices.DeleteFunc(slices.Clone(names), optional)
	names = append(required, slices.DeleteFunc(names, func(p string) bool { return !optional(p) })...)
	s := shortSchemas(raw)
	keywords := !slices.ContainsFunc(names, func(p string) bool { return !isIdentifier(p) })
	parts := make([]string, len(names))
	for i, p := range names {
		switch kind := s.short(of.Properties[p]); {
		case !keywords:
			parts[i] = quote(p) + ": " + kind
		case optional(p):
			parts[i] = p + ": " + kind + "=..."
		default:
			parts[i] = p + ": " + kind
		}
	}
	text := strings.Join(parts, ", ")
	if !keywords {
		return "{" + text + "}"
	}
	return text
}

// shortOutput returns the names of an output's members, or its type, "" for one that says nothing.
func shortOutput(raw json.RawMessage) string {
	of, ok := read(raw)
	if !ok {
		return ""
	}
	if len(of.Properties) > 0 {
		return "{" + strings.Join(sorted(of.Properties), ", ") + "}"
	}
	if kind := shortSchemas(raw).short(raw); kind != anything {
		return kind
	}
	return ""
}

// shortSchemas are the schemas of a document whose types have no types of their own.
func shortSchemas(doc json.RawMessage) *schemas {
	return &schemas{generator: &generator{taken: map[string]bool{}}, doc: doc, named: map[string]string{}}
}

// short returns the type of a schema in short.
func (s *schemas) short(raw json.RawMessage) string {
	kind := own.ReplaceAllString(s.kind("", raw, maxDepth-2), "$1")
	if len(kind) > maxShortKind {
		return anything
	}
	return kind
}
