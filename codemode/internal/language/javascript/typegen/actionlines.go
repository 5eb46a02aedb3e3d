package typegen

import (
	"encoding/json"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// How much the lines of actions may say, in bytes.
const (
	maxActionLines = 3000 // all of them (CONTRACT section 2)
	maxActionType  = 60   // the type of one member
	maxActionWords = 80   // what an action does
)

// maxShortDepth bounds how deep a type in a line looks: branches of unions multiply with it.
const maxShortDepth = 3

// ActionLines implements language.Types.
func (TypeScript) ActionLines(v *catalog.View) string {
	return catalog.Memo(v, actionLinesKey{}, func() string { return actionLines(v) })
}

type actionLinesKey struct{}

func actionLines(v *catalog.View) string {
	text := listActions(v, true)
	if len(text) > maxActionLines {
		text = listActions(v, false)
	}
	return text
}

// listActions returns the lines, with words about each or as many as there is room for.
func listActions(v *catalog.View, words bool) string {
	listed := map[catalog.ID]bool{}
	for _, op := range v.Tools() {
		listed[op.ID] = true
	}
	var lines []string
	for _, d := range bind.Bind(v).Domains {
		for _, f := range d.Functions {
			id, err := catalog.ParseID(f.ID)
			if err != nil || id.Kind != catalog.KindAction || listed[id] || !v.Listed(id) {
				continue
			}
			lines = append(lines, actionLine(f.Name, v.Operation(id), words))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	out := "SDK.Actions, each kept whole or not at all:\n"
	if words {
		return out + strings.Join(lines, "")
	}
	for i, line := range lines {
		left := ""
		if more := len(lines) - i - 1; more > 0 {
			left = moreActions(more)
		}
		if len(out)+len(line)+len(left) > maxActionLines {
			return out + moreActions(len(lines)-i)
		}
		out += line
	}
	return out
}

// firstWords returns the first sentence of a text, or as much of it as a line has room for.
func firstWords(text string) string {
	text, _, _ = strings.Cut(text, ". ")
	text = strings.TrimSuffix(text, ".")
	if len(text) <= maxActionWords {
		return text
	}
	end := strings.LastIndexByte(text[:maxActionWords], ' ')
	if end < 0 { // a language without spaces
		return fault.Clip(text, maxActionWords)
	}
	return strings.TrimRight(text[:end], " ,;:") + " …"
}

func moreActions(n int) string {
	return "- … and " + strconv.Itoa(n) + " more: koan.code.search declares them\n"
}

func actionLine(name string, op *catalog.Operation, words bool) string {
	line := "- " + name + "(" + shortSignature(op.Input, true) + ")"
	if returns := shortSignature(op.Output, false); returns != "" {
		line += ": " + returns
	}
	if words {
		line += " // " + firstWords(plain(op.Summary))
	}
	return line + "\n"
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
