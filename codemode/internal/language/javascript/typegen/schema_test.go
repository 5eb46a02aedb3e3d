package typegen_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/javascript/typegen"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/typescript"
)

// function declares a function that takes and returns one schema.
func function(t testing.TB, schema string) string {
	return typegen.TypeScript{}.Declarations(view(t, catalog.Offer{Operations: []*catalog.Operation{operation(catalog.PluginID("x", "f"), schema, schema)}}))
}

// What section 6.2 of the specification of codemode.run names, and what schemas
// say beside it.
func TestSchemas(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ schema, want string }{
		"enum":                      {`{"enum":["a",1,null]}`, `"a" | 1 | null`},
		"enum with a type":          {`{"type":"string","enum":["a","b"]}`, `"a" | "b"`},
		"integers":                  {`{"properties":{"n":{"type":"integer"},"m":{"type":["integer","null"]},"page":{"type":"integer","minimum":1,"exclusiveMaximum":100}}}`, `{ m?: Integer | null; n?: Integer; `},
		"integers of few digits":    {`{"properties":{"n":{"type":"integer","minimum":1,"exclusiveMaximum":100}}}`, ` n?: number }`},
		"integers of an output":     {`{"properties":{"n":{"type":"integer"}}}`, `type FOutput = { n?: number };`},
		"const":                     {`{"const":{"a":[1,"x"]}}`, `{ a: [1, "x"] }`},
		"oneOf":                     {`{"oneOf":[{"type":"string"},{"type":"integer"}]}`, `string | number`},
		"anyOf beside members":      {`{"anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}],"properties":{"c":{"type":"number"}}}`, `({ a: string } | { b: string }) & { c?: number }`},
		"allOf":                     {`{"allOf":[{"properties":{"a":{"const":1}}},{"properties":{"b":{"const":2}}}]}`, `{ a?: 1 } & { b?: 2 }`},
		"alternatives that ask":     {`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]},{"minProperties":1}]}`, `{ a?: string }`},
		"nullable":                  {`{"type":"string","nullable":true}`, `string | null`},
		"nullable by a list":        {`{"type":["integer","null"]}`, `number | null`},
		"nullable twice":            {`{"anyOf":[{"type":["number","null"],"nullable":true},{"type":"null"}]}`, `number | null`},
		"a nullable reference":      {`{"$ref":"#/$defs/A","nullable":true,"$defs":{"A":{"type":"string"}}}`, `type FInput = FInputA | null;`},
		"reference with siblings":   {`{"properties":{"a":{"$ref":"#/$defs/A","properties":{"b":{"type":"number"}}}},"$defs":{"A":{"properties":{"c":{"type":"string"}}}}}`, `a?: FInputA & { b?: number }`},
		"escaped reference":         {`{"properties":{"a":{"$ref":"#/$defs/a%20b~1c"}},"$defs":{"a b/c":{"type":"boolean"}}}`, `= boolean;`},
		"anchor":                    {`{"properties":{"a":{"$ref":"#here"}},"$defs":{"x":{"$anchor":"here","type":"boolean"}}}`, `type FInputX = boolean;`},
		"reference by own id":       {`{"$id":"https://a.b/c","properties":{"a":{"$ref":"https://a.b/c#/$defs/x"}},"$defs":{"x":{"type":"boolean"}}}`, `type FInputX = boolean;`},
		"recursion":                 {`{"type":"object","properties":{"next":{"$ref":"#"}}}`, `type FInput = { next?: FInput };`},
		"recursion in alternatives": {`{"$ref":"#/$defs/T","$defs":{"T":{"anyOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/$defs/T"}}]}}}`, `type FInputT = string | FInputT[];`},
		"circular":                  {`{"$ref":"#/$defs/A","$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`, `unknown /** circular */`},
		"elsewhere":                 {`{"properties":{"a":{"$ref":"https://x.y/z"}}}`, `a?: unknown /** a reference to another document */`},
		"additional members":        {`{"additionalProperties":{"type":"integer"}}`, `{ [key: string]: number }`},
		"any additional members":    {`{"type":"object"}`, `{ [key: string]: unknown }`},
		"none":                      {`{"type":"object","additionalProperties":false}`, `{ [key: string]: never }`},
		"beside named ones":         {`{"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"integer"}}`, `{ a?: string; /** every other member is number */ [key: string]: unknown }`},
		"pattern: a beginning":      {`{"patternProperties":{"^x-":{"type":"string"},"^y_.*$":{"type":"number"}},"additionalProperties":false}`, "{ [key: `x-${string}`]: string; [key: `y_${string}`]: number }"},
		"pattern beside named":      {`{"properties":{"id":{"type":"number"}},"patternProperties":{"^x-":{"type":"string"}}}`, "{ id?: number; [key: `x-${string}`]: string }"},
		"another pattern":           {`{"patternProperties":{"^[a-z]+$":{"type":"string"}}}`, `{ /** names match ^[a-z]+$ */ [key: string]: string }`},
		"patterns and others":       {`{"patternProperties":{"^[a-z]+$":{"type":"string"}},"additionalProperties":{"type":"number"}}`, `{ /** names match ^[a-z]+$ */ [key: string]: string | number }`},
		"patterns that overlap":     {`{"patternProperties":{"^a":{"type":"string"},"^ab":{"type":"number"}}}`, `{ /** names match ^a or ^ab */ [key: string]: string | number }`},
		"tuple":                     {`{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}],"items":false}`, `[string, number]`},
		"open tuple":                {`{"type":"array","prefixItems":[{"type":"string"}]}`, `[string, ...unknown[]]`},
		"tuple of a length":         {`{"type":"array","prefixItems":[{"type":"string"}],"maxItems":1}`, `[string]`},
		"tuple of draft 7":          {`{"type":"array","items":[{"type":"string"},{"type":"number"}],"additionalItems":{"type":"boolean"}}`, `[string, number, ...boolean[]]`},
		"list of alternatives":      {`{"type":"array","items":{"type":["string","null"]}}`, `(string | null)[]`},
		"true and false":            {`{"properties":{"a":true,"b":false}}`, `{ a?: unknown; b?: never }`},
		"what cannot be said":       {`{"properties":{"a":{"type":"string","not":{"const":"x"}}}}`, `/** (more is checked: not) */ a?: string`},
		"no schema":                 {`{}`, `f(input?: unknown): unknown;`},
		"a root of no object":       {`{"type":"array","items":{"type":"string"}}`, `type FInput = string[];`},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, function(t, tt.schema), tt.want)
		})
	}
}

