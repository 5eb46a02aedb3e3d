package strip

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what sort of token stands at a place. Keywords are names.
type kind uint8

const (
	end kind = iota
	name
	private // #name
	number
	text     // a string
	template // the backtick of one
	mark     // punctuation
)

// token is a piece of the source text.
type token struct {
	kind     kind
	from, to int
	fresh    bool // a line ended before it
}

// next reads the token behind the current one. A slash is always a mark: only the
// parser knows where a regular expression can begin (regexp).
func (p *parser) next() {
	p.last = p.tok.to
	p.scan(p.tok.to)
}

// scan reads the token that begins at or behind a place.
func (p *parser) scan(from int) {
	if p.failed || p.unsure {
		p.tok = token{kind: end, from: len(p.src), to: len(p.src)}
		return
	}
	if p.steps--; p.steps < 0 {
		p.giveUp()
		return
	}
	at, fresh := p.space(from)
	t := token{from: at, to: at, fresh: fresh}
	if at >= len(p.src) {
		p.tok = t
		return
	}
	switch c := p.src[at]; {
	case c < utf8.RuneSelf && begins[c]:
		t.kind, t.to = name, p.word(at)
	case c >= '0' && c <= '9', c == '.' && at+1 < len(p.src) && digit(p.src[at+1]):
		t.kind, t.to = number, p.number(at)
	case c == '"' || c == '\'':
		t.kind, t.to = text, p.quoted(at)
	case c == '`':
		t.kind, t.to = template, at+1
	case c == '#':
		t.kind, t.to = private, p.word(at+1)
		if t.to == at+1 {
			p.giveUp() // a hash bang, or nothing
			return
		}
	case c == '\\' || c == '@':
		p.giveUp() // a name with escapes, a decorator
		return
	case c >= utf8.RuneSelf:
		if t.kind, t.to = name, p.word(at); t.to == at {
			p.fail()
			return
		}
	default:
		t.kind, t.to = mark, at+markLength(p.src[at:])
	}
	if p.failed || p.unsure {
		return
	}
	p.tok = t
}

// space skips white space and comments.
func (p *parser) space(at int) (to int, fresh bool) {
	for at < len(p.src) {
		switch c := p.src[at]; {
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			at++
		case c == '\n' || c == '\r':
			at, fresh = at+1, true
		case c == '/' && strings.HasPrefix(p.src[at:], "//"):
			n := strings.IndexAny(p.src[at:], "\n\r\u2028\u2029")
			if n < 0 {
				return len(p.src), fresh
			}
			at += n
		case c == '/' && strings.HasPrefix(p.src[at:], "/*"):
			n := strings.Index(p.src[at+2:], "*/")
			if n < 0 {
				p.fail()
				return len(p.src), fresh
			}
			fresh = fresh || strings.ContainsAny(p.src[at:at+2+n], "\n\r\u2028\u2029")
			at += n + 4
		case c < utf8.RuneSelf:
			return at, fresh
		default:
			r, size := utf8.DecodeRuneInString(p.src[at:])
			switch {
			case r == '\u2028' || r == '\u2029':
				fresh = true
			case r == '\uFEFF' || unicode.Is(unicode.Zs, r):
			default:
				return at, fresh
			}
			at += size
		}
	}
	return at, fresh
}

// begins and goesOn tell which ASCII characters names begin with, and have.
var begins, goesOn = func() (b, g [utf8.RuneSelf]bool) {
	for c := range b {
		letter := c == '$' || c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		b[c], g[c] = letter, letter || c >= '0' && c <= '9'
	}
	return b, g
}()

func digit(c byte) bool { return c >= '0' && c <= '9' }

// word gives the end of the name that begins at a place.
func (p *parser) word(at int) int {
	for at < len(p.src) {
		c := p.src[at]
		if c < utf8.RuneSelf {
			if c == '\\' {
				p.giveUp()
			}
			if !goesOn[c] {
				return at
			}
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(p.src[at:])
		if !unicode.IsLetter(r) && !unicode.Is(unicode.Nl, r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '\u200c' && r != '\u200d' {
			return at
		}
		at += size
	}
	return at
}

// number gives the end of a number: what cannot be one is the engine's to refuse.
func (p *parser) number(at int) int {
	hex := p.src[at] == '0' && at+1 < len(p.src) && (p.src[at+1] == 'x' || p.src[at+1] == 'X')
	for at < len(p.src) {
		c := p.src[at]
		exponent := (c == 'e' || c == 'E') && !hex
		switch {
		case c >= utf8.RuneSelf || c == '\\':
			p.fail()
			return at
		case !goesOn[c] && c != '.':
			return at
		case exponent && at+1 < len(p.src) && (p.src[at+1] == '+' || p.src[at+1] == '-'):
			at++
		}
		at++
	}
	return at
}

// quoted gives the end of a string.
func (p *parser) quoted(at int) int {
	quote := p.src[at]
	for at++; at < len(p.src); at++ {
		switch c := p.src[at]; {
		case c == quote:
			return at + 1
		case c == '\\':
			if at++; at < len(p.src) && p.src[at] == '\r' && at+1 < len(p.src) && p.src[at+1] == '\n' {
				at++
			}
		case c == '\n' || c == '\r':
			p.fail()
			return at
		}
	}
	p.fail()
	return at
}

// regexp reads the regular expression that begins at the current mark.
func (p *parser) regexp() {
	class := false
	for at := p.tok.from + 1; at < len(p.src); at++ {
		switch c := p.src[at]; {
		case c == '\\':
			at++
			if at < len(p.src) && (p.src[at] == '\n' || p.src[at] == '\r') {
				p.fail()
				return
			}
		case c == '\n' || c == '\r':
			p.fail()
			return
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '/' && !class:
			p.tok.to = p.word(at + 1)
			p.next()
			return
		}
	}
	p.fail()
}

// marks are the punctuation of more than one character, the longest first.
var marks = []string{
	">>>=", "...", "===", "!==", "**=", "<<=", ">>=", ">>>", "&&=", "||=", "??=",
	"=>", "==", "!=", "<=", ">=", "&&", "||", "??", "?.", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>", "**",
}

func markLength(s string) int {
	if len(s) < 2 || strings.IndexByte(".=*<>&|?+-", s[1]) < 0 {
		return 1
	}
	for _, m := range marks {
		if strings.HasPrefix(s, m) {
			if m == "?." && len(s) > 2 && digit(s[2]) {
				return 1
			}
			return len(m)
		}
	}
	return 1
}
