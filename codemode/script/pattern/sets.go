package pattern

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting bounds how deep classes stand in each other.
const maxNesting = 50

// operand is what a class of the flag v, or a part of one, matches.
type operand struct {
	chars   set // normal
	strings []string
}

// The classes \d, \w and \s (ECMAScript, section 22.2.2.9).
var (
	digits = set{{'0', '9'}}
	words  = set{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	spaces = set{
		{'\t', '\r'},
		{' ', ' '},
		{0xa0, 0xa0},
		{0x1680, 0x1680},
		{0x2000, 0x200a},
		{0x2028, 0x2029},
		{0x202f, 0x202f},
		{0x205f, 0x205f},
		{0x3000, 0x3000},
		{0xfeff, 0xfeff},
	}
)

// setClass rewrites a class of the flag v.
func (r *rewriter) setClass() error {
	o, err := r.nested(0)
	if err != nil {
		return err
	}
	if len(o.strings) == 0 {
		r.out.WriteString(o.chars.class())
		return nil
	}
	slices.SortStableFunc(o.strings, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	r.out.WriteString("(?:")
	empty := false
	for _, s := range o.strings {
		if s == "" {
			empty = true
			continue
		}
		for _, c := range s {
			writeRune(&r.out, c)
		}
		r.out.WriteByte('|')
	}
	r.out.WriteString(o.chars.class())
	if empty {
		r.out.WriteByte('|')
	}
	r.out.WriteByte(')')
	return nil
}

// nested reads a class from its bracket on.
func (r *rewriter) nested(depth int) (o operand, err error) {
	if depth > maxNesting {
		return o, invalid("more than %d character classes in each other", maxNesting)
	}
	r.at++
	negated := r.accept("^")
	first := true
	for !r.accept("]") {
		switch {
		case r.at >= len(r.source):
			return o, invalid("the character class is not closed")
		case !first && (r.ahead("&&") || r.ahead("--")):
			operator := r.source[r.at : r.at+2]
			r.at += 2
			var right operand
			if right, err = r.operand(depth); err != nil {
				return o, err
			}
			o = combine(o, right, operator)
		default:
			var next operand
			if next, err = r.operandOrRange(depth); err != nil {
				return o, err
			}
			o.chars = union(o.chars, next.chars)
			o.strings = append(o.strings, next.strings...)
		}
		first = false
	}
	if !negated {
		return o, nil
	}
	if len(o.strings) > 0 {
		return o, invalid("a negated character class cannot hold strings")
	}
	return operand{chars: o.chars.complement()}, nil
}

func combine(a, b operand, operator string) operand {
	keep := operator == "&&"
	out := operand{chars: minus(a.chars, b.chars)}
	if keep {
		out.chars = both(a.chars, b.chars)
	}
	for _, s := range a.strings {
		if slices.Contains(b.strings, s) == keep {
			out.strings = append(out.strings, s)
		}
	}
	return out
}

func (r *rewriter) ahead(s string) bool { return strings.HasPrefix(r.source[r.at:], s) }

func (r *rewriter) accept(s string) bool {
	if !r.ahead(s) {
		return false
	}
	r.at += len(s)
	return true
}

// operandOrRange reads one part of a class, or a range of characters.
func (r *rewriter) operandOrRange(depth int) (operand, error) {
	from := r.at
	o, read, err := r.compound(depth)
	if err != nil {
		return o, err
	}
	var lo rune
	if !read {
		if lo, err = r.char(); err != nil {
			return o, err
		}
		o = r.plain(set{{lo, lo}})
	}
	if !r.ahead("-") || r.ahead("--") {
		return o, nil
	}
	r.at++
	hi, err := r.char()
	if err != nil {
		return o, err
	}
	if read || lo > hi {
		return o, invalid("%s is no range", strconv.Quote(strings.ToValidUTF8(r.source[from:r.at], "?")))
	}
	return r.plain(set{{lo, hi}}), nil
}

func (r *rewriter) plain(s set) operand {
	if r.fold {
		s = s.folded()
	}
	return operand{chars: s}
}

// operand reads one part of a class: a class, an escape, or a character.
func (r *rewriter) operand(depth int) (operand, error) {
	o, read, err := r.compound(depth)
	if err != nil || read {
		return o, err
	}
	c, err := r.char()
	return r.plain(set{{c, c}}), err
}

// compound reads a part of a class that is more than one character; read is false
// where there is none.
func (r *rewriter) compound(depth int) (o operand, read bool, err error) {
	switch {
	case r.ahead("["):
		o, err = r.nested(depth + 1)
		return o, true, err
	case r.ahead(`\q{`):
		o, err = r.alternatives()
		return o, true, err
	case r.propertyAhead():
		o.chars, err = r.property()
		return o, true, err
	}
	if s, ok := shorthand(r.source[r.at:]); ok {
		r.at += 2
		return r.plain(s), true, nil
	}
	return o, false, nil
}

func shorthand(text string) (set, bool) {
	if len(text) < 2 || text[0] != '\\' {
		return nil, false
	}
	switch text[1] {
	case 'd':
		return digits, true
	case 'D':
		return digits.complement(), true
	case 'w':
		return words, true
	case 'W':
		return words.complement(), true
	case 's':
		return spaces, true
	case 'S':
		return spaces.complement(), true
	}
	return nil, false
}

// alternatives reads \q{one|other}.
func (r *rewriter) alternatives() (o operand, err error) {
	r.at += len(`\q{`)
	var text []rune
	flush := func() {
		if len(text) == 1 {
			o.chars = union(o.chars, r.plain(set{{text[0], text[0]}}).chars)
		} else {
			o.strings = append(o.strings, string(text))
		}
		text = nil
	}
	for !r.accept("}") {
		if r.at >= len(r.source) {
			return o, invalid(`\q{ is not closed`)
		}
		if r.accept("|") {
			flush()
			continue
		}
		c, err := r.char()
		if err != nil {
			return o, err
		}
		text = append(text, c)
	}
	flush()
	return o, nil
}

// escapes are the letters behind a backslash that stand for one character.
var escapes = map[byte]rune{'n': '\n', 'r': '\r', 't': '\t', 'v': '\v', 'f': '\f', 'b': '\b', '0': 0}

// char reads one character, perhaps escaped.
func (r *rewriter) char() (rune, error) {
	if r.at >= len(r.source) {
		return 0, invalid("the character class is not closed")
	}
	if !r.accept(`\`) {
		if c := r.source[r.at : r.at+1]; strings.Contains("()[]{}/-|", c) {
			return 0, &Error{"invalid regular expression: " + c + " in a character class with the flag v", `Write it as \` + c + `.`}
		}
		c, size := utf8.DecodeRuneInString(r.source[r.at:])
		r.at += size
		return c, nil
	}
	if r.at >= len(r.source) {
		return 0, invalid(`\ at the end`)
	}
	c := r.source[r.at]
	if x, ok := escapes[c]; ok {
		r.at++
		return x, nil
	}
	switch {
	case c == 'x':
		return r.hex(1, 2)
	case c == 'u' && strings.HasPrefix(r.source[r.at+1:], "{"):
		end := strings.IndexByte(r.source[r.at:], '}')
		if end < 0 {
			return 0, invalid(`\u{ is not closed`)
		}
		x, err := r.hex(2, end-2)
		r.at++
		return x, err
	case c == 'u':
		x, err := r.hex(1, 4)
		if utf16.IsSurrogate(x) && r.ahead(`\u`) {
			back := r.at
			if low, err := r.hex(2, 4); err == nil && utf16.DecodeRune(x, low) != utf8.RuneError {
				return utf16.DecodeRune(x, low), nil
			}
			r.at = back
		}
		return x, err
	case c == 'c' && r.at+1 < len(r.source):
		x := rune(r.source[r.at+1]) & 31
		r.at += 2
		return x, nil
	case c >= utf8.RuneSelf || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		return 0, invalid(`there is no escape \%s`, strings.ToValidUTF8(string(rune(c)), "?"))
	}
	r.at++
	return rune(c), nil
}

// hex reads so many hexadecimal digits, skip bytes from here.
func (r *rewriter) hex(skip, digits int) (rune, error) {
	from := r.at + skip
	if digits < 1 || from+digits > len(r.source) {
		return 0, invalid("an escape is cut off")
	}
	x, err := strconv.ParseUint(r.source[from:from+digits], 16, 32)
	if err != nil || x > unicode.MaxRune {
		return 0, invalid("an escape has no hexadecimal number")
	}
	r.at = from + digits
	return rune(x), nil
}
