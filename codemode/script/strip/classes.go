package strip

// modifiers are the words before a member that only types know.
var modifiers = of("public", "private", "protected", "readonly", "override")

func (p *parser) classStatement() { p.class(true) }

func (p *parser) abstractClass() bool {
	if t := p.peek(); p.says(t) != "class" || t.fresh {
		return false
	}
	p.eraseWord()
	p.class(true)
	return true
}

// eraseWord leaves out the current word.
func (p *parser) eraseWord() {
	from := p.tok.from
	p.next()
	p.erase(from)
}

func (p *parser) class(named bool) {
	p.enter()
	defer p.leave()
	p.want("class")
	if named || p.tok.kind == name && !p.is("extends") && !p.is("implements") {
		p.wantName()
	}
	p.typeParameters()
	if p.take("extends") {
		p.superclass()
	}
	if p.is("implements") {
		from := p.tok.from
		p.next()
		p.quiet++
		p.heritage()
		p.quiet--
		p.erase(from)
	}
	p.want("{")
	before := p.where
	p.where = place{functions: before.functions + 1, receivers: before.receivers + 1}
	for p.tok.kind != end && !p.is("}") {
		if !p.take(";") {
			p.classMember()
		}
	}
	p.where = before
	p.want("}")
}

// superclass reads what a class extends. No comparison can stand there.
func (p *parser) superclass() {
	p.primary()
	for {
		switch {
		case p.take("."):
			p.member()
		case p.is("("):
			p.arguments()
		case p.is("<"):
			from := p.tok.from
			p.typeArguments()
			p.erase(from)
		default:
			return
		}
	}
}

// classMember reads one, from its modifiers on.
func (p *parser) classMember() {
	from, generator, omitted := p.tok.from, false, false
	kept := "" // the last word before the name that stays
	for p.tok.kind == name && !p.named() {
		word := p.says(p.tok)
		fresh := p.peek().fresh
		switch {
		case word == "static" && p.says(p.peek()) == "{":
			p.next()
			p.inFunction(false, false, p.body)
			return
		case word == "static", word == "async", word == "get", word == "set":
			kept = word
			p.next()
		case modifiers[word]:
			if fresh {
				p.giveUp()
			}
			p.modifier(kept)
		case word == "abstract", word == "declare":
			if fresh {
				p.giveUp() // a field
			}
			omitted = true
			p.next()
		default:
			p.giveUp() // accessor, or a field that a new line ends
			return
		}
		if fresh && kept != "" {
			p.giveUp()
		}
	}
	if omitted {
		if p.tok.kind == private {
			p.giveUp() // the class would not have the name any more
		}
		p.quiet++
	}
	if p.take("*") {
		generator = true
	}
	if p.is("[") && p.indexSignature() {
		if omitted {
			p.quiet--
		}
		p.replace(from, ";")
		return
	}
	p.memberFrom(from, generator, omitted)
}

// modifier leaves one out. What stands behind it must not be taken for a part of the
// field before.
func (p *parser) modifier(kept string) {
	with := ""
	if t := p.peek(); kept == "" && t.kind == mark {
		with = ";"
	}
	from := p.tok.from
	p.next()
	p.replace(from, with)
}

// memberFrom reads a member from its name on.
func (p *parser) memberFrom(from int, generator, omitted bool) {
	first := p.tok
	p.propertyName()
	behind := p.tok.from
	optional := p.take("?") || p.take("!")
	if p.is("(") || p.is("<") {
		if optional {
			p.erase(behind)
		}
		p.signatureAndBody(from, generator, true)
	} else {
		if p.take(":") {
			p.aType()
			optional = true
		}
		if optional {
			p.erase(behind)
			if word := p.says(first); first.kind == name && (word == "get" || word == "set" || word == "static" || word == "async") {
				p.giveUp() // it would be taken for a modifier
			}
		}
		if p.take("=") {
			p.assignment()
		}
		p.finish()
	}
	if omitted {
		p.quiet--
		p.replace(from, ";")
	}
}

// indexSignature reads `[key: string]: T`.
func (p *parser) indexSignature() bool {
	before := *p
	p.next()
	if p.tok.kind == name {
		p.next()
		if p.is(":") {
			p.quiet++
			p.next()
			p.aType()
			p.want("]")
			p.want(":")
			p.aType()
			p.quiet--
			p.finish()
			return true
		}
	}
	if p.failed || p.unsure {
		return true
	}
	steps := p.steps
	*p = before
	p.steps = steps
	return false
}
