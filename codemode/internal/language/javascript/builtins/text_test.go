package builtins

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// TestDecodeUTF8 checks the replacements that the Encoding Standard requires.
func TestDecodeUTF8(t *testing.T) {
	for in, want := range map[string]string{
		"ä😀": "ä😀", "\xff": "\ufffd", "\xe2\x82": "\ufffd", "\xe2\x82a": "\ufffda", "\xf0\x9f\x98": "\ufffd",
		"\xc0\x80": "\ufffd\ufffd", "\xed\xa0\x80": "\ufffd\ufffd\ufffd", "\xe2\xe2\x82\xac": "\ufffd€",
	} {
		got, _, ok := decodeUTF8([]byte(in), false, false)
		require.True(t, ok)
		require.Equal(t, want, got, "%x", in)
	}
	_, _, ok := decodeUTF8([]byte("a\xff"), true, false)
	require.False(t, ok)
	got, rest, ok := decodeUTF8([]byte("a\xe2\x82"), true, true)
	require.True(t, ok)
	require.Equal(t, "a", got)
	require.Equal(t, "\xe2\x82", string(rest))
}

func FuzzDecodeUTF8(f *testing.F) {
	f.Add([]byte("ä\xff\xe2\x82"), true)
	f.Fuzz(func(t *testing.T, b []byte, more bool) {
		text, rest, ok := decodeUTF8(b, false, more)
		require.True(t, ok)
		require.True(t, utf8.ValidString(text))
		require.Less(t, len(rest), utf8.UTFMax)
	})
}
