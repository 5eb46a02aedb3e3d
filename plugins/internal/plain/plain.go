// Package plain makes a stranger's text fit for a terminal.
//
// What belongs here: what a person is shown of a plugin's words. Not here: what callers and logs get of them.
package plain

import (
	"strings"
	"unicode"
)

// Line returns a text on one line, without what a terminal obeys or does not show.
func Line(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
	}), " ")
}
