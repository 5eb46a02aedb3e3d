package typegen

import (
	"encoding/json"
	"slices"
	"strings"
)

// schemas writes types for the schemas in one document: the input or the output of a function.
type schemas struct {
	*generator
	name  string                                  // what the names of its types begin with
	write func(name string, of schema, depth int) // the type of an object with properties; nil has no types of their own
	doc   json.RawMessage
	root  any               // doc, once something in it refers to a part of it
	named map[string]string // pointer -> the type of what stands there
	nodes int
}

// inputs and outputs are the schemas of a document of what a script gives, or gets.
func (g *generator) inputs(name string, doc json.RawMessage) *schemas {
	s := &schemas{generator: g, name: name, doc: doc, named: map[string]string{}}
	s.write = s.dict
	return s
}

func (g *generator) outputs(name string, doc json.RawMessage) *schemas {
	s := &schemas{generator: g, name: name, doc: doc, named: map[string]string{}}
	s.write = s.row
	return s
}

// schema is what is read of a JSON Schema. Whatever else one says makes a type no narrower.
type schema struct {
	Type       json.RawMessage            `json:"type"`
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
	Items      json.RawMessage            `json:"items"`
	Enum       []json.RawMessage          `json:"enum"`
	Const      json.RawMessage            `json:"const"`
	Ref        string                     `json:"$ref"`
	AnyOf      []json.RawMessage          `json:"anyOf"`
	OneOf      []json.RawMessage          `json:"oneOf"`
	AllOf      []json.RawMessage          `json:"allOf"`
}

// maxDepth bounds how deep types are written, and maxNodes how many schemas of a document are read.
const (
	maxDepth = 5
	maxNodes = 4000
)

// anything is the type of what a schema does not say.
const anything = "Any"

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
func (s *schemas) input() given {
	of, _ := s.whole()
	if len(of.Properties) == 0 {
		if kind := s.either(s.name, of, 0); kind != anything {
			return given{whole: kind, open: true}
		}
		return given{whole: "Mapping[_str, Any]", open: true}
	}
	whole := s.object("#", s.name, of, 0)
	var b strings.Builder
	for _, p := range sorted(of.Properties) {
		if isIdentifier(p) && p != "self" && p != "_given" && p != "_leading" {
			b.WriteString(", " + p + ": " + s.kind(s.name+pascal(p), of.Properties[p], 1) + " = ...")
		}
	}
	return given{whole: whole, keywords: b.String()}
}

// inlineInput returns the parameters of a function in a description: keywords, those that may be left out with a default.
// An input that has none, or a member that is no keyword, is taken as one dict.
func (s *schemas) inlineInput(leading []string) string {
	of, ok := s.whole()
	names := sorted(of.Properties)
	if !ok || len(names) == 0 {
		return ", **members: Any"
	}
	if slices.ContainsFunc(names, func(p string) bool { return !isIdentifier(p) || p == "self" }) {
		return ", input: " + s.object("#", s.name, of, 0) + ", /"
	}
	var b strings.Builder
	optional := false // as all behind one that is must be
	for _, p := range leading {
		if i := slices.Index(names, p); i >= 0 {
			optional = optional || !slices.Contains(of.Required, p)
			b.WriteString(s.parameter(p, of, optional))
			names = slices.Delete(names, i, i+1)
		}
	}
	if len(names) > 0 {
		b.WriteString(", *")
	}
	for _, p := range names {
		b.WriteString(s.parameter(p, of, !slices.Contains(of.Required, p)))
	}
	return b.String()
}

// parameter returns that of a member of an input, behind a comma.
func (s *schemas) parameter(member string, of schema, optional bool) string {
	text := ", " + member + ": " + s.kind(s.name+pascal(member), of.Properties[member], 1)
	if optional {
		text += "=..."
	}
	return text
}

