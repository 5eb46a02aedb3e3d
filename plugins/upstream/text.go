package upstream

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plainText makes untrusted text safe to show: valid UTF-8, on one line, without control
// and invisible characters, and of at most n bytes.
func plainText(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return cut(strings.Join(strings.Fields(s), " "), n)
}

// cut shortens a text to at most n bytes.
func cut(s string, n int) string {
	const mark = "…"
	if len(s) <= n {
		return s
	}
	for n -= len(mark); n > 0 && !utf8.RuneStart(s[n]); n-- {
	}
	return s[:max(n, 0)] + mark
}

// firstSentence returns the beginning of a text, up to its first full stop or empty line.
func firstSentence(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n\n")
	for i, r := range s {
		if r == '.' && (i+1 == len(s) || unicode.IsSpace(rune(s[i+1]))) {
			return s[:i+1]
		}
	}
	return s
}
