// Package schema validates JSON by JSON Schema 2020-12, and reports all violations in
// plain words.
//
// What belongs here: compiling, validating and reporting violations. Not here:
// which schema anything has.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

// Cache compiles each schema once. Its zero value is ready, and safe for concurrent
// use.
type Cache struct {
	// AssertFormats has values checked against Formats and contentEncoding too, as inputs of
	// an app's own functions are. Otherwise both only describe a value.
	AssertFormats bool

	compiled sync.Map
}

// Check validates input against a schema and reports every violation as one
// invalid_payload. An invalid schema returns schema_unavailable.
func (c *Cache) Check(schema, input json.RawMessage) error {
	wrong, err := c.Violations(schema, input)
	if err != nil {
		return fault.New(fault.SchemaUnavailable, "").Because(err)
	}
	if len(wrong) == 0 {
		return nil
	}
	f := fault.Invalid(wrong...)
	if only := wrong[0]; len(wrong) == 1 && only.Path != "" && lacksSubject(only.Message) {
		f.Message = fault.Subject(only.Path) + " " + only.Message
	}
	return f
}

// Violations returns the violations of a value, none if it is valid. The error is about
// the schema: it does not compile.
func (c *Cache) Violations(schema, value json.RawMessage) ([]fault.Detail, error) {
	known, err := c.get(schema)
	if err != nil {
		return nil, err
	}
	return check(known, value)
}

// Compile returns why a schema is not valid, nil for one that can be used.
func (c *Cache) Compile(schema json.RawMessage) error {
	_, err := c.get(schema)
	return err
}

// Check is Cache.Check, formats included, for a schema that is used once.
func Check(schema, input json.RawMessage) error {
	return (&Cache{AssertFormats: true}).Check(schema, input)
}

func check(known *compiled, raw json.RawMessage) ([]fault.Detail, error) {
	var twice *exact.Repeated
	err := exact.Once(raw)
	switch {
	case errors.As(err, &twice): // who reads it next may take the other one
		return []fault.Detail{{Path: twice.Path, Message: "the name appears twice"}}, nil
	case err != nil:
		return []fault.Detail{{Message: "must be JSON: " + err.Error()}}, nil
	}
	if path, found := exact.Malformed(raw); found {
		return []fault.Detail{{Path: path, Message: exact.NotText}}, nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return []fault.Detail{{Message: "must be JSON: " + err.Error()}}, nil
	}
	if path, bad := hugeNumber(value); bad {
		return []fault.Detail{{Path: path, Message: "the number is out of range"}}, nil
	}
	err = known.Validate(value)
	var v *jsonschema.ValidationError
	if errors.As(err, &v) {
		return (&reader{doc: known.doc, names: properties(known.Schema)}).violations(v), nil
	}
	return nil, err
}

// maxExponent is beyond what a float64 holds. The validator computes with exact
// numbers: a few bytes such as 1e-999999999 would fill the memory.
const maxExponent = 400

// hugeNumber finds a number that no float64 can hold, and its path.
func hugeNumber(v any) (path string, bad bool) {
	switch v := v.(type) {
	case json.Number:
		mantissa, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		e, err := strconv.Atoi(exponent)
		return "", len(mantissa) > maxExponent || exponent != "" && (err != nil || e > maxExponent || e < -maxExponent)
	case []any:
		for i, item := range v {
			if path, bad = hugeNumber(item); bad {
				return "/" + strconv.Itoa(i) + path, true
			}
		}
	case map[string]any:
		for key, item := range v {
			if path, bad = hugeNumber(item); bad {
				return pointer([]string{key}) + path, true
			}
		}
	}
	return "", false
}

// compiled is a schema, and the document that it was made of.
type compiled struct {
	*jsonschema.Schema
	doc any
}

func (c *Cache) get(schema json.RawMessage) (*compiled, error) {
	key := string(schema)
	if known, ok := c.compiled.Load(key); ok {
		return known.(*compiled), nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{}) // a schema must not make us read files or the network
	useDialect(compiler, doc)
	useFormats(compiler, doc, c.AssertFormats)
	if err := compiler.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	made, err := compiler.Compile("schema.json")
	if err != nil {
		return nil, err
	}
	known := &compiled{made, doc}
	c.compiled.Store(key, known)
	return known, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("no schema at %q", url) }

// properties are the names that a schema knows at its top level, sorted.
func properties(s *jsonschema.Schema) []string {
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func pointer(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(fault.Step(p))
	}
	return b.String()
}
