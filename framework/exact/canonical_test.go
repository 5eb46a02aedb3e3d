package exact

import (
	"bytes"
	"encoding/json"
	"math/big"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		` { "b" : 1.0, "a": [ 1e2 , true,null ] } `: `{"a":[100,true,null],"b":1}`,
		`{"a":1,"a":2}`: `{"a":2}`,
		// The example of RFC 8785, section 3.2.3: the order of names.
		"{\"\\u20ac\":\"Euro Sign\",\"\\r\":\"Carriage Return\",\"\\ufb33\":\"Hebrew Letter Dalet With Dagesh\",\"1\":\"One\",\"\\ud83d\\ude00\":\"Emoji: Grinning Face\",\"\\u0080\":\"Control\",\"\\u00f6\":\"Latin Small Letter O With Diaeresis\"}": "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"\U0001F600\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		`"\u003c\/\u000f\b\"\\"`: `"</\u000f\b\"\\"`,
		// Numbers of its appendix B.
		`0`: `0`, `-0`: `0`, `0.000e9`: `0`, `5e-324`: `5e-324`, `1.7976931348623157e308`: `1.7976931348623157e+308`, `9007199254740992`: `9007199254740992`, `295147905179352830000`: `295147905179352830000`,
		`1e21`: `1e+21`, `1e20`: `100000000000000000000`, `0.000001`: `0.000001`, `0.0000001`: `1e-7`, `-123.4500`: `-123.45`, `1234E-2`: `12.34`,
		// What JavaScript would round.
		`9007199254740993`: `9007199254740993`, `333333333.33333329`: `333333333.33333329`, `1e400`: `1e+400`, `1e99999999999999999999`: `1e99999999999999999999`,
	} {
		got, err := Canonical([]byte(text))
		require.NoError(t, err, text)
		require.Equal(t, want, string(got), text)
	}
	for _, text := range []string{``, `{`, `1 2`, `{} x`, `01`, `NaN`} {
		_, err := Canonical([]byte(text))
		require.Error(t, err, text)
	}
}

// same is a plain way to find out whether two texts are the same JSON.
func same(t *testing.T, one, two []byte) bool {
	t.Helper()
	return reflect.DeepEqual(decoded(t, one), decoded(t, two))
}

// decoded returns JSON with its numbers as ratios, where they are of any reasonable size.
func decoded(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return withRatios(v)
}

func withRatios(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && (f > 1e-300 || f < -1e-300) {
			if r, ok := new(big.Rat).SetString(v.String()); ok {
				return json.Number(r.RatString())
			}
		}
		return json.Number(appendNumber(nil, v.String()))
	case []any:
		for i := range v {
			v[i] = withRatios(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withRatios(v[name])
		}
	}
	return v
}

// FuzzCanonical: texts have one canonical form exactly where they are the same JSON.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"a":1,"b":[2,null]}`, `1.0`, `1`, `100e-2`, `-0.0`, `0`, `1e400`, `"\ud800"`, `{"b":1,"a":2}`, `{"a":1,"a":2}`, `9007199254740993`, `0.1e1`, `[[],{}]`, `"<\u2028>"`} {
		f.Add([]byte(seed), []byte(`1`))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		if !json.Valid(one) || !json.Valid(two) {
			return
		}
		first, err := Canonical(one)
		require.NoError(t, err)
		require.True(t, json.Valid(first), "%q", first)
		require.True(t, same(t, one, first), "%q", first)
		again, err := Canonical(first)
		require.NoError(t, err)
		require.Equal(t, string(first), string(again))
		second, err := Canonical(two)
		require.NoError(t, err)
		require.Equal(t, same(t, one, two), bytes.Equal(first, second), "%s %s", one, two)
	})
}
