package typegen

import (
	"strings"

	"github.com/koan-go/koan/codemode/internal/language/outline"
	"github.com/koan-go/koan/framework/catalog"
)

// comment writes a doc comment of one line, "" for no text. Nothing in the text
// can end the comment or the line.
func comment(indent, text string) string {
	text = strings.ReplaceAll(outline.Plain(text), "*/", "*\\/")
	if text == "" {
		return ""
	}
	return indent + "/** " + text + " */\n"
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
