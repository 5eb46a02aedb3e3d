package typegen

import (
	"encoding/json"
	"slices"
	"strings"
)

// schemas writes types for the schemas of functions.
type schemas struct{ *generator }

// schema is what is read of a JSON Schema. Whatever else one says makes a type no narrower.
type schema struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
}

// maxDepth bounds how deep types are written.
const maxDepth = 5

// given is how a function takes its input.
type given struct {
	whole    string // the type of the one dict
	keywords string // the parameters of its members, behind a comma each
	open     bool   // it takes other members, too
}

// parameters are those behind the dict. after says that they follow parameters of any number.
func (g given) parameters(after bool) string {
	switch {
	case g.open:
		return g.keywords + ", **members: Any"
	case g.keywords == "" || after:
		return g.keywords
	}
	return ", *" + g.keywords
}

// input returns the types of a function's input.
func (s schemas) input(name string, raw json.RawMessage) given {
	of, ok := read(raw)
	if !ok || len(of.Properties) == 0 {
		return given{whole: "Mapping[_str, Any]", open: true}
	}
	var b strings.Builder
	for _, p := range sorted(of.Properties) {
		if isIdentifier(p) && p != "self" && p != "_given" && p != "_leading" {
			b.WriteString(", " + p + ": " + s.kind(name+pascal(p), of.Properties[p], 1, s.dict) + " = ...")
		}
	}
	return given{whole: s.dict(name, of, 0), keywords: b.String()}
}

// inlineInput returns the parameters of a function in a description: keywords, those that may be left out with a default.
// An input that has none, or a member that is no keyword, is taken as one dict.
func (s schemas) inlineInput(name string, raw json.RawMessage, leading []string) string {
	of, ok := read(raw)
	names := sorted(of.Properties)
	if !ok || len(names) == 0 {
		return ", **members: Any"
	}
	if slices.ContainsFunc(names, func(p string) bool { return !isIdentifier(p) || p == "self" }) {
		return ", input: " + s.dict(name, of, 0) + ", /"
	}
	var b strings.Builder
	optional := false // as all behind one that is must be
	for _, p := range leading {
		if i := slices.Index(names, p); i >= 0 {
			optional = optional || !slices.Contains(of.Required, p)
			b.WriteString(s.parameter(name, p, of, optional))
			names = slices.Delete(names, i, i+1)
		}
	}
	if len(names) > 0 {
		b.WriteString(", *")
	}
	for _, p := range names {
		b.WriteString(s.parameter(name, p, of, !slices.Contains(of.Required, p)))
	}
	return b.String()
}

// parameter returns that of a member of an input, behind a comma.
func (s schemas) parameter(name, member string, of schema, optional bool) string {
	text := ", " + member + ": " + s.kind(name+pascal(member), of.Properties[member], 1, s.dict)
	if optional {
		text += "=..."
	}
	return text
}

// output returns the type of a function's output.
func (s schemas) output(name string, raw json.RawMessage) string {
	if len(raw) == 0 {
		return "Any"
	}
	return s.kind(name, raw, 0, s.row)
}

// kind returns the type of a schema. object writes the type of one with properties, and returns its name.
func (s schemas) kind(name string, raw json.RawMessage, depth int, object func(string, schema, int) string) string {
	of, ok := read(raw)
	if !ok || depth > maxDepth {
		return "Any"
	}
	if len(of.Enum) > 0 {
		return enumeration(of.Enum)
	}
	if len(of.Const) > 0 {
		return enumeration([]json.RawMessage{of.Const})
	}
	var parts []string
	for _, t := range of.typesOf() {
		part := "Any"
		switch t {
		case "string":
			part = "_str"
		case "integer":
			part = "_int"
		case "number":
			part = "_float"
		case "boolean":
			part = "_bool"
		case "null":
			part = "None"
		case "array":
			part = "_list[Any]"
			if len(of.Items) > 0 {
				part = "_list[" + s.kind(name+"Item", of.Items, depth+1, object) + "]"
			}
		case "object":
			part = "Any"
			if len(of.Properties) > 0 {
				part = object(name, of, depth)
			}
		}
		if !slices.Contains(parts, part) {
			parts = append(parts, part)
		}
	}
	switch {
	case len(parts) == 0 || slices.Contains(parts, "Any"):
		return "Any"
	case len(parts) == 1:
		return parts[0]
	}
	return "Union[" + strings.Join(parts, ", ") + "]"
}

// dict writes the type of an object that a script gives.
func (s schemas) dict(name string, of schema, depth int) string {
	name = s.unique(name)
	var b strings.Builder
	b.WriteString(name + " = TypedDict(" + quote(name) + ", {")
	for _, p := range sorted(of.Properties) {
		if p == "" { // pyright takes no member without a name
			continue
		}
		b.WriteString(quote(p) + ": " + s.kind(name+pascal(p), of.Properties[p], depth+1, s.dict) + ", ")
	}
	b.WriteString("}, total=False)\n")
	s.types.WriteString(b.String())
	return name
}

// row writes the class of an object that a script gets.
func (s schemas) row(name string, of schema, depth int) string {
	name = s.unique(name)
	base := "_Row"
	if s.inline {
		base = "Row"
	}
	var b strings.Builder
	for _, p := range sorted(of.Properties) {
		if slices.Contains(ofDict, p) && !s.inline {
			base = "_Members"
		}
		kind := s.kind(name+pascal(p), of.Properties[p], depth+1, s.row)
		if !isIdentifier(p) {
			b.WriteString("    # row[" + quote(p) + "]: " + kind + "\n")
			continue
		}
		b.WriteString("    " + p + ": " + kind + "\n")
	}
	slots := "    __slots__ = ()\n"
	if s.inline && slices.ContainsFunc(sorted(of.Properties), isIdentifier) { // it has a body without
		slots = ""
	}
	s.types.WriteString("class " + name + "(" + base + "):\n" + slots + b.String() + "\n")
	return name
}

func read(raw json.RawMessage) (of schema, ok bool) {
	return of, json.Unmarshal(raw, &of) == nil
}

// typesOf are the names of the types that a schema allows; none if it says nothing.
func (of schema) typesOf() []string {
	var one string
	var several []string
	switch {
	case json.Unmarshal(of.Type, &one) == nil:
		return []string{one}
	case json.Unmarshal(of.Type, &several) == nil:
		return several
	case len(of.Properties) > 0:
		return []string{"object"}
	}
	return nil
}

// enumeration is the type of one of some values.
func enumeration(values []json.RawMessage) string {
	var parts []string
	for _, v := range values {
		var text string
		switch {
		case json.Unmarshal(v, &text) == nil && string(v) != "null":
			parts = append(parts, quote(text))
		case string(v) == "null":
			parts = append(parts, "None")
		default: // numbers that are none of Literal's, and objects
			return "Any"
		}
	}
	return "Literal[" + strings.Join(parts, ", ") + "]"
}

func sorted(properties map[string]json.RawMessage) []string {
	names := make([]string, 0, len(properties))
	for n := range properties {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
