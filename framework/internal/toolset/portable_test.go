package toolset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/portable"
)

// compile compiles a schema, nil for what is none.
func compile(t testing.TB, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err, "%s", schema)
	c := jsonschema.NewCompiler()
	if c.AddResource("s.json", doc) != nil {
		return nil
	}
	compiled, err := c.Compile("s.json")
	if err != nil {
		return nil
	}
	return compiled
}

func admits(t testing.TB, s *jsonschema.Schema, instance string) bool {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(instance)))
	require.NoError(t, err, instance)
	return s.Validate(v) == nil
}

// requirePortable wants schemas that keep the rules of all clients.
func requirePortable(t testing.TB, input, output object) {
	t.Helper()
	list := encoded(map[string]any{"tools": []any{map[string]any{"name": "x", "description": "x", "inputSchema": input, "outputSchema": output}}})
	tools, err := portable.Read(list)
	require.NoError(t, err)
	require.Empty(t, portable.Problems(tools), "%s", list)
}

func TestPortableInput(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{
			"types", `{"type":"object","properties":{"a":{"type":["string","null"],"description":"x"},"b":{"type":["integer","string"],"minimum":1,"maxLength":3,"description":"y"}},"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"x"},"b":{"anyOf":[{"type":"integer","minimum":1,"description":"y"},{"type":"string","maxLength":3}]}}}`,
		},
		{
			"references", `{"$schema":"x","type":"object","$defs":{"P":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]}},"properties":{"p":{"$ref":"#/$defs/P","description":"where"}},"required":["p"]}`,
			`{"type":"object","properties":{"p":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"],"description":"where"}},"required":["p"]}`,
		},
		{
			"enums", `{"type":"object","properties":{"a":{"enum":["x","y",null]},"b":{"type":"integer","enum":[1,2]},"c":{"const":"z"},"d":{"enum":["","x"]}}}`,
			`{"type":"object","properties":{"a":{"type":"string","enum":["x","y"]},"b":{"type":"integer","description":"(one of 1,2)"},"c":{"type":"string","enum":["z"]},"d":{"type":"string"}}}`,
		},
		{
			"names", `{"type":"object","properties":{"$and":{"type":"string"},"a b":{"type":"string"},"c":{"type":"string"}},"required":["$and","c"]}`,
			`{"type":"object","properties":{"c":{"type":"string"}},"required":["c"]}`,
		},
		{
			"arrays", `{"type":"object","properties":{"a":{"type":"array"},"b":{"type":"array","items":{"type":"string"},"uniqueItems":true},"c":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"type":"object","properties":{}},{"type":"string"},{"type":"number"},{"type":"boolean"}]}},"b":{"type":"array","items":{"type":"string"}},"c":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}}`,
		},
		{
			"formats", `{"type":"object","properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","format":"email"},"c":{"type":"string","contentEncoding":"base64","description":"A picture."}}}`,
			`{"type":"object","properties":{"a":{"type":"string","format":"date-time"},"b":{"type":"string","description":"(email)"},"c":{"type":"string","description":"A picture (base64)"}}}`,
		},
		{
			"choices of forms", `{"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"x":{"type":"string"}},"required":["kind","x"]},{"type":"object","properties":{"kind":{"const":"b"},"y":{"type":"integer"}},"required":["kind"]}]}`,
			`{"type":"object","properties":{"kind":{"type":"string","enum":["a","b"]},"x":{"type":"string"},"y":{"type":"integer"}},"required":["kind"]}`,
		},
		{
			"conditions", `{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}],"if":{"required":["a"]},"then":{"required":["b"]},"not":{"required":["c"]}}`,
			`{"type":"object","properties":{"a":{"type":"string"}}}`,
		},
		{
			"all of them", `{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}}}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}`,
		},
		{"recursion", `{"type":"object","properties":{"next":{"$ref":"#"}}}`, `{"type":"object","properties":{"next":{"type":"object","properties":{"next":` + string(encoded(anything(""))) + `}}}}`},
		{"nothing", `true`, `{"type":"object","properties":{}}`},
		{"no object", `{"type":"string"}`, `{"type":"object","properties":{}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := portableInput(json.RawMessage(c.schema))
			require.JSONEq(t, c.want, string(encoded(got)))
			requirePortable(t, got, nil)
		})
	}
}

func TestPortableOutputAdmitsSuccessAndFailure(t *testing.T) {
	for _, c := range []struct {
		name, schema string
		good, bad    []string // results of the handler
	}{
		{"an object", `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}},"additionalProperties":false}`, []string{`{"n":1}`}, []string{`{"n":"1"}`}},
		{"definitions that refer to each other", `{"type":"object","$defs":{"N":{"type":"object","properties":{"m":{"$ref":"#/$defs/M"}}},"M":{"type":"integer"}},"properties":{"n":{"$ref":"#/$defs/N"}}}`, []string{`{"n":{"m":1}}`}, []string{`{"n":{"m":"1"}}`}},
		{"null", `{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"enum":["x",null]},"c":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, []string{`{"a":null,"b":null,"c":null}`, `{"a":"","b":"x","c":1}`}, []string{`{"a":1}`, `{"b":"y"}`}},
		{"lists of anything", `{"type":"object","properties":{"a":{"type":"array"},"b":{}}}`, []string{`{"a":[null,[1]],"b":null}`}, nil},
		{"an array", `{"type":"array","items":{"type":"integer"}}`, []string{`[1,2]`}, []string{`["1"]`}},
		{"nullable", `{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, []string{`null`, `{}`}, []string{`1`}},
		{"members of its own named as a failure's", `{"type":"object","properties":{"error":{"type":"string"},"success":{"type":"boolean"}}}`, []string{`{"error":"none","success":true}`}, nil},
		{"anything", `true`, []string{`1`, `{}`, `[]`, `null`}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			op := &catalog.Operation{Contract: catalog.Contract{Output: json.RawMessage(c.schema)}}
			out := portableOutput(op.Output, Wraps(op))
			if out["properties"] != nil {
				requirePortable(t, object{"type": "object", "properties": object{}}, out)
			}
			s := compile(t, encoded(out))
			result := func(raw string) string {
				if Wraps(op) {
					return `{"result":` + raw + `}`
				}
				return raw
			}
			for _, good := range c.good {
				require.True(t, admits(t, s, result(good)), "%s by %s", good, encoded(out))
			}
			for _, bad := range c.bad {
				require.False(t, admits(t, s, result(bad)), "%s by %s", bad, encoded(out))
			}
			failure := encoded(map[string]any{"success": false, "error": fault.Invalid(fault.Detail{Path: "/a", Message: "x"}), "committed": false})
			require.True(t, admits(t, s, string(failure)))
		})
	}
}

var exponent = regexp.MustCompile(`[0-9][eE]`)

// Schemas of strangers: whatever they say, lists keep the rules of all clients, and
// refuse nothing that the schema admits.
func FuzzPortable(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","$defs":{"a":{"$ref":"#"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, `{"x":{"x":{}}}`},
		{`true`, `{}`},
		{`{"type":["object","null"],"$id":"x"}`, `{"a":1}`},
		{`{"oneOf":[{"type":"object","properties":{"a":{"const":1}}},{"properties":{"a":{"enum":["x",2]}}}]}`, `{"a":"x"}`},
		{`{"allOf":[{"$ref":"#/$defs/b"},{"anyOf":[{"required":["q"]}]}],"$defs":{"b":{"type":"object","required":["q"]}}}`, `{"q":[1]}`},
		{`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]},"b":{"type":"array","prefixItems":[{}]}}}`, `{"a":[2],"b":[[]]}`},
		{`{"properties":{"a":{"type":"object","anyOf":[{"properties":{"x":{"type":"string"}}},{"properties":{"x":{"type":"integer"}}}]}}}`, `{"a":{"x":3}}`},
		{`{"type":"object","properties":{"a":{"minimum":1e400}}}`, `{"a":1}`},
		{`{"properties":{"a":{"allOf":[{"type":"string"},{"type":"integer"}]},"b":{"type":"string","allOf":[{"enum":["x"]}]}}}`, `{"b":"x"}`},
		{`{"properties":{"a":{"type":"object","properties":{"b":{"type":"string"}},"oneOf":[{"properties":{"b":{"maxLength":1}}},{"type":"array"}]}}}`, `{"a":{"b":"xx"}}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, schema, instance string) {
		if !json.Valid([]byte(schema)) || !json.Valid([]byte(instance)) || len(schema) > 4096 {
			return
		}
		op := &catalog.Operation{Contract: catalog.Contract{Output: json.RawMessage(schema)}}
		input, output := portableInput(json.RawMessage(schema)), portableOutput(op.Output, Wraps(op))
		if output["properties"] == nil {
			output["properties"] = object{}
		}
		requirePortable(t, input, output)
		original := compile(t, []byte(schema))
		if original == nil || exponent.MatchString(instance+schema) { // the validator computes exactly, and for ever
			return
		}
		var v any
		require.NoError(t, json.Unmarshal([]byte(instance), &v))
		if !admits(t, original, instance) {
			return
		}
		if _, ok := v.(map[string]any); ok && !hasNull(v) && plainLists(v, 0) {
			require.True(t, admits(t, compile(t, encoded(input)), instance), "%s refuses what %s admits", encoded(input), schema)
		}
		if Wraps(op) {
			instance = `{"result":` + instance + `}`
		} else if _, ok := v.(map[string]any); !ok {
			return
		}
		require.True(t, admits(t, compile(t, encoded(output)), instance), "%s refuses what %s admits", encoded(output), schema)
	})
}

func hasNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case []any:
		for _, one := range v {
			if hasNull(one) {
				return true
			}
		}
	case map[string]any:
		for _, one := range v {
			if hasNull(one) {
				return true
			}
		}
	}
	return false
}

// plainLists reports whether no list stands in a list: a list of anything is listed as one
// of single values and objects.
func plainLists(v any, within int) bool {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if !plainLists(one, within+1) {
				return false
			}
		}
		return within == 0
	case map[string]any:
		for _, one := range v {
			if !plainLists(one, 0) {
				return false
			}
		}
	}
	return true
}

// Large schemas end somewhere.
func TestPortableIsBounded(t *testing.T) {
	deep := `{"type":"string"}`
	for range 200 {
		deep = `{"type":"object","properties":{"a":` + deep + `}}`
	}
	wide := `{"type":"object","properties":{`
	for i := range 5000 {
		if i > 0 {
			wide += ","
		}
		wide += fmt.Sprintf(`"p%d":{"type":"string"}`, i)
	}
	wide += "}}"
	bomb := `{"type":"object","$defs":{"d0":{"type":"string"}`
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf(`,"d%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/d%d"},"b":{"$ref":"#/$defs/d%d"}}}`, i, i-1, i-1)
	}
	bomb += `},"properties":{"x":{"$ref":"#/$defs/d29"}}}`
	for name, schema := range map[string]string{"deep": deep, "wide": wide, "bomb": bomb} {
		got := portableInput(json.RawMessage(schema))
		require.Less(t, len(encoded(got)), 1<<20, name)
		requirePortable(t, got, nil)
	}
}
