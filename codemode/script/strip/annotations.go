package strip

// typeParameters leaves out `<T extends U = V>`, if there is one.
func (p *parser) typeParameters() {
	if !p.is("<") {
		return
	}
	from := p.tok.from
	p.quiet++
	p.next()
	for p.tok.kind != end {
		for p.is("const") || (p.is("in") || p.is("out")) && p.peek().kind == name {
			p.next()
		}
		p.wantName()
		if p.take("extends") {
			p.aType()
		}
		if p.take("=") {
			p.aType()
		}
		if !p.take(",") || p.closing() {
			break
		}
	}
	p.closeAngle()
	p.quiet--
	p.erase(from)
}

// closing tells whether a closing angle bracket stands here, perhaps as the begin of
// a longer mark.
func (p *parser) closing() bool { return p.tok.kind == mark && p.src[p.tok.from] == '>' }

func (p *parser) closeAngle() {
	if !p.closing() {
		p.fail()
		return
	}
	p.tok.to = p.tok.from + 1
	p.next()
}

// typeArguments reads `<A, B>`.
func (p *parser) typeArguments() {
	p.quiet++
	p.want("<")
	for p.tok.kind != end {
		p.aType()
		if !p.take(",") {
			break
		}
	}
	p.closeAngle()
	p.quiet--
}

// heritage reads the interfaces that a type extends.
func (p *parser) heritage() {
	for {
		p.typeName()
		if !p.take(",") {
			return
		}
	}
}

// resultType leaves out what a function gives, if it says so: a type, `x is T`, or
// `asserts x`.
func (p *parser) resultType() {
	from := p.tok.from
	if !p.take(":") {
		return
	}
	p.result()
	p.erase(from)
}

func (p *parser) result() {
	p.quiet++
	if p.is("asserts") {
		if t := p.peek(); t.kind == name && !t.fresh && (p.says(t) == "this" || !reserved[p.says(t)]) {
			p.next()
			if p.says(p.peek()) != "is" {
				p.next()
				p.quiet--
				return
			}
		}
	}
	if p.tok.kind == name {
		if t := p.peek(); t.kind == name && !t.fresh && p.says(t) == "is" {
			p.next()
			p.next()
		}
	}
	p.aType()
	p.quiet--
}

// aType reads a type. Nothing in it is left out by itself.
func (p *parser) aType() {
	p.enter()
	defer p.leave()
	p.quiet++
	before := p.where
	p.where.noIn, p.where.consequent = false, false
	p.union()
	if p.is("extends") && !p.tok.fresh {
		p.next()
		p.union()
		p.want("?")
		p.aType()
		p.want(":")
		p.aType()
	}
	p.where = before
	p.quiet--
}

func (p *parser) union() {
	if !p.take("|") {
		p.take("&")
	}
	for {
		p.operatorType()
		if !p.take("|") && !p.take("&") {
			return
		}
	}
}

// typeWords are the words before a type that make another one of it.
var typeWords = of("keyof", "unique", "readonly", "infer")

func (p *parser) operatorType() {
	p.enter()
	defer p.leave()
	if p.isOne(typeWords) {
		if t := p.peek(); t.kind == name && (!reserved[p.says(t)] || typeKeywords[p.says(t)]) && p.says(t) != "extends" || t.kind == text || t.kind == mark && opensType[p.says(t)] {
			infer := p.is("infer")
			p.next()
			p.operatorType()
			if infer && p.is("extends") {
				p.giveUp() // a bound or a condition
			}
			return
		}
		p.giveUp() // the name of a type, as one reader has it
	}
	p.primaryType()
	for p.is("[") && !p.tok.fresh {
		p.next()
		if !p.is("]") {
			p.aType()
		}
		p.want("]")
	}
}

var (
	opensType = of("(", "[", "{", "<")
	// typeKeywords are the keywords that a type can begin with.
	typeKeywords = of("typeof", "this", "void", "null", "true", "false", "import", "new")
)

