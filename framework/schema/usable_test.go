package schema

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// Only what cannot be used is left out, and nothing becomes invalid by it.
func TestUsableLeavesOutAsLittleAsPossible(t *testing.T) {
	const draft7 = `"$schema":"http://json-schema.org/draft-07/schema#",`
	property := func(text string) string {
		return `{"type":"object","properties":{"a":` + text + `,"b":{"type":"integer"}}}`
	}
	for schema, want := range map[string]struct{ left, path string }{
		property(`{"type":"string","pattern":"^(?!-)[a-z]+$"}`):                             {property(`{"type":"string"}`), "/properties/a/pattern"},
		property(`{"type":"string","pattern":"^(a)\\1$"}`):                                  {property(`{"type":"string"}`), "/properties/a/pattern"},
		property(`{"type":"string","pattern":"^.{1,2000}$"}`):                               {property(`{"type":"string"}`), "/properties/a/pattern"},
		property(`{"type":"number","exclusiveMinimum":"0","minimum":0}`):                    {property(`{"type":"number","minimum":0}`), "/properties/a/exclusiveMinimum"},
		property(`{"type":"string","required":true}`):                                       {property(`{"type":"string"}`), "/properties/a/required"},
		`{` + draft7 + `"properties":{"a":{"enum":[]}}}`:                                    {`{` + draft7 + `"properties":{"a":{}}}`, "/properties/a/enum"},
		property(`{"$ref":"#/$defs/none"}`):                                                 {property(`{}`), "/properties/a/$ref"},
		property(`{"$ref":"https://example.org/x.json","title":"x"}`):                       {property(`{"title":"x"}`), "/properties/a/$ref"},
		`{"$schema":"https://example.com/my-schema","type":"object"}`:                       {`{"type":"object"}`, "/$schema"},
		`{"type":"nonsense","minProperties":1}`:                                             {`{"minProperties":1}`, "/type"},
		`{"required":["a",5]}`:                                                              {`{}`, "/required/1"},
		property(`5`):                                                                       {property(`{}`), "/properties/a"},
		`{"properties":{"properties":{"properties":{"pattern":{"type":"x"}}}}}`:             {`{"properties":{"properties":{"properties":{"pattern":{}}}}}`, "/properties/properties/properties/pattern/type"},
		`{` + draft7 + `"items":{"items":{"pattern":"(?=a)","maxLength":2}}}`:               {`{` + draft7 + `"items":{"items":{"maxLength":2}}}`, "/items/items/pattern"},
		`{` + draft7 + `"items":{"items":{"maxLength":-2,"minLength":1}}}`:                  {`{` + draft7 + `"items":{"items":{"minLength":1}}}`, "/items/items/maxLength"},
		`{"not":{"pattern":"(?=a)"},"maxLength":2}`:                                         {`{"maxLength":2}`, "/not/pattern"},
		`{"oneOf":[{"pattern":"(?=a)"},{"maxLength":1}],"minLength":1}`:                     {`{"minLength":1}`, "/oneOf/0/pattern"},
		`{"anyOf":[{"pattern":"(?=a)"},{"maxLength":1}]}`:                                   {`{"anyOf":[{},{"maxLength":1}]}`, "/anyOf/0/pattern"},
		`{"patternProperties":{"(?=a)":{}},"additionalProperties":false,"minProperties":1}`: {`{"minProperties":1}`, "/patternProperties"},
	} {
		got, left, err := Usable(json.RawMessage(schema))
		require.NoError(t, err, schema)
		require.JSONEq(t, want.left, string(got), schema)
		require.NotEmpty(t, left, schema)
		require.Equal(t, want.path, left[0].Path, schema)
		require.NotEmpty(t, left[0].Message, schema)
	}
	for _, nothing := range []string{`5`, `[]`, `{`} {
		_, _, err := Usable(json.RawMessage(nothing))
		require.Error(t, err, nothing)
	}
	got, left, err := Usable(json.RawMessage(`{ "type": "object" }`))
	require.NoError(t, err)
	require.Equal(t, []any{`{ "type": "object" }`, []fault.Detail(nil)}, []any{string(got), left}, "one that can be used is unchanged")
}
