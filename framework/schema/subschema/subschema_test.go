package subschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keywords are all those at which something stands, with what may stand there.
var keywords = map[string]string{
	"properties": `{"N":S}`, "patternProperties": `{"N":S}`, "$defs": `{"N":S}`, "definitions": `{"N":S}`, "dependentSchemas": `{"N":S}`, "dependencies": `{"N":S,"other":["N"]}`,
	"allOf": `[S]`, "anyOf": `[S]`, "oneOf": `[S]`, "prefixItems": `[S]`, "items": `S`, "additionalItems": `S`, "additionalProperties": `S`,
	"unevaluatedItems": `S`, "unevaluatedProperties": `S`, "contains": `S`, "propertyNames": `S`, "not": `S`, "if": `S`, "then": `S`, "else": `S`, "contentSchema": `S`,
}

// data are keywords at which anything may stand, and no schema does.
var data = []string{"const", "default", "enum", "examples", "required", "dependentRequired", "x-own"}

func decode(t testing.TB, text string) map[string]any {
	t.Helper()
	var s map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &s))
	return s
}

// A schema is found at each keyword under each name, and never in data.
func TestNamesAreNotKeywords(t *testing.T) {
	t.Parallel()
	names := slices.Clone(data)
	for keyword := range keywords {
		names = append(names, keyword)
	}
	for keyword, shape := range keywords {
		for _, name := range append(names, "type", "format", "$ref", "__proto__") {
			inner := `{"type":"integer","title":"found"}`
			text := strings.NewReplacer("S", inner, "N", name).Replace(shape)
			hidden, _ := json.Marshal(decode(t, `{"type":"integer","title":"data","items":{"title":"data"}}`))
			s := decode(t, fmt.Sprintf(`{%q:%s,"const":%s,"default":{"properties":{"a":%s}},"enum":[%s],"examples":[%s]}`, keyword, text, hidden, hidden, hidden, hidden))
			var found []string
			Each(s, func(_ string, s map[string]any) {
				if title, ok := s["title"].(string); ok {
					found = append(found, title)
				}
			})
			require.Equal(t, []string{"found"}, found, "%s %s", keyword, name)
			before, _ := json.Marshal(s)
			var replaced []any
			out := Replace(s, func(v any) any { replaced = append(replaced, v); return true })
			require.Equal(t, []any{map[string]any{"type": "integer", "title": "found"}}, replaced, "%s %s", keyword, name)
			after, _ := json.Marshal(s)
			require.JSONEq(t, string(before), string(after), "the original is as it was")
			for _, keyword := range []string{"const", "default", "enum", "examples"} {
				require.Equal(t, s[keyword], out[keyword], keyword)
			}
		}
	}
}

func FuzzReplace(f *testing.F) {
	f.Add(`{"properties":{"type":{"type":"string"}},"items":[true,{"not":false}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var s map[string]any
		if json.Unmarshal([]byte(text), &s) != nil {
			return
		}
		var same func(any) any
		same = func(v any) any {
			if s, ok := v.(map[string]any); ok {
				return Replace(s, same)
			}
			return v
		}
		Each(s, func(string, map[string]any) {})
		require.Equal(t, any(s), same(s))
	})
}
