package codemode

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// member is one member of a code tool's input: its schema, and a check that returns the
// problem of a value, "" for none.
type member struct {
	name     string
	schema   map[string]any
	required bool
	check    func(v any) (message, expected string)
	// inside returns the problems of the parts of a value that passed check; their paths
	// are below the member's.
	inside     func(v any) []fault.Detail
	mayBeEmpty bool // an empty text says something, if only that it is wrong
	// alias returns the value that another stands for, such as ts for typescript.
	alias func(v any) any
}

// members are the members of an input object, which must not have others.
type members []member

// schema is the input's JSON Schema.
func (ms members) schema() json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for _, m := range ms {
		properties[m.name] = m.schema
		if m.required {
			required = append(required, m.name)
		}
	}
	s := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic("codemode: a schema is not JSON: " + err.Error())
	}
	return raw
}

// given returns the members of an input as they stand there, but for optional ones that are null, or an
// empty text where a text is meant: some models send every member that a schema has. An empty script is
// one, and so are empty args, and who sends an empty key would not expect to run twice.
func (ms members) given(input json.RawMessage) (map[string]json.RawMessage, error) {
	in, err := given(input)
	for _, m := range ms {
		kind, typed := m.schema["type"]
		switch raw := string(in[m.name]); {
		case m.required:
		case raw == "null", raw == `""` && typed && kind == "string" && !m.mayBeEmpty:
			delete(in, m.name)
		}
	}
	return in, err
}

// codeName is the member that has the script.
const codeName = "code"

// given returns the members of an input.
func given(input json.RawMessage) (map[string]json.RawMessage, error) {
	in, err := exact.Members(input)
	var twice *exact.Repeated
	switch {
	case errors.As(err, &twice):
		return nil, fault.Invalid(fault.Detail{Path: twice.Path, Message: "the name appears twice"})
	case err != nil:
		return nil, fault.Invalid(fault.Detail{Message: "the input must be a JSON object", Expected: "object"})
	}
	if path, found := exact.Malformed(input); found {
		return nil, fault.Invalid(fault.Detail{Path: path, Message: exact.NotText})
	}
	return in, nil
}

// read returns the values of an input.
func (ms members) read(input json.RawMessage) (values, error) {
	in, err := ms.given(input)
	if err != nil {
		return nil, err
	}
	return ms.values(in)
}

// values returns the values of members that were given. It reports everything that is wrong
// with them as one invalid_payload.
func (ms members) values(in map[string]json.RawMessage) (values, error) {
	out := values{}
	for name, raw := range in {
		var v any
		if err := json.Unmarshal(raw, &v); err != nil { // a number that is out of range
			return nil, fault.Invalid(fault.Detail{Message: "the input must be a JSON object", Expected: "object"})
		}
		out[name] = v
	}
	var wrong []fault.Detail
	names := make([]string, len(ms))
	for i, m := range ms {
		names[i] = m.name
		v, ok := out[m.name]
		switch {
		case !ok && m.required:
			wrong = append(wrong, fault.Detail{Path: "/" + m.name, Message: quoted(m.name) + " is missing", Expected: m.schema["type"].(string)})
		case ok:
			if m.alias != nil {
				v = m.alias(v)
				out[m.name] = v
			}
			wrong = append(wrong, m.problems(v)...)
		}
	}
	for name := range in {
		if !slices.Contains(names, name) && len(wrong) < fault.MaxFound {
			wrong = append(wrong, fault.Detail{Path: "/" + escape(name), Message: "there is no member " + quoted(name) + fault.DidYouMean(name, names)})
		}
	}
	if len(wrong) == 0 {
		return out, nil
	}
	sort.SliceStable(wrong, func(i, j int) bool { return wrong[i].Path < wrong[j].Path })
	return nil, fault.Invalid(wrong...)
}

// values are the members of a valid input, by name. What is absent has the zero value.
type values map[string]any

func (v values) text(name string) string {
	s, _ := v[name].(string)
	return s
}

func (v values) flag(name string) bool { return v[name] == true }

func (v values) number(name string) float64 {
	n, _ := v[name].(float64)
	return n
}

// texts returns nil only for what is absent.
func (v values) texts(name string) []string {
	list, ok := v[name].([]any)
	if !ok {
		return nil
	}
	out := make([]string, len(list))
	for i, one := range list {
		out[i] = one.(string)
	}
	return out
}

func (v values) limits() ownLimits {
	given, _ := v["limits"].(map[string]any)
	l := values(given)
	return ownLimits{
		TimeoutMs: l.number("timeoutMs"), MaxMemoryBytes: l.number("maxMemoryBytes"),
		MaxLogBytes: l.number("maxLogBytes"), MaxToolCalls: l.number("maxToolCalls"),
	}
}

// problems returns the problems of a value of the member.
func (m member) problems(v any) []fault.Detail {
	path := "/" + m.name
	if m.check != nil {
		if message, expected := m.check(v); message != "" {
			return []fault.Detail{{Path: path, Message: quoted(m.name) + " " + message, Expected: expected, Received: typeOf(v)}}
		}
	}
	if m.inside == nil {
		return nil
	}
	found := m.inside(v)
	for i := range found {
		found[i].Path = path + found[i].Path
	}
	return found
}

