package inspect

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Checks and defaults are read for what they say in literals. This is the small part of SQL that is
// needed for that: comparisons, lists, and, or, the functions that measure a text, and casts, which are
// passed over. Everything else is an error, and the database goes on enforcing what it says.

// maxDepth bounds how deep an expression may be nested, maxExpression how long it may be.
const (
	maxDepth      = 50
	maxExpression = 64 << 10
)

var errExpression = errors.New("inspect: the expression has more than columns, literals and the functions known here")

// expression is a node of an expression.
type expression struct {
	op   string // and, or, in, between, call, list, name, literal, or a comparison
	name string // of a column or function
	is   Literal
	of   []*expression
}

// Literal is a constant.
type Literal struct {
	Text   string
	Quoted bool // a text; else a number, TRUE, FALSE or NULL, in upper case
}

// parseExpression reads an expression.
func parseExpression(text string) (*expression, error) {
	if len(text) > maxExpression || !utf8.ValidString(text) {
		return nil, errExpression
	}
	p := &expressions{tokens: tokens(text)}
	e := p.or(0)
	if p.failed || p.at != len(p.tokens) {
		return nil, errExpression
	}
	return e, nil
}

// token is a word, a mark, or a literal.
type token struct {
	kind    byte // w word, i quoted identifier, s string, n number, o operator
	text    string
	at, end int // where it stands
}

// tokens takes a text apart.
func tokens(text string) (out []token) {
	for i := skipBlanks(text, 0); i < len(text); i = skipBlanks(text, i) {
		t := nextToken(text[i:])
		t.at, t.end = i, i+t.end
		out, i = append(out, t), t.end
	}
	return out
}

// skipBlanks returns where the next token begins: comments are none.
func skipBlanks(text string, i int) int {
	for i < len(text) {
		end := -1
		switch {
		case strings.IndexByte(" \t\r\n\f", text[i]) >= 0:
			i++
			continue
		case strings.HasPrefix(text[i:], "--"):
			end = strings.IndexByte(text[i:], '\n') + 1
		case strings.HasPrefix(text[i:], "/*"):
			end = strings.Index(text[i:], "*/") + 2
		default:
			return i
		}
		if end < 2 {
			return len(text)
		}
		i += end
	}
	return i
}

// nextToken returns the token that a text begins with; its end is how long it is.
func nextToken(text string) token {
	quoted := func(kind byte, mark byte) token {
		s, n := quotedText(text, mark)
		return token{kind: kind, text: s, end: n}
	}
	while := func(kind byte, more func(i int) bool) token {
		n := 1
		for n < len(text) && more(n) {
			n++
		}
		return token{kind: kind, text: text[:n], end: n}
	}
	switch c := text[0]; {
	case c == '\'':
		return quoted('s', c)
	case c == '"' || c == '`':
		return quoted('i', c)
	case c == '[':
		if end := strings.IndexByte(text, ']'); end > 1 && isLetter(text[1]) { // SQLite's names; [] of a type is two marks
			return token{kind: 'i', text: text[1:end], end: end + 1}
		}
	case isDigit(c) || c == '.' && len(text) > 1 && isDigit(text[1]):
		return while('n', func(i int) bool {
			c, before := text[i], text[i-1]
			return isDigit(c) || c == '.' || c == 'e' || c == 'E' || (c == '-' || c == '+') && (before == 'e' || before == 'E')
		})
	case isLetter(c):
		return while('w', func(i int) bool { return isLetter(text[i]) || isDigit(text[i]) })
	}
	for _, op := range []string{"::", "<=", ">=", "<>", "!=", "==", "||"} {
		if strings.HasPrefix(text, op) {
			return token{kind: 'o', text: op, end: len(op)}
		}
	}
	return token{kind: 'o', text: text[:1], end: 1}
}

// checksIn returns the conditions of CHECK in the definition of a table.
func checksIn(definition string) (out []string) {
	all := tokens(definition)
	for i := 0; i+1 < len(all); i++ {
		if all[i].kind != 'w' || !strings.EqualFold(all[i].text, "CHECK") || all[i+1].text != "(" {
			continue
		}
		depth := 0
		for j := i + 1; j < len(all); j++ {
			if all[j].kind != 'o' {
				continue
			}
			switch all[j].text {
			case "(":
				depth++
			case ")":
				depth--
			}
			if depth == 0 {
				out = append(out, definition[all[i+1].end:all[j].at])
				i = j
				break
			}
		}
	}
	return out
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= utf8.RuneSelf
}

// quotedText reads what stands between two marks, which are doubled inside, and how long it is with them.
func quotedText(text string, mark byte) (string, int) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		if text[i] == mark {
			if i+1 == len(text) || text[i+1] != mark {
				return b.String(), i + 1
			}
			i++
		}
		b.WriteByte(text[i])
	}
	return b.String(), len(text)
}

// expressions reads tokens.
type expressions struct {
	tokens []token
	at     int
	failed bool
}

func (p *expressions) fail() *expression {
	p.failed = true
	return &expression{op: "literal"}
}

// peek reports whether the next token is a word, in any case, or a mark.
func (p *expressions) peek(text string) bool {
	if p.at >= len(p.tokens) {
		return false
	}
	t := p.tokens[p.at]
	return (t.kind == 'w' || t.kind == 'o') && strings.EqualFold(t.text, text)
}

