package codemode

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

func TestExplained(t *testing.T) {
	op := &catalog.Operation{
		Contract: catalog.Contract{
			Input: json.RawMessage(`{"type":"object","properties":{"id":{"type":["string","integer"]},"level":{"enum":["low","high"]},
			"list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}}}},"free":{"type":"object"}}}`),
			Example: json.RawMessage(`{"id":"1"}`),
		},
	}
	for name, c := range map[string]struct {
		input              string
		detail             fault.Detail
		expected, received string
	}{
		"missing":           {`{}`, fault.Detail{Path: "/id", Message: "id is required"}, "string or integer", "nothing"},
		"unknown":           {`{"idd":"x"}`, fault.Detail{Path: "/idd", Message: "unknown input"}, "one of free, id, level, list", `string "x"`},
		"of an enum":        {`{"level":"lo"}`, fault.Detail{Path: "/level", Message: "no"}, `"low" or "high"`, `string "lo"`},
		"in a list":         {`{"list":[{"n":1},{"n":"1"}]}`, fault.Detail{Path: "/list/1/n", Message: "no"}, "integer", `string "1"`},
		"not in the schema": {`{"free":{"nme":true}}`, fault.Detail{Path: "/free/nme", Message: "unknown field \"nme\""}, "a name that exists", "boolean true"},
		"the whole":         {`{"id":"1"}`, fault.Detail{Message: "neither a nor b is given"}, "neither a nor b is given", "object"},
		"said already":      {`{"id":true}`, fault.Detail{Path: "/id", Message: "no", Expected: "id", Received: "a boolean"}, "id", "a boolean"},
		"escaped":           {`{"free":{"a/b":null}}`, fault.Detail{Path: "/free/a~1b", Message: "is null"}, "is null", "null"},
		"beyond a list":     {`{"list":[]}`, fault.Detail{Path: "/list/7/n", Message: "no"}, "integer", "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fault.From(explainInput(fault.Invalid(c.detail), op, json.RawMessage(c.input)))
			require.Contains(t, f.Hint, `{"id":"1"}`)
			d := f.Details.([]fault.Detail)[0]
			require.Equal(t, []string{c.detail.Path, c.expected, c.received}, []string{d.Path, d.Expected, d.Received})
		})
	}
	f := fault.From(explainInput(fault.New(fault.InvalidPayload, "all of it").WithPath("/id"), op, json.RawMessage(`{"id":5}`)))
	require.Equal(t, []fault.Detail{{Path: "/id", Message: "all of it", Expected: "string or integer", Received: "number 5"}}, f.Details)

	other := errors.New("other")
	require.Equal(t, other, explainInput(other, op, nil))
	about := map[string]any{"import": "x"}
	require.Equal(t, about, fault.From(explainInput(fault.New(fault.InvalidPayload, "").WithDetails(about), op, nil)).Details)
}

// The examples of a schema are shown, of the whole input or of the value that is wrong.
func TestSchemaExamplesAreShown(t *testing.T) {
	for name, c := range map[string]struct{ schema, shown string }{
		"of the input":     {`{"examples":[{"q":"is:open"},{}],"properties":{"q":{"examples":["x"]}}}`, ` An input as the schema shows it: {"q":"is:open"}`},
		"of the value":     {`{"properties":{"q":{"examples":["is:open","x"]}}}`, ` An example of /q: "is:open"`},
		"as OpenAPI has":   {`{"properties":{"q":{"example":0}}}`, ` An example of /q: 0`},
		"none":             {`{"properties":{"q":{"examples":[]}}}`, ""},
		"of another value": {`{"properties":{"p":{"examples":["x"]}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := fault.From(explainInput(fault.Invalid(fault.Detail{Path: "/q", Message: "no"}), &catalog.Operation{Contract: catalog.Contract{Input: json.RawMessage(c.schema)}}, json.RawMessage(`{"q":true}`)))
			require.Equal(t, fault.New(fault.InvalidPayload, "").Hint+c.shown, f.Hint)
		})
	}
}

// FuzzExplained checks that expected and received are reported for any input and path.
func FuzzExplained(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"x"}]}`), "/a/1/b", []byte(`{"properties":{"a":{"items":{"properties":{"b":{"type":["string","null"]}}}}}}`))
	f.Add([]byte(`[]`), "/~1/~0/-1", []byte(`{"properties":{"/":{"enum":[null,{}]}}}`))
	f.Add([]byte(`{`), "a//", []byte(`{"items":{"items":false},"type":7}`))
	f.Fuzz(func(t *testing.T, input []byte, path string, schema []byte) {
		err := explainInput(fault.Invalid(fault.Detail{Path: path, Message: "it is wrong"}), &catalog.Operation{Contract: catalog.Contract{Input: schema}}, input)
		d := fault.From(err).Details.([]fault.Detail)[0]
		require.NotEmpty(t, d.Expected)
		require.NotEmpty(t, d.Received)
	})
}
