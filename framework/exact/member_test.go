package exact

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMember(t *testing.T) {
	t.Parallel()
	text := []byte(` { "items" : [ {"page":1}, "]}\"" , -1.5e3 ] , "p\u0061ge" : 2 , "o":{"a":{}},"n":null }`)
	require.Equal(t, `[ {"page":1}, "]}\"" , -1.5e3 ]`, string(Member(text, "items")))
	require.Equal(t, "2", string(Member(text, "page")))
	require.Equal(t, `{"a":{}}`, string(Member(text, "o")))
	require.Equal(t, "null", string(Member(text, "n")))
	require.Nil(t, Member(text, "a"))
	for _, other := range []string{"", "[]", `"o"`, "1"} {
		require.Nil(t, Member([]byte(other), "o"), other)
	}
}

func FuzzAll(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"\\\""}],"c":{},"a":null, "d" : "x" }`))
	f.Add([]byte(` [1]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return // callers pass JSON alone
		}
		var want map[string]json.RawMessage
		_ = json.Unmarshal(text, &want) // anything but an object has no members
		got := map[string]json.RawMessage{}
		for name, value := range All(text) {
			got[name] = value
		}
		require.Len(t, got, len(want))
		for name, value := range want {
			require.Equal(t, string(value), string(got[name]), name)
		}
	})
}
