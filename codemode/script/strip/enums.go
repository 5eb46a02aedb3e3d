package strip

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

func (p *parser) enum() { p.enumFrom(p.tok.from) }

// enumFrom writes an enum as the compiler does. Its members are known texts and
// numbers, or it is given up; so is one whose name was used before, which the compiler
// knows the values of.
func (p *parser) enumFrom(from int) {
	p.next()
	is := p.wantName()
	if hasWord(p.src[:from], is) {
		p.giveUp()
	}
	how := "var "
	if p.where.blocks > 0 || p.where.functions > 0 {
		how = "let "
	}
	p.want("{")
	out := p.members(is)
	p.want("}")
	if !p.opts.Types {
		p.giveUp()
	}
	if p.failed || p.unsure {
		return
	}
	p.edit(edit{from: from, to: p.last, whole: true, with: how + is + "=((" + is + ")=>{" + out + "return " + is + "})({});" + lineEnds(p.src[from:p.last])})
}

// members writes what an enum has, as statements.
func (p *parser) members(of string) string {
	var b strings.Builder
	next, counts := 0, true
	for p.tok.kind != end && !p.is("}") {
		key := p.memberName()
		switch {
		case !p.take("="):
			if !counts {
				p.giveUp()
			}
			b.WriteString(numbered(of, key, next))
		case p.tok.kind == text:
			b.WriteString(of + "[" + key + "]=" + p.says(p.tok) + ";")
			counts = false
			p.next()
		default:
			negative := p.take("-")
			n, err := strconv.Atoi(p.says(p.tok))
			if p.tok.kind != number || err != nil || strings.HasPrefix(p.says(p.tok), "0") && n != 0 {
				p.giveUp()
				return ""
			}
			if negative {
				n = -n
			}
			b.WriteString(numbered(of, key, n))
			next, counts = n, true
			p.next()
		}
		next++
		if !p.is("}") {
			p.want(",")
		}
	}
	return b.String()
}

func numbered(of, key string, n int) string {
	return of + "[" + of + "[" + key + "]=" + strconv.Itoa(n) + "]=" + key + ";"
}

// memberName reads the name of an enum's member and gives it as a string of
// JavaScript.
func (p *parser) memberName() string {
	t := p.tok
	switch t.kind {
	case name:
		p.next()
		return `"` + p.says(t) + `"`
	case text:
		p.next()
		return p.says(t)
	}
	p.giveUp()
	return `""`
}

func hasWord(s, word string) bool {
	for {
		at := strings.Index(s, word)
		if at < 0 || word == "" {
			return false
		}
		rest := s[at+len(word):]
		if (at == 0 || !wordByte(s[at-1])) && (rest == "" || !wordByte(rest[0])) {
			return true
		}
		s = s[at+1:]
	}
}

func wordByte(c byte) bool { return c >= utf8.RuneSelf || goesOn[c] }
