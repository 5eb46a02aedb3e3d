package outline

import (
	"strings"
	"unicode"
)

// maxComment bounds a comment in characters.
const maxComment = 240

// Plain makes a text one line of visible characters, at most 240: what changes the direction of writing or cannot be seen
// would have people and models read different things.
func Plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		if unicode.IsSpace(r) || unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > maxComment {
		text = string(r[:maxComment-1]) + "…"
	}
	return text
}
