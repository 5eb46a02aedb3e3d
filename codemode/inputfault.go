package codemode

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// explainInput adds to the fault of an invalid input what is needed to correct it
// (codemode-run-spec section 7.2): for each problem what was expected and what was
// received, and an input that works. Any other error is returned unchanged.
func explainInput(err error, op *catalog.Operation, input json.RawMessage) error {
	if fault.CodeOf(err) != fault.InvalidPayload || op == nil {
		return err
	}
	f := *fault.From(err)
	if f.IsByRule() { // another input may be refused as well
		return err
	}
	var given, schema any
	// Input that is not JSON has no paths.
	_ = json.Unmarshal(input, &given)
	_ = json.Unmarshal(op.Input, &schema)
	wrong, ok := detailsOf(&f)
	if len(op.Example) > 0 {
		f.Hint += " An input that works: " + string(op.Example)
	} else {
		f.Hint += exampleOf(schema, wrong)
	}
	if !ok {
		return &f
	}
	for i := range wrong {
		d := &wrong[i]
		v, found := fault.At(given, d.Path)
		if d.Expected == "" {
			d.Expected = expectation(schema, d, v, found)
		}
		if d.Received == "" {
			d.Received = receipt(v, found)
		}
	}
	f.Details = wrong
	return &f
}

// maxShown bounds an example in a hint, in bytes.
const maxShown = 1000

// exampleOf returns the example that a schema has of an input, or of the first value that is wrong, as a
// sentence; "" if it has none. It may be the text of a server that nobody vouches for.
func exampleOf(schema any, wrong []fault.Detail) string {
	root, _ := schema.(map[string]any)
	if text := shownExample(root); text != "" {
		return " An input as the schema shows it: " + text
	}
	for _, d := range wrong {
		s, _ := schemaAt(schema, d.Path)
		if text := shownExample(s); text != "" {
			return " An example of " + d.Path + ": " + text
		}
	}
	return ""
}

// shownExample returns the first of the examples that a schema has, as JSON.
func shownExample(s map[string]any) string {
	example, ok := s["example"] // of OpenAPI
	if all, _ := s["examples"].([]any); len(all) > 0 {
		example, ok = all[0], true
	}
	raw, err := json.Marshal(example)
	if !ok || err != nil || len(raw) > maxShown {
		return ""
	}
	return string(raw)
}

// detailsOf returns the details of an invalid input, which come from a plugin as plain
// JSON; ok is false if they are about something else.
func detailsOf(f *fault.Fault) (wrong []fault.Detail, ok bool) {
	raw, err := json.Marshal(f.Details)
	if err != nil || json.Unmarshal(raw, &wrong) != nil {
		return nil, false
	}
	if len(wrong) == 0 {
		wrong = []fault.Detail{{Path: f.Path, Message: f.Message}}
	}
	return wrong, true
}

// expectation says what is expected at a path: by the schema, else in the words of the
// detail itself.
func expectation(schema any, d *fault.Detail, v any, found bool) string {
	s, parent := schemaAt(schema, d.Path)
	if words := schemaWords(s); words != "" && (!found || words != typeOf(v)) {
		return words
	}
	if members, ok := parent["properties"].(map[string]any); ok && s == nil && found {
		names := make([]string, 0, len(members))
		for name := range members {
			names = append(names, name)
		}
		slices.Sort(names)
		return "one of " + strings.Join(names, ", ")
	}
	if strings.HasPrefix(d.Message, "unknown ") {
		return "a name that exists"
	}
	return d.Message
}

// receipt names what was received at a path.
func receipt(v any, found bool) string {
	if !found {
		return "nothing"
	}
	if s, ok := v.(string); ok {
		return "string " + quoted(s)
	}
	switch v.(type) {
	case float64, bool:
		if raw, err := json.Marshal(v); err == nil {
			return typeOf(v) + " " + string(raw)
		}
	}
	return typeOf(v)
}

// schemaAt returns the schema of the value at a JSON Pointer, nil if there is none, and
// the schema of the object around it.
func schemaAt(schema any, path string) (at, parent map[string]any) {
	at, _ = schema.(map[string]any)
	for _, step := range fault.Steps(path) {
		parent = at
		properties, _ := at["properties"].(map[string]any)
		next, ok := properties[step]
		if !ok {
			next, ok = at["items"]
			if _, index := strconv.Atoi(step); index != nil || !ok {
				next = at["additionalProperties"]
			}
		}
		if at, _ = next.(map[string]any); at == nil {
			return nil, parent
		}
	}
	return at, parent
}

// schemaWords describes what a schema accepts in a few words, "" if that is not possible.
func schemaWords(s map[string]any) string {
	if values, ok := s["enum"].([]any); ok {
		words := make([]string, 0, len(values))
		for _, v := range values {
			if raw, err := json.Marshal(v); err == nil {
				words = append(words, string(raw))
			}
		}
		return strings.Join(words, " or ")
	}
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		var words []string
		for _, one := range t {
			if word, ok := one.(string); ok {
				words = append(words, word)
			}
		}
		return strings.Join(words, " or ")
	}
	return ""
}
