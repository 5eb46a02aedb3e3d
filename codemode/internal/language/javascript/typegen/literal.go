package typegen

import (
	"encoding/json"
	"slices"
	"strconv"
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
		names := sortedNames(v)
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
		many := strconv.Itoa(len(values)) + " values are too many to list"
		for _, v := range values {
			if _, ok := v.(string); !ok {
				return unsaid(many)
			}
		}
		return "string /** " + many + " */"
	}
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = literal(v, 0)
	}
	return union(parts)
}

// union joins with |, null last: a type that admits everything makes the others redundant.
func union(kinds []string) string {
	if i := slices.IndexFunc(kinds, isUnsaid); i >= 0 {
		return kinds[i]
	}
	var said []string
	nullable := false
	for _, k := range kinds {
		rest, ends := strings.CutSuffix(k, " | null")
		nullable = nullable || ends || k == "null"
		if k != "null" {
			said = append(said, rest)
		}
	}
	if nullable {
		said = append(said, "null")
	}
	return join(said, " | ")
}

// intersection joins with &: a type that admits everything is left out, and unions inside
// are put in parentheses.
func intersection(kinds []string) string {
	said := slices.DeleteFunc(slices.Clone(kinds), isUnsaid)
	switch len(said) {
	case 0:
		return union(kinds)
	case 1:
		return said[0]
	}
	for i, k := range said {
		if strings.Contains(k, " | ") {
			said[i] = "(" + k + ")"
		}
	}
	return join(said, " & ")
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

// note writes the description and limits of a member as a comment before it.
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
	for _, key := range []string{"not", "if", "dependentSchemas", "dependentRequired", "contains", "propertyNames"} {
		if _, ok := s[key]; ok {
			notes = append(notes, "more is checked: "+key)
		}
	}
	text := str(s["description"])
	if len(notes) > 0 {
		text = strings.TrimSpace(strings.TrimRight(text, " .") + " (" + strings.Join(notes, ", ") + ")")
	}
	return comment1(text)
}

func str(v any) string {
	s, _ := v.(string)
	return s
}
