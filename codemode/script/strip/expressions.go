package strip

// expression reads one with its commas.
func (p *parser) expression() {
	p.assignment()
	for p.take(",") {
		p.assignment()
	}
}

// What an attempt at a place is for: a place can be tried for each.
const (
	arrowFunction = iota
	typeArguments
	functionType
	purposes
)

// assignment reads an expression without commas outside of brackets.
func (p *parser) assignment() {
	p.enter()
	defer p.leave()
	if p.arrow() {
		return
	}
	if p.is("yield") && p.where.generator {
		p.yield()
		return
	}
	p.binary()
	if p.is("?") {
		p.conditional()
		return
	}
	if p.tok.kind == mark && assigns[p.says(p.tok)] {
		p.next()
		p.assignment()
	}
}

var assigns = of("=", "+=", "-=", "*=", "/=", "%=", "**=", "<<=", ">>=", ">>>=", "&=", "|=", "^=", "&&=", "||=", "??=")

func (p *parser) conditional() {
	p.next()
	before := p.where
	p.where.noIn, p.where.consequent = false, true
	p.assignment()
	p.where = before
	p.want(":")
	p.assignment()
}

func (p *parser) yield() {
	p.next()
	if p.take("*") {
		p.assignment()
		return
	}
	if p.tok.fresh || p.tok.kind == end || p.tok.kind == mark && closes[p.says(p.tok)] || p.is("in") || p.is("of") {
		return
	}
	p.assignment()
}

// closes are the marks that no expression begins with and that end one.
var closes = of(")", "]", "}", ",", ";", ":")

// binary reads operands and the operators between them. Which binds how is no
// matter here, but for the types between them.
func (p *parser) binary() {
	p.unary()
	for {
		switch {
		case p.tok.kind == mark && operators[p.says(p.tok)]:
			p.next()
			p.unary()
		case p.is("instanceof"), p.is("in") && !p.where.noIn:
			p.next()
			p.unary()
		case (p.is("as") || p.is("satisfies")) && !p.tok.fresh:
			p.cast()
		default:
			return
		}
	}
}

var operators = of("+", "-", "*", "/", "%", "**", "<<", ">>", ">>>", "&", "|", "^", "&&", "||", "??", "<", ">", "<=", ">=", "==", "!=", "===", "!==")

// behindCast are the marks that mean the same behind a type and behind the value
// that the type was said of.
var behindCast = of(")", "]", "}", ",", ";", ":", "?", "&&", "||", "??", "==", "!=", "===", "!==", "<=", ">=")

// cast leaves out `as T` and `satisfies T`.
func (p *parser) cast() {
	from := p.tok.from
	p.next()
	if !p.take("const") {
		p.aType()
	}
	p.erase(from)
	switch {
	case p.tok.kind == end:
	case p.tok.kind == mark:
		if !behindCast[p.says(p.tok)] {
			p.giveUp()
		}
	case p.is("as"), p.is("satisfies"), p.is("in"), p.is("instanceof"), p.is("of"):
	case !p.tok.fresh || p.tok.kind == template:
		p.giveUp()
	}
}

// before are the operators that stand before their operand.
var before = of("!", "~", "+", "-", "++", "--", "typeof", "void", "delete", "await")

func (p *parser) unary() {
	p.enter()
	defer p.leave()
	if p.isOne(before) {
		if p.is("await") && p.says(p.peek()) == "=>" {
			p.giveUp()
		}
		p.next()
		p.unary()
		return
	}
	if p.is("<") {
		p.giveUp() // an assertion, or a type parameter that is none
		return
	}
	p.operand()
	if (p.is("++") || p.is("--")) && !p.tok.fresh {
		p.next()
	}
}

// operand reads a value and what is asked of it: members, calls.
func (p *parser) operand() {
	if p.is("new") {
		p.construction()
	} else {
		p.primary()
	}
	p.chain(false)
}

func (p *parser) construction() {
	p.enter()
	defer p.leave()
	p.next()
	switch {
	case p.take("."):
		if p.where.receivers == 0 {
			p.giveUp()
		}
		p.want("target")
		return
	case p.is("new"):
		p.construction()
	default:
		p.primary()
	}
	p.chain(true)
	if p.is("<") && !p.callArguments() {
		return
	}
	if p.is("(") {
		p.arguments()
	}
}

