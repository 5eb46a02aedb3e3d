package plain

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"  one\r\n\ttwo ":                "one two",
		"\x1b[31mred\x1b[0m":             "[31mred [0m",
		"title\x1b]0;x\x07":              "title ]0;x",
		"\u202eback\u200b\u009bZwölf 十二": "back Zwölf 十二",
		"half\xff":                       "half?",
	} {
		require.Equal(t, want, Line(text), "%q", text)
	}
}

// FuzzLine: nothing is left that a terminal obeys.
func FuzzLine(f *testing.F) {
	f.Add("\x1b[31mred\u202e\x9b")
	f.Fuzz(func(t *testing.T, text string) {
		for _, r := range Line(text) {
			require.False(t, r != ' ' && unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r), "%q", text)
		}
	})
}
