package strip

// typeAlias leaves out `type A = ...`.
func (p *parser) typeAlias() bool { return p.typeAliasFrom(p.tok.from) }

func (p *parser) typeAliasFrom(from int) bool {
	if t := p.peek(); t.kind != name || t.fresh || reserved[p.says(t)] || t.kind == name && operatorWord[p.says(t)] {
		return false
	}
	p.next()
	p.wantName()
	p.quiet++
	p.typeParameters()
	p.want("=")
	p.aType()
	p.quiet--
	p.finish()
	p.omit(from)
	return true
}

// operatorWord are the words that can stand behind a variable.
var operatorWord = of("in", "instanceof", "of", "as", "satisfies")

func (p *parser) interfaceStatement() bool { return p.interfaceFrom(p.tok.from) }

func (p *parser) interfaceFrom(from int) bool {
	if t := p.peek(); t.kind != name || t.fresh || reserved[p.says(t)] || operatorWord[p.says(t)] {
		return false
	}
	p.next()
	p.wantName()
	p.quiet++
	p.typeParameters()
	if p.take("extends") {
		p.heritage()
	}
	p.objectType()
	p.quiet--
	p.omit(from)
	return true
}

// declare leaves out `declare const ...` and its like.
func (p *parser) declare() bool { return p.declareFrom(p.tok.from) }

func (p *parser) declareFrom(from int) bool {
	t := p.peek()
	if t.kind != name || t.fresh || operatorWord[p.says(t)] {
		return false
	}
	p.next()
	p.quiet++
	switch p.says(t) {
	case "const", "let", "var":
		if p.says(p.peek()) == "enum" {
			p.giveUp()
		}
		p.next()
		p.declarators()
		p.finish()
	case "function", "async":
		p.function(from, true)
	case "type":
		if !p.typeAliasFrom(from) {
			p.giveUp()
		}
	case "interface":
		if !p.interfaceFrom(from) {
			p.giveUp()
		}
	default:
		p.giveUp()
	}
	p.quiet--
	p.omit(from)
	return true
}

// namespace gives up one, and anything that may be one.
func (p *parser) namespace() bool {
	if t := p.peek(); !t.fresh && (t.kind == name && !operatorWord[p.says(t)] || t.kind == text || p.is("global") && p.says(t) == "{") {
		p.giveUp()
		return true
	}
	return false
}
