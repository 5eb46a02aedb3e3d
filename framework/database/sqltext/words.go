package sqltext

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/database/words"
)

// WordMatch is how a word is looked for in a text. Upper and lower case are the
// same.
type WordMatch uint8

const (
	WordPrefix WordMatch = iota // a word of the text starts with it
	WordWhole                   // it is a word of the text
	WordEntire                  // it is the text
)

// glob is the pattern of SQLite's GLOB for a word in a lower-cased text between
// two blanks.
func glob(word string, m WordMatch) string {
	var p strings.Builder
	if m == WordEntire {
		p.WriteByte(' ')
	} else {
		p.WriteByte('*')
		if first, _ := utf8.DecodeRuneInString(word); words.Letter(first) {
			p.WriteString("[^" + words.Letters + "]")
		}
	}
	for _, r := range word {
		globRune(&p, r)
	}
	last, _ := utf8.DecodeLastRuneInString(word)
	switch {
	case m == WordEntire:
		p.WriteByte(' ')
	case m == WordWhole && words.Letter(last):
		p.WriteString("[^" + words.Letters + "]*")
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
