package sqltext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// WordMatch is how a word is looked for in a text. Upper and lower case are the
// same.
type WordMatch uint8

const (
	WordPrefix WordMatch = iota // a word of the text starts with it
	WordWhole                   // it is a word of the text
	WordEntire                  // it is the text
)

// letters are what words consist of; a letter that no letter stands before starts
// a word. Chinese and Japanese characters are not among them, since every one of
// them may start a word. It is written as a class of GLOB and of regular
// expressions.
const letters = "0-9a-z\u00c0-\u1fff\u2c00-\u2dff\ua640-\ud7ff\uf900-\ufaff"

// Letter reports whether words consist of a character, upper case included.
func Letter(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0xc0 && r <= 0x1fff ||
		r >= 0x2c00 && r <= 0x2dff || r >= 0xa640 && r <= 0xd7ff || r >= 0xf900 && r <= 0xfaff
}

// glob is the pattern of SQLite's GLOB for a word in a lower-cased text between
// two blanks.
func glob(word string, m WordMatch) string {
	var p strings.Builder
	if m == WordEntire {
		p.WriteByte(' ')
	} else {
		p.WriteByte('*')
		if first, _ := utf8.DecodeRuneInString(word); Letter(first) {
			p.WriteString("[^" + letters + "]")
		}
	}
	for _, r := range word {
		globRune(&p, r)
	}
	last, _ := utf8.DecodeLastRuneInString(word)
	switch {
	case m == WordEntire:
		p.WriteByte(' ')
	case m == WordWhole && Letter(last):
		p.WriteString("[^" + letters + "]*")
	default:
		p.WriteByte('*')
	}
	return p.String()
}

// globRune writes one character. SQLite's lower() knows ASCII only, so any other
// letter is looked for in both cases.
func globRune(p *strings.Builder, r rune) {
	low, up := unicode.ToLower(r), unicode.ToUpper(r)
	switch {
	case r < utf8.RuneSelf && strings.ContainsRune("*?[", r):
		p.WriteString("[" + string(r) + "]")
	case r < utf8.RuneSelf:
		p.WriteRune(low)
	case low != up:
		p.WriteString("[" + string(low) + string(up) + string(r) + "]")
	default:
		p.WriteRune(r)
	}
}
