package dynamic

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
)

func TestArraysAreWrittenAsPostgreSQLReadsThem(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`[]`, `{}`},
		{`["a", "", "NULL", null, "q\"\\{},'"]`, `{"a","","NULL",NULL,"q\"\\{},'"}`},
		{`[1, 1.50, true, "\u00e4"]`, `{"1","1.50","true","ä"}`},
	} {
		got, err := valueOf(&descriptor.Column{Name: "x", Storage: descriptor.JSON, Keeping: descriptor.Array}, json.RawMessage(c.in))
		require.NoError(t, err, c.in)
		require.Equal(t, shim.Bound{V: c.want}, got, c.in)
	}
	for _, in := range []string{`{}`, `"a"`, `1`} {
		_, err := valueOf(&descriptor.Column{Name: "x", Storage: descriptor.JSON, Keeping: descriptor.Array}, json.RawMessage(in))
		require.ErrorContains(t, err, "want a list", in)
	}
}

// What is written is one array of as many elements, whatever stands in them.
func FuzzArrays(f *testing.F) {
	for _, in := range []string{`[]`, `["a\"\\"]`, `[null,{"a":1}]`, `{}`, `[`} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		var list []json.RawMessage
		isList := json.Unmarshal([]byte(in), &list) == nil
		got, err := arrayOf(&descriptor.Column{Keeping: descriptor.Array, Storage: descriptor.JSON}, json.RawMessage(in))
		if err != nil {
			return
		}
		require.True(t, isList)
		quoted, escaped, commas := false, false, 0
		for _, r := range got.V.(string) {
			switch {
			case escaped:
				escaped = false
			case r == '\\':
				escaped = true
			case r == '"':
				quoted = !quoted
			case r == ',' && !quoted:
				commas++
			}
		}
		require.False(t, quoted || escaped)
		require.Equal(t, max(0, len(list)-1), commas)
	})
}
