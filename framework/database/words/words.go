// Package words decides where a word starts in a text, and how well a text fits the words that
// somebody looks for.
//
// What belongs here: letters, the points of a search, and the function of SQLite that counts them.
// Not here: which rows and fields are searched, or how PostgreSQL spells it.
package words

import (
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/database/fold"
)

// Max is how many words one search may have.
const Max = 8

// Function is the function of SQLite that does what Score does: of the words of a search, folded and
// with a blank between each two, and the texts of a row as they are stored.
const Function = "koan_score"

// Letters are what words consist of; a letter that no letter stands before starts
// a word. Chinese and Japanese characters are not among them, since every one of
// them may start a word. It is written as a class of GLOB and of regular
// expressions, for folded texts.
const Letters = "0-9a-z\u00c0-\u1fff\u2c00-\u2dff\ua640-\ud7ff\uf900-\ufaff"

// Letter reports whether words consist of a character, upper case included.
func Letter(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0xc0 && r <= 0x1fff ||
		r >= 0x2c00 && r <= 0x2dff || r >= 0xa640 && r <= 0xd7ff || r >= 0xf900 && r <= 0xfaff
}

// The points of a word in a text. They count as often as the text comes early among a row's: the last
// text once, the one before it twice.
const (
	Prefix = 1 // a word of the text starts with it
	Whole  = 2 // it is a word of the text
)

// Entire are the points of a text that is what is looked for, among so many texts: more than all
// words together have.
func Entire(texts int) int { return Whole*Max*texts*(texts+1)/2 + 1 }

// Score returns the points of a row's folded texts, the most important first, and 0 where one of the
// words is in none of them.
func Score(words []string, entire string, texts []string) int {
	score := 0
	for _, word := range words {
		points := 0
		for i, text := range texts {
			points += (len(texts) - i) * find(text, word)
		}
		if points == 0 {
			return 0
		}
		score += points
	}
	for i, text := range texts {
		if text == entire {
			score += (len(texts) - i) * Entire(len(texts))
		}
	}
	return score
}

// find returns the points of a folded word in a folded text, 0 where the text does not have it.
func find(text, word string) int {
	first, _ := utf8.DecodeRuneInString(word)
	last, _ := utf8.DecodeLastRuneInString(word)
	points := 0
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return points
		}
		at, end := from+i, from+i+len(word)
		_, size := utf8.DecodeRuneInString(text[at:])
		from = at + size
		if before, n := utf8.DecodeLastRuneInString(text[:at]); n > 0 && Letter(first) && Letter(before) {
			continue
		}
		points = Prefix
		if after, n := utf8.DecodeRuneInString(text[end:]); n == 0 || !Letter(last) || !Letter(after) {
			return Whole
		}
	}
}

// Value is Function, called by a driver: a text is a string, or bytes that count as UTF-8. Any other
// value has no words.
func Value(query any, values ...any) int64 {
	entire := text(query)
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fold.Text(text(v))
	}
	return int64(Score(strings.Split(entire, " "), entire, texts))
}

func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}
