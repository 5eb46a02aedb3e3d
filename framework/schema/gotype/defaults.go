package gotype

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// admitDefaults takes members with a default from those that are required.
func admitDefaults(s *jsonschema.Schema) {
	if s.Properties == nil {
		return
	}
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool {
		p, ok := s.Properties.Get(name)
		return ok && p.Default != nil
	})
}

// WithDefaults returns an input with the defaults of its schema for members that it does not have, at
// any depth.
func WithDefaults(schema, raw json.RawMessage) (json.RawMessage, error) {
	if !bytes.Contains(schema, []byte(`"default"`)) {
		return raw, nil
	}
	var root map[string]any
	if err := decodeNumbers(schema, &root); err != nil {
		return nil, err
	}
	var value any
	if err := decodeNumbers(raw, &value); err != nil {
		return nil, err
	}
	defs, _ := root["$defs"].(map[string]any)
	fillIn(defs, root, value)
	return json.Marshal(value)
}

// decodeNumbers keeps the digits of numbers.
func decodeNumbers(raw json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(into)
}

func fillIn(defs map[string]any, schema, value any) {
	s, _ := schema.(map[string]any)
	if ref, ok := s["$ref"].(string); ok {
		s, _ = defs[strings.TrimPrefix(ref, refPrefix)].(map[string]any)
	}
	if either, ok := s["anyOf"].([]any); ok && value != nil { // of admitNull
		fillIn(defs, either[0], value)
		return
	}
	switch v := value.(type) {
	case []any:
		for i := range v {
			fillIn(defs, s["items"], v[i])
		}
	case map[string]any:
		properties, _ := s["properties"].(map[string]any)
		for name, of := range properties {
			p, _ := of.(map[string]any)
			if otherwise, ok := p["default"]; ok {
				if _, has := v[name]; !has {
					v[name] = otherwise
				}
			}
		}
		for name, member := range v {
			if of, ok := properties[name]; ok {
				fillIn(defs, of, member)
			} else {
				fillIn(defs, s["additionalProperties"], member)
			}
		}
	}
}