func (p *parser) primaryType() {
	switch p.tok.kind {
	case text, number:
		p.next()
	case template:
		p.template(p.aType)
	case name:
		p.wordType()
	case mark:
		switch p.says(p.tok) {
		case "(":
			p.parenthesisedType()
		case "<":
			p.functionType()
		case "{":
			p.objectType()
		case "[":
			p.tuple()
		case "-":
			p.next()
			if p.tok.kind != number {
				p.fail()
			}
			p.next()
		default:
			p.fail()
		}
	default:
		p.fail()
	}
}

func (p *parser) wordType() {
	switch p.says(p.tok) {
	case "typeof":
		p.next()
		p.typeName()
	case "import":
		p.next()
		p.want("(")
		if p.tok.kind != text {
			p.giveUp()
		}
		p.next()
		p.want(")")
		p.qualified()
	case "new":
		p.next()
		p.functionType()
	case "abstract":
		if p.says(p.peek()) == "new" {
			p.next()
			p.next()
			p.functionType()
			return
		}
		p.typeName()
	case "this", "void", "null", "true", "false":
		p.next()
	default:
		p.typeName()
	}
}

// typeName reads a.b.c<T>.
func (p *parser) typeName() {
	if p.is("import") {
		p.wordType()
		return
	}
	if !p.take("this") {
		p.wantName()
	}
	p.qualified()
}

// qualified reads the rest of a type's name, and its arguments.
func (p *parser) qualified() {
	for p.take(".") {
		p.member()
	}
	if p.is("<") && !p.tok.fresh {
		p.typeArguments()
	}
}

// parenthesisedType reads a type in parentheses, or that of a function.
func (p *parser) parenthesisedType() {
	if p.attempt(functionType, p.functionType) {
		return
	}
	p.want("(")
	p.aType()
	p.want(")")
}

func (p *parser) functionType() {
	p.typeParameters()
	p.parameters()
	p.want("=>")
	p.result()
}

func (p *parser) tuple() {
	p.want("[")
	for p.tok.kind != end && !p.is("]") {
		p.take("...")
		p.aType()
		p.take("?")
		if p.take(":") { // what was read is a label
			p.aType()
		}
		if !p.is("]") {
			p.want(",")
		}
	}
	p.want("]")
}

func (p *parser) objectType() {
	p.enter()
	defer p.leave()
	p.quiet++
	p.want("{")
	for p.tok.kind != end && !p.is("}") {
		p.typeMember()
		if !p.take(";") && !p.take(",") && !p.is("}") && !p.tok.fresh {
			p.fail()
		}
	}
	p.want("}")
	p.quiet--
}

// typeMember reads a member of an object type: a property, a method, a signature, or
// what maps another type.
func (p *parser) typeMember() {
	if (p.is("+") || p.is("-")) && p.says(p.peek()) == "readonly" {
		p.next()
	}
	for (p.is("readonly") || p.is("get") || p.is("set")) && !p.named() {
		p.next()
	}
	if p.is("new") && (p.says(p.peek()) == "(" || p.says(p.peek()) == "<") {
		p.next()
	}
	switch {
	case p.is("("), p.is("<"):
	case p.is("["):
		p.bracketMember()
	default:
		p.propertyName()
	}
	if (p.is("+") || p.is("-")) && p.says(p.peek()) == "?" {
		p.next()
	}
	p.take("?")
	if p.is("(") || p.is("<") {
		p.typeParameters()
		p.parameters()
	}
	if p.take(":") {
		p.result()
	}
}

// bracketMember reads the bracket of `[key: string]`, `[K in T as U]`, `[name]`.
func (p *parser) bracketMember() {
	p.want("[")
	switch {
	case p.tok.kind == name && p.says(p.peek()) == ":":
		p.next()
		p.next()
		p.aType()
	case p.tok.kind == name && p.says(p.peek()) == "in":
		p.next()
		p.next()
		p.aType()
		if p.take("as") {
			p.aType()
		}
	default:
		p.assignment()
	}
	p.want("]")
}
