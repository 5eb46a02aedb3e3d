package strip

import "strings"

// arrow reads an arrow function, if one begins here.
func (p *parser) arrow() bool {
	switch {
	case p.tok.kind == name:
		if p.is("async") {
			if t := p.peek(); !t.fresh && (t.kind == name && !reserved[p.says(t)] || t.kind == mark && (p.says(t) == "(" || p.says(t) == "<")) {
				return p.attempt(arrowFunction, p.arrowFunction)
			}
		}
		if t := p.peek(); t.kind != mark || p.says(t) != "=>" || t.fresh || p.isOne(reserved) {
			return false
		}
		p.arrowFunction()
		return true
	case p.is("("), p.is("<"):
		return p.attempt(arrowFunction, p.arrowFunction)
	}
	return false
}

func (p *parser) arrowFunction() {
	if p.is("async") {
		if t := p.peek(); p.says(t) != "=>" {
			p.next()
		}
	}
	around := p.where
	if p.tok.kind == name {
		p.wantName()
	} else {
		p.arrowParameters()
		if p.is(":") {
			p.arrowResult()
			if around.consequent && p.is("=>") {
				p.giveUp() // the colon may be the conditional's
			}
		}
	}
	if !p.is("=>") || p.tok.fresh {
		p.fail()
		return
	}
	p.next()
	if p.is("{") {
		p.inFunction(true, false, p.body)
		return
	}
	p.inFunction(true, false, func() {
		p.where.noIn, p.where.consequent = around.noIn, around.consequent
		p.assignment()
	})
}

// arrowParameters reads what stands before the arrow. A line that ends in what is
// left out must not end what stands before the function: `return <T,\n>(x) => x`.
func (p *parser) arrowParameters() {
	from := p.tok.from
	p.typeParameters()
	if from != p.tok.from && p.is("(") {
		p.moveLines(from, p.tok.to)
	}
	p.inFunction(true, false, p.parameters)
}

// arrowResult leaves out what an arrow function gives; no line may end before the
// arrow.
func (p *parser) arrowResult() {
	from := p.tok.from
	p.resultType()
	if p.is("=>") && !p.tok.fresh {
		p.moveLines(from, p.tok.to)
	}
}

// moveLines puts the lines that end in a type behind the mark that follows it.
func (p *parser) moveLines(from, to int) {
	if lines := lineEnds(p.src[from:to]); lines != "" {
		p.edit(edit{from: from, to: to, whole: true, with: p.says(p.tok) + lines})
	}
}

// lineEnds gives those of a text alone.
func lineEnds(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' {
			return r
		}
		return -1
	}, s)
}
