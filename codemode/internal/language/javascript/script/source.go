package script

import (
	"regexp"
	"strings"
	"sync"
)

// Names are the names of the languages that a script can be in.
var Names = []string{"javascript", "typescript"}

// Source is a script as it was sent.
type Source struct {
	Code string
	// Language is "javascript" or "typescript"; "" accepts both.
	Language string
	// Entry is the name of the function to call after the script; "" means `run`, if there is
	// one and the script did not call it.
	Entry string
	// Module compiles the code as an ES module even if it imports and exports nothing: it
	// is strict, and its names are not globals.
	Module bool
	// Action compiles the file of an action: an ES module that declares the action in its
	// export of that name, and whose default export carries it out.
	Action bool
	// Modules are the modules that the code can import; nil means none.
	Modules Modules
}

// Modules are the modules that a script can import.
type Modules interface {
	// Paths returns their paths.
	Paths() []string
	// Exports returns the names that a module exports, nil if it may export any; ok is false
	// if there is no such module.
	Exports(path string) (names []string, ok bool)
}

// Name is the name of the user's script in positions.
const Name = "script"

// defaultEntry is the name of the function that is called if the script does not call it itself
// (CONTRACT section 2).
const defaultEntry = "run"

// Error is the reason why a script cannot be compiled.
type Error struct {
	Message string // with a quote of the line
	Line    int    // the user's, from 1; 0 is unknown
	Column  int    // from 1, in UTF-16 units; 0 is unknown
	// Unsupported is set if the script needs something that this build does not have, as
	// opposed to a mistake in it.
	Unsupported bool
	// Import is the module of a failed import, Name the export that it does not have;
	// Unsupported is set too.
	Import, Name string
	Hint         string // "" for the usual one
	// unparsed says that the engine's parser rejected esbuild's output.
	unparsed bool
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// lazily compiles a pattern at its first use, to keep the start of a worker fast.
func lazily(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}

var (
	fenceOpen  = lazily("^\uFEFF?\\s*(`{3,}|~{3,})[^`\r\n]*\r?\n")
	fenceClose = lazily("\r?\n[ \t]*(`{3,}|~{3,})\\s*$")
	fenceLine  = lazily("(?m)^[ \t]*`{3,}[A-Za-z]*[ \t]*\r?(?:\n|$)")
	identifier = lazily(`^[\p{L}_$][\p{L}\p{Nd}_$]*$`)
	// useStrict finds the directive among those that a script begins with.
	useStrict = lazily(`^(?:\s+|//[^\r\n]*|/\*(?s:.*?)\*/|(?:"[^"\\\r\n]*"|'[^'\\\r\n]*')\s*;)*(?:"use strict"|'use strict')\s*(?:[;}\r\n]|$)`)
)

// IsName reports whether a text can name a function.
func IsName(name string) bool {
	if !identifier().MatchString(name) {
		return false
	}
	_, err := parse("void " + name)
	return err == nil
}

// Unfence removes one code fence around a script: of three or more backticks or tildes,
// with any info string. Lines that it removes at the start become empty lines, so that
// other lines keep their numbers.
func Unfence(code string) string {
	if !strings.Contains(code, "```") && !strings.Contains(code, "~~~") {
		return code
	}
	open := fenceOpen().FindStringSubmatchIndex(code)
	if open == nil {
		return betweenProse(code)
	}
	end := fenceClose().FindStringSubmatchIndex(code[open[1]-1:])
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

// betweenProse returns the only fenced block of a text whose other lines are prose, as models answer
// people, with empty lines in place of those before it. Any other text it returns unchanged.
func betweenProse(text string) string {
	fences := fenceLine().FindAllStringIndex(text, 3)
	if len(fences) != 2 {
		return text
	}
	before, body, after := text[:fences[0][0]], text[fences[0][1]:fences[1][0]], text[fences[1][1]:]
	if strings.ContainsAny(before+after, codeCharacters) || strings.Contains(before+after, "SDK.") {
		return text
	}
	return strings.Repeat("\n", strings.Count(text[:fences[0][1]], "\n")) + body
}

// codeCharacters are those of which every script has some, and that sentences do without.
const codeCharacters = ";{}=`"

// word reports whether a word occurs in the code as a whole word.
func word(code, w string) bool { return wordAt(code, w) >= 0 }

// wordAt returns the first position of a whole word in the code, -1 if there is none.
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
