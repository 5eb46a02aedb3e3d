package typegen

import (
	"regexp"
	"sort"
	"strings"
)

// members writes an object type.
func (c *converter) members(s map[string]any, p position) string {
	if c.open {
		return "{ [key: string]: any }"
	}
	props, _ := s["properties"].(map[string]any)
	required := map[string]bool{}
	if list, ok := s["required"].([]any); ok {
		for _, one := range list {
			required[str(one)] = true
		}
	}
	names := sortedNames(props)
	var parts []string
	cut := len(names) > maxSchemaMembers
	if cut {
		names = names[:maxSchemaMembers]
	}
	for _, name := range names {
		mark := "?"
		if required[name] {
			mark = ""
		}
		kind := c.convert(props[name], p.within())
		if c.written && inherited(name) && !required[name] && !isUnsaid(kind) {
			kind = union([]string{kind, "{}[" + quote(name) + "]"})
		}
		parts = append(parts, note(props[name])+property(name)+mark+": "+kind)
	}
	if cut {
		parts = append(parts, "/** too many members to list */ [key: string]: unknown")
	} else {
		parts = append(parts, c.index(s, names, p)...)
	}
	if len(parts) == 0 {
		return "{ [key: string]: never }"
	}
	return "{ " + strings.Join(parts, "; ") + " }"
}

// index writes the index signatures for additionalProperties and patternProperties.
// Without these keywords no other members are declared, although the schema admits them.
// An index signature must admit the types of the named members, so beside those it is
// unknown, with a warning.
func (c *converter) index(s map[string]any, names []string, p position) []string {
	more, ok := s["additionalProperties"]
	patterns, _ := s["patternProperties"].(map[string]any)
	silent := !ok && (len(names) > 0 || len(patterns) > 0)
	if len(patterns) == 0 {
		switch {
		case silent, more == false:
			return nil
		case !ok, more == true:
			return []string{"[key: string]: unknown"}
		}
		kind := c.convert(more, p.within())
		if len(names) > 0 && !isUnsaid(kind) {
			return []string{comment1("every other member is "+kind) + "[key: string]: unknown"}
		}
		return []string{"[key: string]: " + kind}
	}
	closed := silent || more == false
	if out, ok := c.prefixes(patterns, names, p); ok && closed {
		return out
	}
	kinds := []string{}
	for _, pattern := range sortedNames(patterns) {
		kinds = append(kinds, c.convert(patterns[pattern], p.within()))
	}
	if !closed {
		kinds = append(kinds, c.convert(more, p.within()))
	}
	said := comment1("names match " + strings.Join(sortedNames(patterns), " or "))
	if kind := union(kinds); len(names) == 0 {
		return []string{said + "[key: string]: " + kind}
	}
	return []string{said + "[key: string]: unknown"}
}

// prefixed is a pattern that requires a prefix and nothing else.
var prefixed = regexp.MustCompile(`^\^([A-Za-z0-9_:@ -]+)(?:\.\*)?\$?$`)

// prefixes writes an index signature for each pattern. ok is false if a pattern is not a
// plain prefix, or two match the same names.
func (c *converter) prefixes(patterns map[string]any, names []string, p position) (out []string, ok bool) {
	var seen []string
	for _, pattern := range sortedNames(patterns) {
		m := prefixed.FindStringSubmatch(pattern)
		if m == nil || strings.HasSuffix(pattern, "$") && !strings.HasSuffix(pattern, ".*$") {
			return nil, false
		}
		for _, name := range names {
			if strings.HasPrefix(name, m[1]) {
				return nil, false
			}
		}
		for _, other := range seen {
			if strings.HasPrefix(other, m[1]) || strings.HasPrefix(m[1], other) {
				return nil, false
			}
		}
		seen = append(seen, m[1])
		out = append(out, "[key: `"+m[1]+"${string}`]: "+c.convert(patterns[pattern], p.within()))
	}
	return out, true
}

// comment1 is a comment before something in the same line.
func comment1(text string) string {
	if text = strings.TrimSuffix(comment("", text), "\n"); text == "" {
		return ""
	}
	return text + " "
}

func sortedNames(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}