// chain reads what stands behind a value; a class that is about to be constructed
// is not called there.
func (p *parser) chain(class bool) {
	for {
		switch {
		case p.take("."):
			p.member()
		case p.is("["):
			p.index()
		case p.tok.kind == template:
			p.template(p.inExpression)
		case p.is("!") && !p.tok.fresh:
			from := p.tok.from
			p.next()
			p.erase(from)
		case class:
			return
		case p.is("?."):
			p.next()
			switch {
			case p.is("("):
				p.arguments()
			case p.is("["):
				p.index()
			case p.is("<"):
				if !p.callArguments() {
					p.fail()
				}
			default:
				p.member()
			}
		case p.is("("):
			p.arguments()
		case p.is("<"):
			if !p.callArguments() {
				return
			}
		default:
			return
		}
	}
}

func (p *parser) member() {
	if p.tok.kind != name && p.tok.kind != private {
		p.fail()
		return
	}
	p.next()
}

func (p *parser) index() {
	p.want("[")
	p.inside(p.expression)
	p.want("]")
}

// callArguments leaves out the type arguments of a call, if that is what begins
// here; else it is a comparison.
func (p *parser) callArguments() bool {
	from := p.tok.from
	if !p.attempt(typeArguments, p.typeArguments) {
		return false
	}
	if !p.is("(") && p.tok.kind != template {
		p.giveUp()
		return false
	}
	p.erase(from)
	return true
}

func (p *parser) arguments() { p.items("(", ")", p.spread) }

// spread reads an argument, or an element.
func (p *parser) spread() {
	p.take("...")
	p.assignment()
}

func (p *parser) inExpression() { p.inside(p.expression) }

// template reads one; what stands in its braces is read by something else.
func (p *parser) template(part func()) {
	p.enter()
	defer p.leave()
	for at := p.tok.to; at < len(p.src); at++ {
		switch c := p.src[at]; {
		case c == '\\':
			at++
		case c == '`':
			p.tok.to = at + 1
			p.next()
			return
		case c == '$' && at+1 < len(p.src) && p.src[at+1] == '{':
			p.tok.to = at + 2
			p.next()
			part()
			if !p.is("}") {
				p.fail()
				return
			}
			at = p.tok.to - 1
		}
	}
	p.fail()
}

func (p *parser) primary() {
	switch p.tok.kind {
	case number, text, private:
		p.next()
	case template:
		p.template(p.inExpression)
	case name:
		p.wordOperand()
	case mark:
		switch p.says(p.tok) {
		case "(":
			p.head()
		case "[":
			p.array()
		case "{":
			p.object()
		case "/", "/=":
			p.regexp()
		default:
			p.fail()
		}
	default:
		p.fail()
	}
}

// wordOperand reads a value that begins with a name or a keyword.
func (p *parser) wordOperand() {
	switch p.says(p.tok) {
	case "function":
		p.function(p.tok.from, false)
	case "async":
		if t := p.peek(); p.says(t) == "function" && !t.fresh {
			p.function(p.tok.from, false)
			return
		}
		p.next()
	case "class":
		p.class(false)
	case "this", "arguments":
		if p.where.receivers == 0 {
			p.giveUp() // a module has none
		}
		p.next()
	case "super", "null", "true", "false":
		p.next()
	case "import":
		p.giveUp()
	default:
		p.wantName()
	}
}

func (p *parser) array() {
	p.items("[", "]", func() {
		if !p.is(",") { // else there is a hole
			p.spread()
		}
	})
}

func (p *parser) object() { p.items("{", "}", p.property) }

// behindName are the marks behind the name of a member that are no part of what it
// is called.
var behindName = of("(", "<", ":", ",", "}", "=", ";", "?", "!")

// named tells whether the current word is the name of a member, and not a word
// before one.
func (p *parser) named() bool {
	t := p.peek()
	return t.kind == end || t.kind == mark && behindName[p.says(t)]
}

func (p *parser) property() {
	if p.take("...") {
		p.assignment()
		return
	}
	accessor, generator := false, false
	if p.is("async") && !p.named() {
		p.next()
	}
	if (p.is("get") || p.is("set")) && !p.named() {
		accessor = true
		p.next()
	}
	if p.take("*") {
		generator = true
	}
	plain := p.tok.kind == name && !accessor && !generator
	p.propertyName()
	switch {
	case p.is("("), p.is("<"):
		p.signatureAndBody(0, generator, false)
	case p.take(":"):
		p.assignment()
	case !plain:
		p.fail()
	case p.take("="): // of a pattern
		p.assignment()
	}
}

// propertyName reads the name of a member.
func (p *parser) propertyName() {
	switch {
	case p.is("["):
		p.want("[")
		p.inside(p.assignment)
		p.want("]")
	case p.tok.kind == name, p.tok.kind == text, p.tok.kind == number, p.tok.kind == private:
		p.next()
	default:
		p.fail()
	}
}
