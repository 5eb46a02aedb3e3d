package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/koan-go/koan/framework/fault"
)

// check validates input against a JSON Schema and reports every violation.
func (s *schemas) check(schema, input json.RawMessage) error {
	compiled, err := s.get(schema)
	if err != nil {
		return fault.New(fault.SchemaUnavailable, "").Because(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(input))
	if err != nil {
		return fault.Invalid(fault.Detail{Message: "the input is not JSON: " + err.Error()})
	}
	err = compiled.Validate(value)
	var v *jsonschema.ValidationError
	if !errors.As(err, &v) {
		return err
	}
	return fault.Invalid(violations(v)...)
}

func (s *schemas) get(schema json.RawMessage) (*jsonschema.Schema, error) {
	key := string(schema)
	if c, ok := s.compiled.Load(key); ok {
		return c.(*jsonschema.Schema), nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{}) // a schema must not make us read files or the network
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	compiled, err := c.Compile("schema.json")
	if err != nil {
		return nil, err
	}
	s.compiled.Store(key, compiled)
	return compiled, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, fmt.Errorf("no schema at %q", url) }

var english = message.NewPrinter(language.English)

// violations flattens the tree of a validation error into its leaves.
func violations(v *jsonschema.ValidationError) []fault.Detail {
	if len(v.Causes) == 0 {
		d := fault.Detail{Path: pointer(v.InstanceLocation), Message: v.ErrorKind.LocalizedString(english)}
		if t, ok := v.ErrorKind.(*kind.Type); ok {
			d.Expected, d.Received = strings.Join(t.Want, " or "), t.Got
		}
		return []fault.Detail{d}
	}
	var out []fault.Detail
	for _, c := range v.Causes {
		out = append(out, violations(c)...)
	}
	return out
}

func pointer(parts []string) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteByte('/')
		b.WriteString(strings.NewReplacer("~", "~0", "/", "~1").Replace(p))
	}
	return b.String()
}
