package exact

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWellFormed(t *testing.T) {
	for text, want := range map[string]bool{
		`"plain"`: true, `"\\ud800"`: true, `"\ud83d\ude00"`: true, `"\uD83D\uDE00"`: true, `"é\u00e9\n"`: true, "": true,
		`"\ud800"`: false, `"\udc00"`: false, `"\ud83dx"`: false, `"\ud83d\u0041"`: false, `"\uDE00\uD83D"`: false, `{"\ud800":1}`: false,
		"\"\xff\"": false, "\"\xed\xa0\x80\"": false,
	} {
		require.Equal(t, want, WellFormed([]byte(text)), text)
	}
}

// FuzzWellFormed compares with the standard library, which replaces ill-formed text by U+FFFD.
func FuzzWellFormed(f *testing.F) {
	for _, s := range []string{`"\ud800"`, `"\ud83d\ude00"`, `"\\ud800"`, "\"\xff\"", `"\uD83D\u0041"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := WellFormed(raw)
		var s string
		if json.Unmarshal(raw, &s) != nil || strings.Contains(string(raw), "\uFFFD") || strings.Contains(strings.ToLower(string(raw)), `\ufffd`) {
			return
		}
		require.Equal(t, !strings.Contains(s, "\uFFFD"), got)
	})
}

func TestMalformedSaysWhere(t *testing.T) {
	for text, path := range map[string]string{
		`{"a":[1,{"b":"x\ud800"}],"c":"\udc00"}`: "/a/1/b", `"\ud800"`: "", `{"a":{"\ud800":1}}`: "/a/\uFFFD", "[\"ok\",\"\xff\"]": "/1",
	} {
		got, found := Malformed([]byte(text))
		require.True(t, found, text)
		require.Equal(t, path, got, text)
	}
	_, found := Malformed([]byte(`{"a":["\ud83d\ude00","\\ud800","é"]}`))
	require.False(t, found)
}