// output returns the type of a function's output.
func (s *schemas) output() string {
	if len(s.doc) == 0 {
		return anything
	}
	if of, ok := read(s.doc); ok && of.isObject() {
		return s.object("#", s.name, of, 0)
	}
	return s.kind(s.name, s.doc, 0)
}

// isObject reports whether a schema is that of an object with properties, and of nothing else.
func (of schema) isObject() bool {
	return len(of.Properties) > 0 && of.Ref == "" && len(of.Enum) == 0 && len(of.Const) == 0 && slices.Equal(of.typesOf(), []string{"object"})
}

// object writes the type of an object with properties, and returns its name. pointer is where it stands, "" where nothing
// refers to it.
func (s *schemas) object(pointer, name string, of schema, depth int) string {
	if s.write == nil {
		return "dict"
	}
	name = s.unique(name)
	if pointer != "" {
		s.named[pointer] = name // before its members, which may be of this type
	}
	s.write(name, of, depth)
	return name
}

// kind returns the type of a schema. A value must fit all that its schema says, so what says something first is its type.
func (s *schemas) kind(name string, raw json.RawMessage, depth int) string {
	of, ok := read(raw)
	s.nodes++
	switch {
	case !ok, depth > maxDepth, s.nodes > maxNodes:
		return anything
	case len(of.Enum) > 0:
		return enumeration(of.Enum)
	case len(of.Const) > 0:
		return enumeration([]json.RawMessage{of.Const})
	}
	if kind := s.reference(of.Ref); kind != anything {
		return kind
	}
	if kind := s.own(name, of, depth); kind != anything {
		return kind
	}
	return s.either(name, of, depth)
}

// own returns the type by the names of types that a schema has.
func (s *schemas) own(name string, of schema, depth int) string {
	var parts []string
	for _, t := range of.typesOf() {
		part := anything
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
				part = "_list[" + s.kind(name+"Item", of.Items, depth+1) + "]"
			}
		case "object":
			if len(of.Properties) > 0 {
				part = s.object("", name, of, depth)
			}
		}
		parts = append(parts, part)
	}
	return union(parts)
}

// either returns the type of a schema that is one of several, or another one alone.
func (s *schemas) either(name string, of schema, depth int) string {
	several := [][]json.RawMessage{of.AnyOf, of.OneOf}
	if len(of.AllOf) == 1 {
		several = append(several, of.AllOf)
	}
	for _, list := range several {
		parts := make([]string, len(list))
		for i, one := range list {
			parts[i] = s.kind(name, one, depth)
		}
		if kind := union(parts); kind != anything {
			return kind
		}
	}
	return anything
}

// union returns the type of what has one of some types.
func union(parts []string) string {
	var different []string
	for _, part := range parts {
		if !slices.Contains(different, part) {
			different = append(different, part)
		}
	}
	switch {
	case len(different) == 0 || slices.Contains(different, anything):
		return anything
	case len(different) == 1:
		return different[0]
	}
	return "Union[" + strings.Join(different, ", ") + "]"
}

// dict writes the type of an object that a script gives.
func (s *schemas) dict(name string, of schema, depth int) {
	var b strings.Builder
	b.WriteString(name + " = TypedDict(" + quote(name) + ", {")
	for _, p := range sorted(of.Properties) {
		if p == "" { // pyright takes no member without a name
			continue
		}
		b.WriteString(quote(p) + ": " + s.kind(name+pascal(p), of.Properties[p], depth+1) + ", ")
	}
	b.WriteString("}, total=False)\n")
	s.types.WriteString(b.String())
}

// row writes the class of an object that a script gets.
func (s *schemas) row(name string, of schema, depth int) {
	base := "_Row"
	if s.inline {
		base = "Row"
	}
	var b strings.Builder
	for _, p := range sorted(of.Properties) {
		if slices.Contains(ofDict, p) && !s.inline {
			base = "_Members"
		}
		kind := s.kind(name+pascal(p), of.Properties[p], depth+1)
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
