package typegen

import (
	"encoding/json"
	"sort"
	"strings"
)

// literal writes a JSON value as a literal type.
func literal(v any, depth int) string {
	if depth > maxSchemaDepth {
		return "unknown"
	}
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		if v {
			return "true"
		}
		return "false"
	case string:
		return quote(v)
	case json.Number:
		if f, err := v.Float64(); err != nil || len(v) > 20 {
			return "number"
		} else if f < 0 {
			return "-" + strings.TrimPrefix(v.String(), "-")
		}
		return v.String()
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = literal(one, depth+1)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		sort.Strings(names)
		parts := make([]string, len(names))
		for i, name := range names {
			parts[i] = property(name) + ": " + literal(v[name], depth+1)
		}
		return "{ " + strings.Join(parts, "; ") + " }"
	}
	return "unknown"
}

// enum writes the union of an enum's values.
func enum(values []any) string {
	if len(values) == 0 {
		return "never"
	}
	if len(values) > maxSchemaMembers {
		if _, ok := values[0].(string); ok {
			return "string /* too many values to list */"
		}
		return "unknown /* too many values to list */"
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = literal(v, 0)
	}
	return union(parts)
}

func union(kinds []string) string { return join(kinds, " | ") }

// intersection joins with &: alternatives inside are put in brackets.
func intersection(kinds []string) string {
	if len(kinds) > 1 {
		for i, k := range kinds {
			if strings.Contains(k, " | ") {
				kinds[i] = "(" + k + ")"
			}
		}
	}
	return join(kinds, " & ")
}

// join joins distinct types.
func join(kinds []string, with string) string {
	var out []string
	seen := map[string]bool{}
	for _, k := range kinds {
		if !seen[k] {
			seen[k] = true
			out = append(out, k)
		}
	}
	return strings.Join(out, with)
}

// list writes an array type.
func list(item string) string {
	if strings.ContainsAny(item, " |&") && !strings.HasPrefix(item, "{") || strings.HasPrefix(item, "{") && strings.Contains(item, "} ") {
		return "(" + item + ")[]"
	}
	return item + "[]"
}

// note writes what a schema says about a member, in a comment before it.
func note(schema any) string {
	s, ok := schema.(map[string]any)
	if !ok {
		return ""
	}
	var notes []string
	for _, key := range []string{"format", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "pattern"} {
		switch v := s[key].(type) {
		case string:
			notes = append(notes, key+" "+v)
		case json.Number:
			notes = append(notes, key+" "+v.String())
		}
	}
	text := str(s["description"])
	if len(notes) > 0 {
		text = strings.TrimSpace(strings.TrimRight(text, " .") + " (" + strings.Join(notes, ", ") + ")")
	}
	return strings.TrimSuffix(comment("", text), "\n") + blank(text)
}

func blank(text string) string {
	if plain(text) == "" {
		return ""
	}
	return " "
}

func str(v any) string {
	s, _ := v.(string)
	return s
}
