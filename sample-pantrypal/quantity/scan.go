package quantity

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"
)

// vulgar are the fractions that Unicode has a character for.
var vulgar = map[rune][2]int64{
	'¼': {1, 4}, '½': {1, 2}, '¾': {3, 4}, '⅓': {1, 3}, '⅔': {2, 3}, '⅕': {1, 5}, '⅖': {2, 5}, '⅗': {3, 5}, '⅘': {4, 5},
	'⅙': {1, 6}, '⅚': {5, 6}, '⅐': {1, 7}, '⅛': {1, 8}, '⅜': {3, 8}, '⅝': {5, 8}, '⅞': {7, 8}, '⅑': {1, 9}, '⅒': {1, 10},
}

var numberWords = map[string]int64{
	"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
	"nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "dozen": 12,
	"ein": 1, "eine": 1, "einen": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5,
}

// scanner reads a line from its start. What it does not understand stays in rest.
type scanner struct{ rest string }

func (s *scanner) space() { s.rest = strings.TrimLeft(s.rest, " ") }

// take drops a prefix, and reports whether it was there.
func (s *scanner) take(prefixes ...string) bool {
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(s.rest, p); ok {
			s.rest = rest
			return true
		}
	}
	return false
}

// inWord reports whether a character belongs to a word: letters, and marks on them.
func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

// word returns the next word in lower case, without taking it.
func (s *scanner) word() (text string, size int) {
	end := strings.IndexFunc(s.rest, func(r rune) bool { return r != '-' && r != '.' && !inWord(r) })
	if end < 0 {
		end = len(s.rest)
	}
	return strings.ToLower(s.rest[:end]), end
}

// words takes one of several words or phrases, and reports whether it was there.
func (s *scanner) words(phrases ...string) bool {
	for _, p := range phrases {
		if len(s.rest) < len(p) || !strings.EqualFold(s.rest[:len(p)], p) {
			continue
		}
		if next, _ := utf8.DecodeRuneInString(s.rest[len(p):]); inWord(next) || unicode.IsDigit(next) || next == '-' {
			continue
		}
		s.rest = s.rest[len(p):]
		s.space()
		return true
	}
	return false
}

// number takes a number: digits, a fraction, both, or a word for one.
func (s *scanner) number() (decimal.Decimal, bool) {
	before := s.rest
	if n, ok := s.figures(); ok {
		s.space()
		return n, true
	}
	s.rest = before
	return s.spelled()
}

// figures takes "1", "1.5", "1,5", "1/2", "1 1/2", "½" or "1½".
func (s *scanner) figures() (decimal.Decimal, bool) {
	if f, ok := s.vulgarFraction(); ok {
		return f, true
	}
	whole, ok := s.digits()
	if !ok {
		return decimal.Zero, false
	}
	if s.exponentFollows() {
		return decimal.Zero, false
	}
	n := decimal.NewFromInt(whole)
	if f, ok := s.over(whole); ok {
		return f, true
	}
	if s.pointFollows() {
		return s.decimals(n)
	}
	// A fraction may follow, with or without a space or "and".
	before := s.rest
	s.space()
	s.words("and", "&")
	if f, ok := s.vulgarFraction(); ok {
		return n.Add(f), true
	}
	if top, ok := s.digits(); ok {
		if f, ok := s.over(top); ok && f.LessThan(decimal.NewFromInt(1)) {
			return n.Add(f), true
		}
	}
	s.rest = before
	return n, true
}

func (s *scanner) vulgarFraction() (decimal.Decimal, bool) {
	r, size := utf8.DecodeRuneInString(s.rest)
	f, ok := vulgar[r]
	if !ok {
		return decimal.Zero, false
	}
	s.rest = s.rest[size:]
	return ratio(f[0], f[1]), true
}

// over takes "/4" after a numerator.
func (s *scanner) over(top int64) (decimal.Decimal, bool) {
	before := s.rest
	if s.take("/", "⁄") {
		if bottom, ok := s.digits(); ok && bottom > 0 && !s.pointFollows() {
			return ratio(top, bottom), true
		}
	}
	s.rest = before
	return decimal.Zero, false
}

// digits takes a whole number of at most maxDigits.
func (s *scanner) digits() (int64, bool) {
	n, i := int64(0), 0
	for i < len(s.rest) && s.rest[i] >= '0' && s.rest[i] <= '9' {
		if i == maxDigits {
			return 0, false
		}
		n = n*10 + int64(s.rest[i]-'0')
		i++
	}
	s.rest = s.rest[i:]
	return n, i > 0
}

var exponent = regexp.MustCompile(`^[eE][+-]?[0-9]`)

// exponentFollows reports whether a number goes on as "e9": nobody cooks so much.
func (s *scanner) exponentFollows() bool { return exponent.MatchString(s.rest) }

func (s *scanner) pointFollows() bool {
	return len(s.rest) > 1 && (s.rest[0] == '.' || s.rest[0] == ',') && s.rest[1] >= '0' && s.rest[1] <= '9'
}

// decimals takes ".5", ",5", or ",000". A comma before exactly three digits groups
// thousands, unless nothing but a zero stands before it.
func (s *scanner) decimals(whole decimal.Decimal) (decimal.Decimal, bool) {
	comma := s.rest[0] == ','
	s.rest = s.rest[1:]
	before := len(s.rest)
	n, ok := s.digits()
	places := before - len(s.rest)
	if !ok || s.pointFollows() || s.exponentFollows() {
		return decimal.Zero, false // a date, a version, or too long to be an amount
	}
	if comma && places == 3 && whole.IsPositive() {
		return whole.Mul(decimal.NewFromInt(1000)).Add(decimal.NewFromInt(n)), true
	}
	return whole.Add(decimal.New(n, -int32(places))).Round(Places), true
}

// spelled are phrases for a number, the longer before the shorter.
var spelled = []struct {
	phrase string
	number decimal.Decimal
}{
	{"one and a half", ratio(3, 2)},
	{"two and a half", ratio(5, 2)},
	{"half a dozen", decimal.NewFromInt(6)},
	{"a dozen", decimal.NewFromInt(12)},
	{"a quarter of a", ratio(1, 4)},
	{"quarter of a", ratio(1, 4)},
	{"half an", ratio(1, 2)},
	{"half a", ratio(1, 2)},
	{"half", ratio(1, 2)},
}

// spelled takes "two", "half a", "a dozen" or "a".
func (s *scanner) spelled() (decimal.Decimal, bool) {
	if strings.HasPrefix(strings.ToLower(s.rest), "half and half") {
		return decimal.Zero, false // cream
	}
	for _, p := range spelled {
		if s.words(p.phrase) {
			return p.number, true
		}
	}
	w, size := s.word()
	n, ok := numberWords[w]
	if !ok {
		return decimal.Zero, false
	}
	s.rest = s.rest[size:]
	s.space()
	return decimal.NewFromInt(n), true
}
