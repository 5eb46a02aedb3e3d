package fault

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode: what is read of any text is a fault that can be read again and is the same then, with a
// code of the registry, a hint and a word on retries.
func FuzzDecode(f *testing.F) {
	for _, text := range []string{
		`{"code":"not_found","message":"gone","hint":"h","path":"/a","line":3,"column":4,"retry":"fix","details":{"n":1}}`,
		`{"code":"invalid_payload","details":[{"path":"/a","message":"m"},{"path":"/b"}]}`, `{"code":"invalid_payload","details":[1,null,{"path":1}]}`,
		`{"code":"none"}`, `{}`, `null`, `[]`, `{"code":"internal","message":"` + strings.Repeat("x", 300) + `\ud800"}`, `{"CODE":"conflict","Details":"x"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		first, err := Decode(raw)
		if err != nil {
			require.Nil(t, first)
			return
		}
		require.Contains(t, registry, first.Code)
		require.NotEmpty(t, first.Hint)
		require.NotEmpty(t, first.Retry)
		text, err := json.Marshal(first)
		require.NoError(t, err)
		again, err := Decode(text)
		require.NoError(t, err)
		second, err := json.Marshal(again)
		require.NoError(t, err)
		if len(text) <= MaxBytes { // a longer one loses its details
			require.JSONEq(t, string(text), string(second))
		}
	})
}
