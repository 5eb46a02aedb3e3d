package mcpserver

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

func compile(t *testing.T, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err, "%s", schema)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("s.json", doc))
	compiled, err := c.Compile("s.json")
	require.NoError(t, err, "%s", schema)
	return compiled
}

func admits(t *testing.T, s *jsonschema.Schema, raw string) bool {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(raw)))
	require.NoError(t, err)
	return s.Validate(v) == nil
}

func TestOutputSchemaAdmitsSuccessAndFailure(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		good, bad    []string // results of the handler
	}{
		{"an object", `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}},"additionalProperties":false}`, []string{`{"n":1}`}, []string{`{"n":"1"}`, `{}`}},
		{"with definitions", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"N":{"type":"integer"}},"required":["n"],"properties":{"n":{"$ref":"#/$defs/N"}}}`, []string{`{"n":1}`}, []string{`{"n":"1"}`}},
		{"with definitions that refer to each other and to the root", `{"type":"object","$defs":{"N":{"anyOf":[{"type":"integer"},{"$ref":"#"}]}},"required":["n"],"properties":{"n":{"$ref":"#/$defs/N"}}}`, []string{`{"n":{"n":{"n":1}}}`}, []string{`{"n":{"n":"1"}}`}},
		{"that refers to its own parts", `{"type":"object","required":["m"],"properties":{"n":{"type":"integer"},"m":{"$ref":"#/properties/n"}}}`, []string{`{"m":1}`}, []string{`{"m":"1"}`}},
		{"with a property called $ref", `{"type":"object","properties":{"$ref":{"type":"string"}}}`, []string{`{"$ref":"#"}`}, []string{`{"$ref":1}`}},
		{"only references", `{"$ref":"#/$defs/T","$defs":{"T":{"type":"object","required":["n"]}}}`, []string{`{"n":1}`}, []string{`{}`}},
		{"an array", `{"type":"array","items":{"type":"integer"}}`, []string{`[1,2]`}, []string{`["1"]`}},
		{"nullable", `{"type":["object","null"]}`, []string{`null`, `{}`}, []string{`1`}},
		{"anything", `true`, []string{`1`, `{}`, `[]`}, nil},
		{"any object", `{}`, []string{`{}`, `{"a":1}`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			op := &catalog.Operation{Output: json.RawMessage(c.schema)}
			raw := outputSchema(op)
			require.JSONEq(t, string(raw), string(outputSchema(op)))
			var root struct{ Type any }
			require.NoError(t, json.Unmarshal(raw, &root))
			require.Equal(t, "object", root.Type)
			s := compile(t, raw)
			for _, good := range c.good {
				require.True(t, admits(t, s, string(success(json.RawMessage(good), wrapped(op)))), "%s by %s", good, raw)
			}
			for _, bad := range c.bad {
				require.False(t, admits(t, s, string(success(json.RawMessage(bad), wrapped(op)))), "%s by %s", bad, raw)
			}
			for _, f := range []*fault.Fault{
				fault.New(fault.Internal, ""),
				fault.Invalid(fault.Detail{Path: "/a", Message: "x"}, fault.Detail{Path: "/b", Message: "y"}),
				fault.New(fault.ToolTimeout, "").WithDetails(map[string]any{"timeoutMs": 5}),
			} {
				require.True(t, admits(t, s, string(failure(nil, f))))
				require.True(t, admits(t, s, string(failure(json.RawMessage(`{"committed":false,"logs":[]}`), f))))
			}
		})
	}
}

func TestFailureKeepsWhatStandsBesideTheError(t *testing.T) {
	f := fault.New(fault.ToolTimeout, "late").WithDetails(map[string]any{"timeoutMs": 5})
	got := failure(json.RawMessage(`{"success":true,"error":{"code":"cancelled"},"committed":false,"logs":[1]}`), f)
	var m map[string]any
	require.NoError(t, json.Unmarshal(got, &m))
	require.Equal(t, false, m["success"])
	require.Equal(t, "tool_timeout", m["error"].(map[string]any)["code"])
	require.EqualValues(t, 5, m["timeoutMs"])
	require.Equal(t, []any{1.0}, m["logs"])
	unencodable := fault.New(fault.Internal, "").WithDetails(map[string]any{"f": func() {}})
	require.JSONEq(t, `false`, string(mustMember(t, failure(nil, unencodable), "success")))
}

func mustMember(t *testing.T, raw json.RawMessage, name string) json.RawMessage {
	var m map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &m))
	return m[name]
}

func TestInputSchemaCarriesTheExample(t *testing.T) {
	for _, c := range []struct{ schema, example, want string }{
		{`{ "type": "object" }`, `{"a": 1}`, `{"type":"object","examples":[{"a":1}]}`},
		{`{}`, `{}`, `{"examples":[{}]}`},
		{`{"type":"object","examples":[1]}`, `{"a": 1}`, `{"type":"object","examples":[1]}`},
		{`{"type":"object"}`, ``, `{"type":"object"}`},
	} {
		op := &catalog.Operation{Input: json.RawMessage(c.schema), Example: json.RawMessage(c.example)}
		require.Equal(t, c.want, string(inputSchema(op)))
	}
}