func escape(name string) string {
	return fault.Step(shorten(name))
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// described adds a description if it says more than the name and the type: every client
// reads it in every conversation.
func described(description string, schema map[string]any) map[string]any {
	if description != "" {
		schema["description"] = description
	}
	return schema
}

func text(name, description string) member {
	return member{name: name, schema: described(description, map[string]any{"type": "string"}), check: isString}
}

// filled is a name that must not be empty: an empty one would be taken for a missing
// member.
func filled(name, description string) member {
	m := text(name, description)
	m.check = func(v any) (string, string) {
		if v == "" {
			return "must not be empty", "string"
		}
		return isName(v)
	}
	return m
}

// maxName is how long a string may be that names something, in characters: a key, a set,
// a function. Such strings are kept with the run.
const maxName = 200

// named is a string that names something.
func named(name, description string) member {
	m := text(name, description)
	m.check = isName
	return m
}

func isName(v any) (string, string) {
	if s, ok := v.(string); ok && utf8.RuneCountInString(s) > maxName {
		return "must have at most " + strconv.Itoa(maxName) + " characters", "string"
	}
	return isString(v)
}

func isString(v any) (string, string) {
	if _, ok := v.(string); !ok {
		return "must be a string", "string"
	}
	return "", ""
}

func flag(name, description string, standard bool) member {
	schema := described(description, map[string]any{"type": "boolean"})
	if standard {
		schema["default"] = true
	}
	return member{
		name: name, schema: schema,
		check: func(v any) (string, string) {
			if _, ok := v.(bool); !ok {
				return "must be true or false", "boolean"
			}
			return "", ""
		},
	}
}

func choice(name, description string, values ...string) member {
	return member{
		name: name, schema: described(description, map[string]any{"type": "string", "enum": values}),
		check: func(v any) (string, string) { return oneOf(v, values) },
	}
}

func oneOf(v any, values []string) (string, string) {
	expected := strings.Join(values, " or ")
	s, ok := v.(string)
	if !ok {
		return "must be a string", expected
	}
	if !slices.Contains(values, s) {
		near := fault.DidYouMean(s, values)
		switch {
		case near != "":
		case len(values) == 1:
			near = "; it can only be " + quoted(values[0])
		default:
			near = "; it is one of " + strings.Join(values, ", ")
		}
		return "cannot be " + quoted(s) + near, expected
	}
	return "", ""
}

// texts is a list of strings, of certain values where any are given.
func texts(name, description string, values ...string) member {
	items := map[string]any{"type": "string"}
	if len(values) > 0 {
		items["enum"] = values
	}
	return member{
		name: name, schema: described(description, map[string]any{"type": "array", "items": items}),
		check: func(v any) (string, string) {
			if _, ok := v.([]any); !ok {
				return "must be a list", "array"
			}
			return "", ""
		},
		inside: func(v any) (wrong []fault.Detail) {
			for i, one := range v.([]any) {
				if len(wrong) >= fault.MaxFound {
					break
				}
				message, expected := isName(one)
				if len(values) > 0 {
					message, expected = oneOf(one, values)
				}
				if message != "" {
					at := strconv.Itoa(i)
					wrong = append(wrong, fault.Detail{Path: "/" + at, Message: "item " + at + " of " + quoted(name) + " " + message, Expected: expected, Received: typeOf(one)})
				}
			}
			return wrong
		},
	}
}

// anyValue is any JSON that the engine accepts.
func anyValue(name, description string) member {
	return member{name: name, schema: described(description, map[string]any{}), check: func(v any) (string, string) {
		if deeper(v, exact.MaxDepth) {
			return "is nested deeper than " + strconv.Itoa(exact.MaxDepth) + " levels", ""
		}
		return "", ""
	}}
}

func deeper(v any, levels int) bool {
	below := func(v any) bool { return levels == 0 || deeper(v, levels-1) }
	switch v := v.(type) {
	case []any:
		return levels == 0 || slices.ContainsFunc(v, below)
	case map[string]any:
		for _, one := range v {
			if below(one) {
				return true
			}
		}
		return levels == 0
	}
	return false
}

// whole is a whole number from 1 to most.
func whole(name, description string, standard, most int) member {
	schema := described(description, map[string]any{"type": "integer", "minimum": 1})
	if standard > 0 {
		schema["default"] = standard
	}
	if most > 0 {
		schema["maximum"] = most
	}
	return member{name: name, schema: schema, check: func(v any) (string, string) {
		f, ok := v.(float64)
		switch {
		case !ok || f != math.Trunc(f):
			return "must be a whole number", "integer"
		case f < 1:
			return "must be at least 1", "integer"
		case most > 0 && f > float64(most):
			return "must be at most " + strconv.Itoa(most), "integer"
		}
		return "", ""
	}}
}