func nested(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

// hostiles are schemas that mean harm; TypeScript must read what becomes of them.
func hostiles() []string {
	var huge, members, defs strings.Builder
	for i := range 500 {
		sep := ","
		if i == 0 {
			sep = ""
		}
		n := strconv.Itoa(i)
		huge.WriteString(sep + `"v` + n + `"`)
		members.WriteString(sep + `"p` + n + `":{"$ref":"#/$defs/d` + n + `"}`)
		defs.WriteString(sep + `"d` + n + `":{"anyOf":[{"$ref":"#/$defs/d` + strconv.Itoa((i+1)%500) + `"},{"$ref":"#/$defs/d` + strconv.Itoa((i*7)%500) + `"},{"type":"string"}]}`)
	}
	names := []string{"a*/b", "*/", "/*", "//", "`${x}`", "\"", "'", "\\", "\n", "\r", "\u2028", "\u0000", "constructor", "__proto__", "delete", "class", "1a", "a-b", "ä", "𝒳", "}", "]", ")", ";", "<script>", "type", "any", " "}
	odd := map[string]any{}
	patterns := map[string]any{}
	for _, n := range names {
		odd[n] = map[string]any{"description": n, "enum": []any{n, map[string]any{n: []any{n}}}, "pattern": n, "format": n}
		patterns["^"+n] = map[string]any{"type": "string", "description": n}
	}
	raw := func(v any) string {
		b, _ := json.Marshal(v)
		return string(b)
	}
	return []string{
		hostileSchema,
		raw(map[string]any{"title": "\u202e", "description": "\u2066*/\u200b", "properties": map[string]any{"\u202ea": map[string]any{"const": "\U000e0041"}}, "patternProperties": map[string]any{"\ufeff": true}}),
		`{"$ref":"#"}`, `{"$ref":"#/"}`, `{"$ref":""}`, `{"$ref":"#/$ref"}`, `{"$ref":"#%zz"}`, `{"$dynamicRef":"#x","$dynamicAnchor":"x"}`,
		`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"anyOf":[{"$ref":"#/$defs/a"}]}`,
		`{"allOf":[{"$ref":"#"},{"$ref":"#"}]}`, `{"items":{"$ref":"#"}}`, `{"items":[{"$ref":"#"}],"additionalItems":{"$ref":"#"}}`,
		nested(`{"items":`, "true", "}", 60), nested(`{"anyOf":[`, "true", "]}", 60), nested(`{"properties":{"a":`, "{}", "}}", 60), nested(`{"additionalProperties":`, "{}", "}", 60),
		nested(`{"const":[`, "1", "]}", 1), `{"const":` + nested("[", "", "]", 200) + `}`, `{"const":` + nested(`{"a":`, "1", "}", 200) + `}`,
		`{"enum":[` + huge.String() + `]}`, `{"enum":[1,` + huge.String() + `]}`, `{"enum":[[[[{"a":"*/"}]]],1e999,-0,1e-7,-1E+2,123456789012345678901234567890]}`,
		`{"properties":{` + members.String() + `},"$defs":{` + defs.String() + `}}`,
		raw(map[string]any{"properties": odd, "required": names, "description": strings.Join(names, " ")}), raw(map[string]any{"patternProperties": patterns}),
		raw(map[string]any{"patternProperties": patterns, "properties": odd, "additionalProperties": false}), raw(map[string]any{"properties": map[string]any{"a": map[string]any{"$ref": "#/$defs/" + names[0]}}, "$defs": odd}),
		`{"type":7}`, `{"type":["string",7,null]}`, `{"properties":[]}`, `{"enum":{}}`, `{"required":"a"}`, `{"oneOf":{}}`, `{"items":7}`, `{"prefixItems":[]}`, `[]`, `7`, `"x"`, `null`, `true`, `false`,
	}
}

// No schema keeps the generator busy for long, whatever its references do.
func TestHostileSchemasTakeNoTime(t *testing.T) {
	t.Parallel()
	refs := func(to func(i int) string) string {
		var b strings.Builder
		for i := range 5000 {
			b.WriteString(`,"d` + strconv.Itoa(i) + `":{"anyOf":[{"$ref":"` + to(i) + `"},{"$ref":"` + to(i+1) + `"},{"$ref":"` + to(i*7) + `"}]}`)
		}
		return `{"$ref":"#/$defs/d0","$defs":{"z":{}` + b.String() + `}}`
	}
	long := strings.Repeat("/a", 20_000)
	for name, schema := range map[string]string{
		"chains":           refs(func(i int) string { return "#/$defs/d" + strconv.Itoa(i%5000) }),
		"anchors":          refs(func(i int) string { return "#none" + strconv.Itoa(i) }),
		"long pointers":    refs(func(i int) string { return "#" + long[:100+i%100] }),
		"nested pairs":     nested(`{"type":"array","prefixItems":[{"$ref":"#"},`, "true", "]}", 22),
		"long name":        `{"properties":{"` + strings.Repeat("x", 1<<20) + `":{"$ref":"#` + long + `"}}}`,
		"wide alternative": `{"anyOf":[` + strings.TrimSuffix(strings.Repeat(`{"anyOf":[{"$ref":"#"},{"const":1}]},`, 400), ",") + `]}`,
	} {
		start := time.Now()
		function(t, schema)
		typegen.TypeScript{}.Declarations(view(t, offer(&catalog.Resource{Name: "A", Key: catalog.Field{Name: "id"}, Operations: writing, Fields: []catalog.Field{{Name: "f", Type: catalog.TypeJSON, Schema: json.RawMessage(schema)}}})))
		require.Less(t, time.Since(start), 10*time.Second, name)
		t.Log(name, time.Since(start))
	}
}

// parses reads declarations with esbuild's parser of TypeScript.
func parses(text string) []api.Message {
	return api.Transform(text, api.TransformOptions{Loader: api.LoaderTS, LogLevel: api.LogLevelSilent}).Errors
}

func TestHostileSchemasHoldUnderTSC(t *testing.T) {
	t.Parallel()
	r := &catalog.Resource{Name: "A", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Operations: writing}
	var functions []*catalog.Operation
	for i, schema := range hostiles() {
		require.True(t, json.Valid([]byte(schema)), schema)
		require.Less(t, len(function(t, schema)), len(schema)*8+100_000)
		functions = append(functions, operation(catalog.PluginID("x", fmt.Sprintf("f%d", i)), schema, schema))
		r.Fields = append(r.Fields, catalog.Field{Name: fmt.Sprintf("f%d", i), Type: catalog.TypeJSON, Schema: json.RawMessage(schema)})
	}
	o := offer(r)
	o.Operations = append(o.Operations, functions...)
	text := typegen.TypeScript{}.Declarations(view(t, o))
	require.Empty(t, parses(text), text)
	found := typescript.Check(t, map[string]string{"koan.d.ts": text, "use.ts": "SDK.X.f0; SDK.Entities.A.count({}); SDK.Entities.A.upsert(SDK.Entities.A.getById(1))"})
	require.Empty(t, found, text)
}

func FuzzSchema(f *testing.F) {
	for _, schema := range hostiles() {
		f.Add(schema)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		out := function(t, schema)
		require.NoError(t, balanced(out), out)
		require.Empty(t, parses(out), out)
		require.Equal(t, -1, strings.IndexFunc(out, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) }), out)
		field := catalog.Field{Name: "f", Type: catalog.TypeJSON, Schema: json.RawMessage(schema)}
		require.Empty(t, parses(typegen.TypeScript{}.Declarations(view(t, offer(&catalog.Resource{Name: "A", Key: field, Operations: writing, Fields: []catalog.Field{field}})))))
	})
}
