package schema

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

const (
	exactID = "9007199254740993"
	rounded = "9.007199254740992e+15" // as a script's number arrives
)

func TestIntegers(t *testing.T) {
	const (
		integer = `{"type":"object","properties":{"n":{"type":"integer"}}}`
		number  = `{"type":"object","properties":{"n":{"type":"number"}}}`
		text    = `{"type":"object","properties":{"n":{"type":"string"}}}`
		either  = `{"type":"object","properties":{"n":{"type":["integer","string"]}}}`
		untyped = `{"type":"object","properties":{"n":{}}}`
		anyOf   = `{"type":"object","properties":{"n":{"anyOf":[{"type":"null"},{"type":"integer"}]}}}`
		branch  = `{"oneOf":[
			{"type":"object","properties":{"kind":{"const":"id"},"v":{"type":"integer"}},"required":["kind","v"]},
			{"type":"object","properties":{"kind":{"const":"name"},"v":{"type":"string"}},"required":["kind","v"]}]}`
		two  = `{"oneOf":[{"type":"object","properties":{"kind":{"const":"id"},"v":{"type":"integer"},"w":{"type":"integer"}}},{"type":"string"}]}`
		few  = `{"type":"object","properties":{"n":{"type":"integer","minimum":0,"maximum":31},"m":{"type":"integer","minimum":0}}}`
		deep = `{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/$defs/o"}}},"additionalProperties":{"type":"integer"},
			"$defs":{"o":{"type":"object","properties":{"ids":{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}}}}}`
	)
	tests := []struct{ name, schema, in, want, path string }{
		{"digits for an integer", integer, `{"n":"` + exactID + `"}`, `{"n":` + exactID + `}`, ""},
		{"few digits for an integer", integer, `{"n":"-5"}`, `{"n":-5}`, ""},
		{"no digits", integer, `{"n":"5x"}`, `{"n":"5x"}`, ""},
		{"a leading zero", integer, `{"n":"05"}`, `{"n":"05"}`, ""},
		{"an exact number", integer, `{"n":` + exactID + `}`, `{"n":` + exactID + `}`, ""},
		{"a rounded number for an integer", integer, `{"n":` + rounded + `}`, "", "/n"},
		{"a rounded number for a number", number, `{"n":` + rounded + `}`, `{"n":` + rounded + `}`, ""},
		{"a rounded number for anything", untyped, `{"n":` + rounded + `}`, "", "/n"},
		{"a rounded number inside anything", untyped, `{"n":[{"m":` + rounded + `}]}`, "", "/n/0/m"},
		{"a magnitude for anything", untyped, `{"n":1e300}`, `{"n":1e300}`, ""},
		{"digits for a number", number, `{"n":"5"}`, `{"n":"5"}`, ""},
		{"digits for a string", text, `{"n":"` + exactID + `"}`, `{"n":"` + exactID + `"}`, ""},
		{"digits for either", either, `{"n":"` + exactID + `"}`, `{"n":"` + exactID + `"}`, ""},
		{"digits for anything", untyped, `{"n":"` + exactID + `"}`, `{"n":"` + exactID + `"}`, ""},
		{"digits for a nullable integer", anyOf, `{"n":"` + exactID + `"}`, `{"n":` + exactID + `}`, ""},
		{"a rounded number for a nullable integer", anyOf, `{"n":` + rounded + `}`, "", "/n"},
		{"digits in a union, the integer's branch", branch, `{"kind":"id","v":"` + exactID + `"}`, `{"kind":"id","v":` + exactID + `}`, ""},
		{"digits in a union, the string's branch", branch, `{"kind":"name","v":"` + exactID + `"}`, `{"kind":"name","v":"` + exactID + `"}`, ""},
		{"two of a union", two, `{"kind":"id","v":"1","w":"2"}`, `{"kind":"id","v":1,"w":2}`, ""},
		{"digits where a number holds all", few, `{"n":"3","m":"3"}`, `{"n":"3","m":3}`, ""},
		{"deep", deep, `{"a":[{"ids":["1","2","` + exactID + `"]}],"x":"7"}`, `{"a":[{"ids":["1",2,` + exactID + `]}],"x":7}`, ""},
		{"deep and rounded", deep, `{"a":[{"ids":["1",` + rounded + `]}]}`, "", "/a/0/ids/1"},
		{"what is not JSON", integer, `{"n":"5"`, `{"n":"5"`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, err := new(Cache).Integers(json.RawMessage(test.schema), json.RawMessage(test.in))
			if test.path != "" {
				f := fault.From(err)
				require.Equal(t, fault.InvalidPayload, f.Code, "%s", out)
				require.Equal(t, test.path, f.Path)
				require.Contains(t, f.Hint, "BigInt")
				return
			}
			require.NoError(t, err)
			if !json.Valid([]byte(test.want)) {
				require.Equal(t, test.want, string(out))
				return
			}
			want, err := decodeExact([]byte(test.want))
			require.NoError(t, err)
			have, err := decodeExact(out)
			require.NoError(t, err)
			require.Equal(t, want, have)
		})
	}
}

// Whatever comes, valid input stays valid, and what is not about integers stays as it is.
// What is to be converted, or was rounded, may be thousands of numbers: they are tried together.
func TestIntegersOfLongLists(t *testing.T) {
	const n = 20_000
	of := func(kind, item string) (json.RawMessage, error) {
		schema := `{"type":"object","properties":{"l":{"type":"array","items":{"type":"` + kind + `"}}}}`
		return new(Cache).Integers(json.RawMessage(schema), json.RawMessage(`{"l":[`+strings.Repeat(item+",", n)+item+`]}`))
	}
	out, err := of("integer", `"`+exactID+`"`)
	require.NoError(t, err)
	require.Equal(t, n+1, strings.Count(string(out), exactID))
	require.NotContains(t, string(out), `"`+exactID)
	_, err = of("number", rounded)
	require.NoError(t, err)
	_, err = of("integer", rounded)
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
}

func FuzzIntegers(f *testing.F) {
	const schema = `{"type":"object","properties":{"i":{"type":"integer"},"a":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"string","maxLength":3}]}}}}`
	for _, seed := range []string{`{}`, `{"i":"5"}`, `{"i":` + rounded + `}`, `{"a":["1","1234"]}`, `{"u":{"v":1e16}}`, `[`, `"1"`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		c := new(Cache)
		before, err := c.Violations(json.RawMessage(schema), json.RawMessage(in))
		require.NoError(t, err)
		out, err := c.Integers(json.RawMessage(schema), json.RawMessage(in))
		if err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
			return
		}
		after, err := c.Violations(json.RawMessage(schema), out)
		require.NoError(t, err)
		require.LessOrEqual(t, len(after), len(before))
	})
}
