package script

import (
	"sort"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// positions maps positions in the compiled text to the user's.
type positions struct {
	user lines
	// shift is the number of lines before the user's text, in the compiled text or in
	// esbuild's input.
	shift int
	// segments are the source map of esbuild's output, in the order of that text; nil if
	// the compiled text is the user's.
	segments []segment
	made     lines // of esbuild's output
}

// find returns the user's line and column of a position in the compiled text, in UTF-16
// units; the position is in bytes, and all count from 1. ok is false for a position that
// the user did not write.
func (p *positions) find(line, column int) (userLine, userColumn int, ok bool) {
	if p.segments == nil {
		line -= p.shift
		if line < 1 || line > len(p.user.text) || column < 1 {
			return 0, 0, false
		}
		return line, p.user.column(line, column), true
	}
	column = p.made.column(line, column)
	i := sort.Search(len(p.segments), func(i int) bool { return p.segments[i].after(line, column) }) - 1
	if i < 0 || p.segments[i].userLine == 0 {
		return 0, 0, false
	}
	s := p.segments[i]
	userLine = s.userLine - p.shift
	if userLine < 1 || userLine > len(p.user.text) {
		return 0, 0, false
	}
	return userLine, s.userColumn + p.distanceInSegment(s, line, column, userLine), true
}

// distanceInSegment returns how far after a segment's start a position is, if the text between is the
// user's too. The compiler maps the name of a called function, for example, and not the
// parenthesis after it.
func (p *positions) distanceInSegment(s segment, line, column, userLine int) int {
	if s.line != line {
		return 0
	}
	user, text, rest := p.user.from(userLine, s.userColumn), p.made.from(line, s.column), p.made.from(line, column)
	text = text[:len(text)-len(rest)]
	if bare := strings.TrimLeft(text, " "); strings.HasPrefix(user, bare) { // a statement is mapped from where its indentation begins
		return column - s.column - (len(text) - len(bare))
	}
	name := 0
	for name < len(user) && wordByte(user[name]) {
		name++
	}
	if strings.HasPrefix(rest, "(") && strings.HasPrefix(user[name:], "(") { // a call by another name: (0, import_a.f)()
		return name
	}
	return 0
}

// lines are the lines of a text, split by the same rules as in goja.
type lines struct{ text []string }

var lineEnd = lazily("\r\n|[\n\r\u2028\u2029]")

func newLines(code string) lines {
	if !strings.ContainsAny(code, "\r\u2028\u2029") {
		return lines{strings.Split(code, "\n")}
	}
	return lines{lineEnd().Split(code, -1)}
}

// all returns the whole text, with every line end as one.
func (l lines) all() string { return strings.Join(l.text, "\n") }

// find returns the first position of a text.
func (l lines) find(text string) (line, column int) {
	for i, s := range l.text {
		if at := strings.Index(s, text); at >= 0 {
			return i + 1, l.column(i+1, at) // at its quote
		}
	}
	return 0, 0
}

func (l lines) line(n int) string {
	if n < 1 || n > len(l.text) {
		return ""
	}
	return l.text[n-1]
}

// column converts a column in bytes to UTF-16 units, both from 1.
func (l lines) column(line, bytes int) int {
	s := l.line(line)
	if bytes-1 < len(s) {
		s = s[:max(bytes-1, 0)]
	}
	n := 1
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// from returns the rest of a line from a column on, in UTF-16 units from 1.
func (l lines) from(line, column int) string {
	s := l.line(line)
	n := 1
	for i, r := range s {
		if n >= column {
			return s[i:]
		}
		n += max(utf16.RuneLen(r), 1)
	}
	return ""
}

// quote returns the trimmed text of a line for a message, "" for an empty one.
func (l lines) quote(n int) string {
	const most = 120
	s := strings.TrimSpace(l.line(n))
	if len(s) > most {
		s = s[:most]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
		s += "…"
	}
	return s
}
