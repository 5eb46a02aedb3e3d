package filter

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode compares Decode with the library's decoder.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"id":"1"}`, ` { "a" : [ 1 , -2.5e+3,"x\n\u00e9\ud83d\ude00\ud83d", null,true , false ],"c":{},"b":[]} `, `"\ud800"`, `12`, `{} {}`, `[1,]`, `{"a":1,"a":2}`, `[{"a":{"b":1,"\u0062":2}}]`, ``, "\"\xff\"",
		strings.Repeat("[", 10001) + strings.Repeat("]", 10001),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		want, werr := decodeSlowly(raw)
		got, err := Decode(json.RawMessage(raw))
		require.Equal(t, werr, err)
		require.Equal(t, want, got)
	})
}

func BenchmarkDecode(b *testing.B) {
	raw := json.RawMessage(`{"id":"0198c0de-0000-7000-8000-000000000000"}`)
	for name, decode := range map[string]func(json.RawMessage) (any, error){"own": Decode, "library": decodeSlowly} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decode(raw); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
