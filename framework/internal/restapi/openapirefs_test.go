package restapi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

// odd has references of all kinds, names that look like keywords, and data that looks like schemas.
const odd = `{"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://example.com/odd.json","type":"object",
"definitions":{"a b":{"type":"object","properties":{"next":{"$ref":"#/definitions/a b"},"root":{"$ref":"#"}}},"a_b":{"$id":"#anchor","type":["integer","string"]}},
"properties":{"type":{"type":"integer"},"$ref":{"type":"string"},"properties":{"type":["number","null"]},"foo-bar":true,"foo_bar":false,
"prop":{"$ref":"#/properties/map/additionalProperties"},"map":{"type":"object","additionalProperties":{"type":"integer"}},"tree":{"$ref":"#/definitions/a b"},
"anchored":{"$ref":"#anchor"},"nowhere":{"$ref":"https://example.com/other.json"},"default":{"default":{"type":"integer"},"type":"object"},
"const":{"const":{"$ref":"#/nowhere","type":"integer"}},"enum":{"enum":[{"properties":{"type":1}},null]}}}`

func TestSchemasOfTheDocument(t *testing.T) {
	t.Parallel()
	b := &components{schemas: map[string]any{"Own_a_b": node{"type": "string"}}, known: map[string]string{}}
	got, err := json.Marshal(b.schema(json.RawMessage(odd), "Own"))
	require.NoError(t, err)
	const properties = `{"type":{"type":"integer","format":"int64"},"$ref":{"type":"string"},"properties":{"type":["number","null"],"format":"double"},"foo-bar":true,"foo_bar":false,
"prop":{"$ref":"#/components/schemas/Own_properties_map_additionalProperties"},"map":{"type":"object","additionalProperties":{"type":"integer","format":"int64"}},
"tree":{"$ref":"#/components/schemas/Own_a_b3"},"anchored":{"$ref":"#/components/schemas/Own_a_b2"},"nowhere":{},"default":{"default":{"type":"integer"},"type":"object","additionalProperties":true},
"const":{"const":{"$ref":"#/nowhere","type":"integer"}},"enum":{"enum":[{"properties":{"type":1}},null]}}`
	require.JSONEq(t, `{"type":"object","properties":`+properties+`}`, string(got))
	components, err := json.Marshal(b.schemas)
	require.NoError(t, err)
	require.JSONEq(t, `{"Own_a_b":{"type":"string"},"Own_a_b2":{"anyOf":[{"type":"integer","format":"int64"},{"type":"string"}]},"Own_properties_map_additionalProperties":{"type":"integer","format":"int64"},
"Own_a_b3":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/Own_a_b3"},"root":{"$ref":"#/components/schemas/Own_self"}}},"Own_self":{"type":"object","properties":`+properties+`}}`, string(components))
}

func FuzzSchemasOfTheDocument(f *testing.F) {
	f.Add(odd)
	f.Add(`{"$ref":"#"}`)
	f.Add(`{"properties":{"a":{"$dynamicRef":"#x"}},"$defs":{"x":{"$dynamicAnchor":"x","items":[{"$ref":"#/$defs"}]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		b := &components{schemas: node{}, known: map[string]string{}}
		_, err := json.Marshal([]any{b.schema(json.RawMessage(text), "Own"), b.schemas})
		require.NoError(t, err)
	})
}

// A key in the header becomes one in the input, which is otherwise as it was sent.
func TestKeysOfCodeTools(t *testing.T) {
	t.Parallel()
	op := &catalog.Operation{ID: catalog.CodeID("koan", "execute"), Contract: catalog.Contract{Input: json.RawMessage(`{"properties":{"idempotencyKey":{}}}`)}}
	for given, want := range map[string]string{
		`{}`: `{"idempotencyKey":"a\"b"}`, ` { "code": 1 } `: `{"idempotencyKey":"a\"b","code": 1 }`, `{"idempotencyKey":null}`: `{"idempotencyKey":"a\"b"}`,
		`{"idempotencyKey":"a\"b"}`: `{"idempotencyKey":"a\"b"}`, `{"idempotencyKey":1}`: `{"idempotencyKey":1}`, `[]`: `[]`, `{`: `{`,
	} {
		got, err := withKey(op, json.RawMessage(given), `a"b`)
		require.NoError(t, err, given)
		require.Equal(t, want, string(got), given)
	}
	_, err := withKey(op, json.RawMessage(`{"idempotencyKey":"other"}`), `a"b`)
	require.ErrorContains(t, err, "differ")
	_, err = withKey(&catalog.Operation{ID: catalog.CodeID("codemode", "run"), Contract: catalog.Contract{Input: json.RawMessage(`{}`)}}, json.RawMessage(`{}`), "a")
	require.ErrorContains(t, err, "it cannot be made to happen once")
}
