package servers_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/servers"
	"github.com/koan-go/koan/tests/typescript"
)

// hard are tools of no server: what the others do not do to a generator of types.
func hard() servers.Server {
	const bidi = "\u202e\u2066\u200b\u200f\ufeff\U000e0041\x1b[2J\x07\u0085\u2028"
	tool := func(name string, schema any) json.RawMessage {
		raw, err := json.Marshal(map[string]any{
			"name": name, "title": bidi + "title", "description": "ends here */ declare const evil: 1; /* " + bidi, "inputSchema": schema, "outputSchema": schema,
			"icons": []any{map[string]any{"src": "data:image/png;base64,AAAA", "mimeType": "image/png", "sizes": []string{"48x48"}}},
			"_meta": map[string]any{"x": bidi},
		})
		if err != nil {
			panic(err)
		}
		return raw
	}
	type o = map[string]any
	text := o{"type": "string", "description": bidi + "*/", "title": bidi}
	object := func(members o) o { return o{"type": "object", "properties": members} }
	s := servers.Server{ID: "hard", Name: bidi + "hard", Version: bidi}
	for name, schema := range map[string]any{
		strings.Repeat("n", 128):     object(o{"a": text}),
		"grüße_日本語_" + bidi:          object(o{"größe": text, bidi: text, "a-b": text, "constructor": text, "__proto__": text}),
		"ref":                        o{"type": "object", "properties": o{"a": o{"$ref": "#/$defs/A"}}, "$defs": o{"A": object(o{"next": o{"$ref": "#/$defs/A"}, "all": o{"type": "array", "items": o{"$ref": "#"}}})}},
		"elsewhere":                  object(o{"a": o{"$ref": "#/$defs/none"}}),
		"tuple":                      object(o{"new": o{"type": "array", "prefixItems": []any{text, o{"type": "number"}}, "items": false}, "old": o{"type": "array", "items": []any{text, text}}}),
		"patterns":                   o{"type": "object", "patternProperties": o{"^x-": text, "^[a-z" + bidi + "]*/$": o{"type": "number"}}, "additionalProperties": false},
		"alternatives":               o{"type": "object", "oneOf": []any{object(o{"kind": o{"const": "a"}}), object(o{"kind": o{"const": "b"}, "n": o{"type": "integer"}})}, "anyOf": []any{object(o{}), object(o{"z": text})}, "allOf": []any{object(o{"y": text})}},
		"constants":                  object(o{"a": o{"const": bidi + "*/`${x}`"}, "b": o{"enum": []any{"x", 1, nil, o{"deep": []any{true}}}}, "c": o{"type": []string{"string", "null"}}, "d": o{"type": "string", "nullable": true}}),
		"formats":                    object(o{"at": o{"type": "string", "format": "date-time"}, "mail": o{"type": "string", "format": bidi}, "re": o{"type": "string", "pattern": "*/" + bidi}, "default": o{"type": "string", "default": "*/" + bidi, "examples": []any{"*/"}}}),
		"conditions":                 o{"type": "object", "properties": o{"a": text}, "if": o{"required": []string{"a"}}, "then": o{"required": []string{"b"}}, "not": o{"required": []string{"c"}}, "dependentRequired": o{"a": []string{"b"}}},
		"delete":                     object(o{"class": text, "0": text, "": text}),
		"$resources.read":            object(o{"a": text}), // which is the server's own, were it a server with resources
		"nothing":                    o{"type": "object", "additionalProperties": false},
		"anything":                   o{},
		"odd":                        o{"type": "object", "properties": o{"a": o{"type": "nonsense"}}},
		"closed":                     o{"type": "object", "properties": o{"a": o{"type": "array", "contains": text, "minContains": 2, "uniqueItems": true}}, "unevaluatedProperties": false},
		"deep":                       deep(60),
		"wide":                       wide(900),
		"sense.of_many-kinds/of:one": object(o{"a": o{"type": "object", "additionalProperties": o{"$ref": "#/properties/a"}}}),
	} {
		s.Tools = append(s.Tools, tool(name, schema))
	}
	return s
}

func deep(n int) any {
	if n == 0 {
		return map[string]any{"type": "string"}
	}
	return map[string]any{"type": "object", "properties": map[string]any{"a": deep(n - 1)}}
}

func wide(n int) any {
	members := map[string]any{}
	for i := range n {
		members["m"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y", i/26)] = map[string]any{"type": "string"}
	}
	return map[string]any{"type": "object", "properties": members}
}

// The schemas of all tools of public servers, and harder ones, become declarations that
// TypeScript takes, in one program: as SDK.Servers and as modules.
func TestAllSchemasBecomeTypes(t *testing.T) {
	all := append(servers.All(t), hard())
	kit := koantest.New(t, framework.App{Name: "typing"}, append(servers.Listen(t, all), koantest.Setting{Key: "codeMode.faces", Value: "koan,codemode"})...)
	want := 0
	for _, s := range all {
		want += len(s.Tools)
	}
	require.Greater(t, want, 900)
	var v *catalog.View
	require.Eventually(t, func() bool {
		v = kit.Instance().Snapshot().View(auth.Local(), exposure.Full, false)
		return toolsIn(v) == want
	}, time.Minute, 10*time.Millisecond, "no schema keeps a tool away")
	files := map[string]string{}
	for _, d := range kit.Instance().Snapshot().Documents() {
		if d.Template || !strings.HasSuffix(d.URI, ".d.ts") {
			continue
		}
		text, err := d.Read(t.Context(), v, "")
		require.NoError(t, err)
		files[strings.ReplaceAll(strings.TrimPrefix(d.URI, "koan://sdk/"), "/", "-")] = string(text)
	}
	require.Len(t, files, 2)
	var use strings.Builder
	use.WriteString("export {};\n")
	for _, s := range all {
		use.WriteString("SDK.Servers[" + quoted(s.ID) + "];\nimport(" + quoted("@codemode/servers/"+s.ID) + ");\n")
	}
	for name, text := range files {
		for i, r := range text {
			if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029') {
				t.Fatalf("%s has %U in %q", name, r, text[max(0, i-60):min(len(text), i+60)])
			}
		}
		require.NotContains(t, strings.ReplaceAll(text, "* /", ""), "*/ declare const evil")
	}
	files["use.ts"] = use.String()
	require.Empty(t, typescript.Check(t, files))

	typed, unknown := 0, 0
	for _, op := range v.Script() {
		if op.ID.Owner != "hard" {
			typed++
		}
	}
	unknown = strings.Count(files["koan.d.ts"], "unknown /**")
	t.Logf("%d tools of %d servers, %d bytes of declarations; %d places have no type and say why", typed, len(all)-1, len(files["koan.d.ts"]), unknown)
}

func quoted(text string) string {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(raw)
}
