package typegen

import (
	"strings"
	"unicode"

	"github.com/koan-go/koan/framework/catalog"
)

// maxComment bounds a comment in characters.
const maxComment = 240

// comment writes a doc comment of one line, "" for no text. Nothing in the text
// can end the comment or the line.
func comment(indent, text string) string {
	text = plain(text)
	if text == "" {
		return ""
	}
	return indent + "/** " + text + " */\n"
}

// plain makes a text one line of visible characters: what changes the direction of writing
// or cannot be seen would have people and models read different things.
func plain(text string) string {
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
	return strings.ReplaceAll(text, "*/", "*\\/")
}

// quote writes a string as a TypeScript literal.
func quote(s string) string { return catalog.Quote(s) }

// property writes a member's name, quoted if it is not an identifier.
func property(name string) string {
	if name == "" || strings.TrimSuffix(catalog.Identifier(name), "_") != strings.TrimSuffix(name, "_") || !ascii(name) {
		return quote(name)
	}
	return name
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// setType writes a set's name, or the pattern "tenant-*" as `tenant-${string}`.
func setType(set string) string {
	prefix, pattern := strings.CutSuffix(set, "*")
	switch {
	case !pattern:
		return quote(set)
	case prefix == "":
		return "string"
	}
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`", "$", "\\$").Replace(prefix) + "${string}`"
}
