package sqltext

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// Of all texts, exactly those begin with a prefix that are not before it and before what comes after
// the prefix, in the order of bytes.
func TestAfterPrefix(t *testing.T) {
	t.Parallel()
	letters := []rune{'a', 'b', 'Z', '[', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x10000, utf8.MaxRune}
	text := func(most int) string {
		var b strings.Builder
		for range rand.IntN(most) {
			b.WriteRune(letters[rand.IntN(len(letters))])
		}
		return b.String()
	}
	for range 100_000 {
		prefix, s := text(4), text(6)
		if rand.IntN(2) == 0 {
			s = prefix + s
		}
		end := afterPrefix(prefix)
		require.True(t, utf8.ValidString(end))
		require.Equal(t, strings.HasPrefix(s, prefix), s >= prefix && (end == "" || s < end), "%q in %q", prefix, s)
	}
}
