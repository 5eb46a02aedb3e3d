package fault

import "strings"

const mark = "…"

// Clip returns the beginning of a text that somebody else wrote, to show it in a message: at
// most so many bytes of it, and … where it was cut.
func Clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + mark
}

// ClipTo returns a text that takes at most so many bytes, with its … where it was cut.
func ClipTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Clip(s, most-len(mark))
}
