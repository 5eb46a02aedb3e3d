package javascript

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A number beyond 2^53 keeps its value, and is no integer any more.
func FuzzMarkInexact(f *testing.F) {
	for _, s := range []string{`9007199254740992`, `{"a":[-9007199254740992,"9007199254740993",9007199254740991]}`, `1e300`, `0.1234567890123456789`, `123456789012345678901`, `"\\\"9007199254740992"`, `[]`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var before, after any
		if json.Unmarshal([]byte(s), &before) != nil {
			return
		}
		out := markInexact([]byte(s))
		require.NoError(t, json.Unmarshal(out, &after), "%s", out)
		require.Equal(t, before, after)
	})
}

func TestMarkInexact(t *testing.T) {
	for in, want := range map[string]string{
		`9007199254740991`: `9007199254740991`, `9007199254740992`: `9.007199254740992e+15`, `[1,-9007199254740994,"9007199254740994"]`: `[1,-9.007199254740994e+15,"9007199254740994"]`,
		`1234567890.1234567890`: `1234567890.1234567890`, `{"a":100000000000000000000}`: `{"a":1e+20}`,
	} {
		require.Equal(t, want, string(markInexact([]byte(in))))
	}
}

func FuzzReplaceSurrogates(f *testing.F) {
	for _, s := range []string{`"\ud800"`, `"\\ud800"`, `"\\\ud800x"`, `"\ud83d\ude00"`, `"\ud8`, `\`, `"\u0041\udfff"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := replaceSurrogates([]byte(s))
		require.LessOrEqual(t, len(out), len(s))
		require.Equal(t, string(out), string(replaceSurrogates(append([]byte(nil), out...))))
	})
}
