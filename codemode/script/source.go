package script

import (
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Source is a script as it was sent.
type Source struct {
	Code string
	// Language is "javascript", "typescript", or "" for either.
	Language string
	// Entry names the function to call after the script, "" for `run` if there is
	// one that the script did not call.
	Entry string
	// Module gives the code the semantics of an ES module even where it imports and
	// exports nothing: it is strict, and its names are no globals.
	Module bool
	// Modules are what the code can import; nil is nothing.
	Modules Modules
	// Lowered is what the compiler made of this very source before; nil where it has
	// not, or nobody kept it.
	Lowered *Lowered
}

// Lowered is a script in the language that the engine knows. It says nothing about
// whether the script may run: that is looked at each time.
type Lowered struct {
	Text  string
	Map   string // from it to the script
	Shift int    // how far the script's first line stands from its place
}

// Modules are the modules that a script can import.
type Modules interface {
	// Paths lists them.
	Paths() []string
	// Exports gives the names that a module exports; ok is false for one that does
	// not exist.
	Exports(path string) (names []string, ok bool)
}

// Name is what the user's script is called in positions.
const Name = "script"

// defaultEntry is the function that is called when no statement of the script
// called it (CONTRACT section 2).
const defaultEntry = "run"

// Error says why a script cannot be compiled.
type Error struct {
	Message string // with a quote of the line
	Line    int    // the user's, from 1; 0 is unknown
	Column  int    // from 1, in UTF-16 units; 0 is unknown
	// Unsupported is set where the script asks for something that this build does
	// not have, as opposed to a mistake in it.
	Unsupported bool
	// Import is the module that an import failed for, Name the export that it has
	// not; Unsupported is set too.
	Import, Name string
	Hint         string // "" for the usual one
	// unparsed says that the engine's parser refused what the compiler made.
	unparsed bool
}

// Error gives the message.
func (e *Error) Error() string { return e.Message }

var (
	fenceOpen  = regexp.MustCompile("^\uFEFF?\\s*(`{3,}|~{3,})[^`\r\n]*\r?\n")
	fenceClose = regexp.MustCompile("\r?\n[ \t]*(`{3,}|~{3,})\\s*$")
	identifier = regexp.MustCompile(`^[\p{L}_$][\p{L}\p{Nd}_$]*$`)
	// useStrict finds the directive among those that a script begins with.
	useStrict = regexp.MustCompile(`^(?:\s+|//[^\r\n]*|/\*(?s:.*?)\*/|(?:"[^"\\\r\n]*"|'[^'\\\r\n]*')\s*;)*(?:"use strict"|'use strict')\s*(?:[;}\r\n]|$)`)
)

// IsName tells whether a text can name a function.
func IsName(name string) bool {
	if !identifier.MatchString(name) {
		return false
	}
	_, err := parse("void " + name)
	return err == nil
}

// Unfence takes off one code fence around a script: of three or more backticks or
// tildes, with whatever is said behind them. What it removes in front becomes
// empty lines, so that the lines keep their numbers.
func Unfence(code string) string {
	open := fenceOpen.FindStringSubmatchIndex(code)
	if open == nil {
		return code
	}
	end := fenceClose.FindStringSubmatchIndex(code[open[1]-1:])
	if end == nil {
		return code
	}
	fence, closing := code[open[2]:open[3]], code[open[1]-1:][end[2]:end[3]]
	if fence[0] != closing[0] || len(closing) < len(fence) {
		return code
	}
	head := strings.Repeat("\n", strings.Count(code[:open[1]], "\n"))
	if body := open[1] - 1 + end[0]; body > open[1] {
		return head + code[open[1]:body]
	}
	return head
}

// word tells whether a word stands in the code as such.
func word(code, w string) bool { return wordAt(code, w) >= 0 }

// wordAt gives where a word stands first in the code as such, -1 where nowhere.
func wordAt(code, w string) int {
	for at := 0; ; {
		i := strings.Index(code[at:], w)
		if i < 0 {
			return -1
		}
		from, to := at+i, at+i+len(w)
		if (from == 0 || !wordByte(code[from-1])) && (to == len(code) || !wordByte(code[to])) {
			return from
		}
		at = to
	}
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// lines finds lines of a text by number, by the same rules as goja.
type lines struct{ text []string }

var lineEnd = regexp.MustCompile("\r\n|[\n\r\u2028\u2029]")

func newLines(code string) lines {
	if !strings.ContainsAny(code, "\r\u2028\u2029") {
		return lines{strings.Split(code, "\n")}
	}
	return lines{lineEnd.Split(code, -1)}
}

// all gives the whole text, with every line end as one.
func (l lines) all() string { return strings.Join(l.text, "\n") }

// find gives where a text stands first.
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

// column turns a column in bytes into one in UTF-16 units, both from 1.
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

// quote gives the trimmed text of a line for a message, "" for an empty one.
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
