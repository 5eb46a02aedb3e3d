package source

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one of a script. Numbers and punctuation are one character each.
type token struct {
	kind tokenKind
	text string // of a string without its quotes
}

type tokenKind int

const (
	tokenOther    tokenKind = iota
	tokenName               // an identifier or a keyword
	tokenString             // a string, or a template without substitutions
	tokenTemplate           // a part of a template with substitutions
)

// beforeRegexp are keywords behind which a slash begins a regular expression.
var beforeRegexp = map[string]bool{
	"return": true, "typeof": true, "case": true, "in": true, "of": true, "delete": true, "void": true, "throw": true, "new": true,
	"else": true, "do": true, "instanceof": true, "yield": true, "await": true,
}

// tokensOf returns the tokens of a script without its comments. It takes any text.
func tokensOf(code string) []token {
	r := tokenReader{code: code}
	for r.pos < len(code) {
		r.next()
	}
	return r.out
}

type tokenReader struct {
	code   string
	pos    int
	out    []token
	braces []int // of each template whose substitution is being read, how many braces are open in it
}

func (r *tokenReader) add(kind tokenKind, text string) { r.out = append(r.out, token{kind, text}) }

func (r *tokenReader) next() {
	rest := r.code[r.pos:]
	first, size := utf8.DecodeRuneInString(rest)
	switch {
	case strings.HasPrefix(rest, "//"):
		r.pos += lengthUntil(rest, 2, "\n")
	case strings.HasPrefix(rest, "/*"):
		r.pos += lengthUntil(rest, 2, "*/")
	case strings.HasPrefix(rest, "```"): // a fence around the script
		r.pos += len("```")
	case first == '`':
		r.pos++
		r.template()
	case first == '"' || first == '\'':
		r.quoted(rest)
	case first == '/' && r.valueExpected():
		r.pos += regexpLength(rest)
		r.add(tokenOther, "/")
	case nameRune(first) && !unicode.IsDigit(first):
		n := strings.IndexFunc(rest, func(c rune) bool { return !nameRune(c) })
		if n < 0 {
			n = len(rest)
		}
		r.pos += n
		r.add(tokenName, rest[:n])
	case unicode.IsSpace(first):
		r.pos += size
	default:
		r.pos += size
		r.punctuation(rest[:size])
	}
}

// punctuation reads a character of its own. A brace may end the substitution of a template.
func (r *tokenReader) punctuation(c string) {
	if n := len(r.braces) - 1; n >= 0 {
		switch {
		case c == "{":
			r.braces[n]++
		case c == "}" && r.braces[n] == 0:
			r.braces = r.braces[:n]
			r.template()
			return
		case c == "}":
			r.braces[n]--
		}
	}
	r.add(tokenOther, c)
}

// template reads a template from behind its quote, or goes on with it behind a substitution.
func (r *tokenReader) template() {
	begin := r.pos
	whole := begin > 0 && r.code[begin-1] == '`'
	for r.pos < len(r.code) {
		switch rest := r.code[r.pos:]; {
		case rest[0] == '\\':
			r.pos += min(2, len(rest))
			continue
		case rest[0] == '`':
			kind := tokenTemplate
			if whole {
				kind = tokenString
			}
			r.add(kind, r.code[begin:r.pos])
			r.pos++
			return
		case strings.HasPrefix(rest, "${"):
			r.add(tokenTemplate, r.code[begin:r.pos])
			r.pos += len("${")
			r.braces = append(r.braces, 0)
			return
		}
		r.pos++
	}
}

// quoted reads a string. A quote that nothing ends on its line is one in words.
func (r *tokenReader) quoted(rest string) {
	for i := 1; i < len(rest) && rest[i] != '\n'; i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			r.add(tokenString, rest[1:i])
			r.pos += i + 1
			return
		}
	}
	r.pos++
}

// valueExpected reports whether a slash begins a regular expression, rather than divides.
func (r *tokenReader) valueExpected() bool {
	if len(r.out) == 0 {
		return true
	}
	switch last := r.out[len(r.out)-1]; last.kind {
	case tokenName:
		return beforeRegexp[last.text]
	case tokenString, tokenTemplate:
		return false
	default:
		return !strings.ContainsAny(last.text, ")]}0123456789")
	}
}

// regexpLength returns the length of a regular expression, 1 for a slash that none follows.
func regexpLength(rest string) int {
	class := false
	for i := 1; i < len(rest) && rest[i] != '\n'; i++ {
		switch c := rest[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			return i + 1
		}
	}
	return 1
}

func nameRune(c rune) bool {
	return c == '$' || c == '_' || c == '\u200c' || c == '\u200d' || unicode.IsLetter(c) || unicode.IsDigit(c) || unicode.IsMark(c)
}

// lengthUntil returns the length of what ends with a text, or with the code.
func lengthUntil(code string, from int, end string) int {
	if at := strings.Index(code[from:], end); at >= 0 {
		return from + at + len(end)
	}
	return len(code)
}