func (p *expressions) take(text string) bool {
	if !p.peek(text) {
		return false
	}
	p.at++
	return true
}

func (p *expressions) expect(text string) {
	if !p.take(text) {
		p.failed = true
	}
}

func (p *expressions) or(depth int) *expression {
	e := &expression{op: "or", of: []*expression{p.and(depth)}}
	for !p.failed && p.take("OR") {
		e.of = append(e.of, p.and(depth))
	}
	return e.simple()
}

func (p *expressions) and(depth int) *expression {
	e := &expression{op: "and", of: []*expression{p.comparison(depth)}}
	for !p.failed && p.take("AND") {
		e.of = append(e.of, p.comparison(depth))
	}
	return e.simple()
}

func (e *expression) simple() *expression {
	if len(e.of) == 1 {
		return e.of[0]
	}
	return e
}

func (p *expressions) comparison(depth int) *expression {
	left := p.operand(depth)
	switch {
	case p.failed:
	case p.take("BETWEEN"):
		low := p.operand(depth)
		p.expect("AND")
		return &expression{op: "between", of: []*expression{left, low, p.operand(depth)}}
	case p.take("IN"):
		p.expect("(")
		return &expression{op: "in", of: append([]*expression{left}, p.list(")", depth)...)}
	case p.take("IS"):
		not := p.take("NOT")
		p.expect("NULL")
		if not {
			return &expression{op: "is not null", of: []*expression{left}}
		}
		return &expression{op: "is null", of: []*expression{left}}
	default:
		for _, op := range []string{"=", "==", "<", "<=", ">", ">="} {
			if !p.take(op) {
				continue
			}
			if p.take("ANY") { // how PostgreSQL writes IN
				p.expect("(")
				list := p.operand(depth + 1)
				p.expect(")")
				if op != "=" || list.op != "list" {
					return p.fail()
				}
				return &expression{op: "in", of: append([]*expression{left}, list.of...)}
			}
			return &expression{op: strings.Replace(op, "==", "=", 1), of: []*expression{left, p.operand(depth)}}
		}
	}
	return left
}

// list reads what stands between commas, and the mark at the end.
func (p *expressions) list(end string, depth int) (out []*expression) {
	for !p.failed && !p.take(end) {
		if len(out) > 0 {
			p.expect(",")
		}
		out = append(out, p.operand(depth+1))
	}
	return out
}

// operand reads a name, a literal, a call or what stands in parentheses, and passes over casts behind it.
func (p *expressions) operand(depth int) *expression {
	if depth > maxDepth || p.at >= len(p.tokens) {
		return p.fail()
	}
	e := p.primary(depth)
	for !p.failed && p.take("::") {
		p.typeName()
	}
	return e
}

func (p *expressions) primary(depth int) *expression {
	t := p.tokens[p.at]
	p.at++
	switch {
	case t.kind == 's':
		return &expression{op: "literal", is: Literal{t.text, true}}
	case t.kind == 'n':
		return &expression{op: "literal", is: Literal{t.text, false}}
	case t.kind == 'i':
		return &expression{op: "name", name: t.text}
	case t.kind == 'o' && (t.text == "-" || t.text == "+"):
		if p.at < len(p.tokens) && p.tokens[p.at].kind == 'n' {
			n := p.tokens[p.at].text
			p.at++
			return &expression{op: "literal", is: Literal{strings.TrimPrefix(t.text+n, "+"), false}}
		}
	case t.kind == 'o' && t.text == "(":
		e := p.or(depth + 1)
		p.expect(")")
		return e
	case t.kind == 'w':
		return p.word(t.text, depth)
	}
	return p.fail()
}

func (p *expressions) word(word string, depth int) *expression {
	switch upper := strings.ToUpper(word); {
	case upper == "TRUE" || upper == "FALSE" || upper == "NULL":
		return &expression{op: "literal", is: Literal{upper, false}}
	case upper == "ARRAY" && p.take("["):
		return &expression{op: "list", of: p.list("]", depth)}
	case upper == "CAST" && p.take("("):
		e := p.or(depth + 1)
		p.expect("AS")
		p.typeName()
		p.expect(")")
		return e
	case upper == "NOT", upper == "CASE", upper == "SELECT", upper == "EXISTS":
		return p.fail()
	case p.take("("):
		return &expression{op: "call", name: strings.ToLower(word), of: p.list(")", depth)}
	}
	return &expression{op: "name", name: word}
}

// typeName passes over the name of a type: character varying(10)[].
func (p *expressions) typeName() {
	start := p.at
	for p.at < len(p.tokens) && (p.tokens[p.at].kind == 'i' || p.tokens[p.at].kind == 'w' && !p.peek("AND") && !p.peek("OR") && !p.peek("IN") && !p.peek("IS") && !p.peek("BETWEEN") || p.peek(".")) {
		p.at++
	}
	if p.at == start {
		p.failed = true
	}
	if p.take("(") {
		for !p.failed && !p.take(")") {
			if p.at++; p.at > len(p.tokens) {
				p.failed = true
			}
		}
	}
	for p.take("[") {
		p.expect("]")
	}
}
