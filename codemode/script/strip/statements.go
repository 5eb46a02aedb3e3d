package strip

// statements reads a list of them up to a mark, or to the end.
func (p *parser) statements(until string) {
	first := true
	for p.tok.kind != end && (until == "" || !p.is(until)) {
		from := p.tok.from
		if first {
			p.first = from
		}
		p.statement()
		first = first && p.omitted == from
	}
}

// omit leaves out a statement. What stands before must not go on in what stands
// behind; where nothing does, nothing is put there: a directive can follow.
func (p *parser) omit(from int) {
	with := ";"
	if p.first == from {
		with = ""
	}
	p.replace(from, with)
	p.omitted = from
}

func (p *parser) block() {
	p.want("{")
	before := p.where
	p.where.blocks++
	p.where.noIn, p.where.consequent = false, false
	p.statements("}")
	p.where = before
	p.want("}")
}

// finish ends a statement, as the text does or by a new line.
func (p *parser) finish() {
	if p.take(";") || p.is("}") || p.tok.kind == end || p.tok.fresh {
		return
	}
	p.fail()
}

func (p *parser) statement() {
	p.enter()
	defer p.leave()
	if p.tok.kind == mark {
		switch p.says(p.tok) {
		case "{":
			p.block()
			return
		case ";":
			p.next()
			return
		}
	}
	if p.tok.kind == name {
		if read := statementsOf[p.says(p.tok)]; read != nil && read(p) {
			return
		}
		if p.says(p.peek()) == ":" && !p.isOne(reserved) {
			p.next()
			p.next()
			p.statement()
			return
		}
	}
	p.expression()
	p.finish()
}

// statementsOf reads a statement by its first word; it gives false where that word
// begins an expression.
var statementsOf map[string]func(*parser) bool

func init() {
	statementsOf = map[string]func(*parser) bool{
		"var": (*parser).variables, "let": (*parser).let, "const": (*parser).variables,
		"function": always((*parser).functionStatement), "async": (*parser).asyncStatement,
		"class": always((*parser).classStatement), "abstract": (*parser).abstractClass,
		"if": always((*parser).ifStatement), "for": always((*parser).forStatement),
		"while": always((*parser).headAndBody), "do": always((*parser).doStatement),
		"return": always((*parser).returnStatement), "throw": always((*parser).throwStatement),
		"break": always((*parser).jump), "continue": always((*parser).jump), "debugger": always((*parser).jump),
		"try": always((*parser).tryStatement), "switch": always((*parser).switchStatement), "with": always((*parser).giveUp),
		"import": always((*parser).importStatement), "export": always((*parser).exportStatement),
		"enum": always((*parser).enum), "type": (*parser).typeAlias, "interface": (*parser).interfaceStatement,
		"declare": (*parser).declare, "namespace": (*parser).namespace, "module": (*parser).namespace, "global": (*parser).namespace,
	}
}

func always(read func(*parser)) func(*parser) bool {
	return func(p *parser) bool {
		read(p)
		return true
	}
}

func (p *parser) let() bool {
	switch t := p.peek(); {
	case t.kind == name && !reserved[p.says(t)] || t.kind == mark && (p.says(t) == "[" || p.says(t) == "{"):
		return p.variables()
	}
	p.giveUp() // a variable called let
	return true
}

// variables reads a declaration of some.
func (p *parser) variables() bool {
	if p.is("const") && p.says(p.peek()) == "enum" {
		from := p.tok.from
		p.next()
		p.enumFrom(from)
		return true
	}
	p.next()
	p.declarators()
	p.finish()
	return true
}

func (p *parser) declarators() {
	for {
		p.binding()
		p.annotation("!")
		if p.take("=") {
			p.assignment()
		}
		if !p.take(",") {
			return
		}
	}
}

// annotation leaves out the type of what was just declared. The mark stands before
// the colon where the declaration can have it, with or without a type.
func (p *parser) annotation(optional string) {
	from := p.tok.from
	if !(optional != "" && p.take(optional)) && !p.is(":") {
		return
	}
	if p.take(":") {
		p.aType()
	}
	p.erase(from)
}

// binding reads what is declared: a name or a pattern.
func (p *parser) binding() {
	p.enter()
	defer p.leave()
	switch {
	case p.is("{"):
		p.items("{", "}", p.bindingProperty)
	case p.is("["):
		p.items("[", "]", func() {
			if !p.is(",") { // else there is a hole
				p.take("...")
				p.bindingElement()
			}
		})
	default:
		p.wantName()
	}
}

func (p *parser) bindingProperty() {
	if p.take("...") {
		p.wantName()
		return
	}
	plain := p.tok.kind == name && !p.isOne(reserved)
	p.propertyName()
	switch {
	case p.take(":"):
		p.bindingElement()
	case !plain:
		p.fail()
	case p.take("="):
		p.assignment()
	}
}

func (p *parser) bindingElement() {
	p.binding()
	if p.take("=") {
		p.assignment()
	}
}

func (p *parser) functionStatement() {
	from := p.tok.from
	p.function(from, true)
}

func (p *parser) asyncStatement() bool {
	if t := p.peek(); p.says(t) != "function" || t.fresh {
		return false
	}
	p.function(p.tok.from, true)
	return true
}

// function reads a function from `async` or `function` on; one that has no body is
// a declaration of what another one takes, and is left out from a place on.
func (p *parser) function(from int, named bool) {
	p.take("async")
	p.want("function")
	generator := p.take("*")
	if named || p.tok.kind == name {
		p.wantName()
	}
	p.signatureAndBody(from, generator, named)
}

// signatureAndBody reads a function from its type parameters on.
func (p *parser) signatureAndBody(from int, generator, omissible bool) {
	p.typeParameters()
	p.inFunction(false, generator, func() {
		p.parameters()
		p.resultType()
		if omissible && !p.is("{") {
			p.finish()
			p.omit(from)
			return
		}
		p.body()
	})
}

// body reads the statements of a function.
func (p *parser) body() {
	p.want("{")
	p.statements("}")
	p.want("}")
}

func (p *parser) parameters() {
	p.want("(")
	for p.tok.kind != end && !p.is(")") {
		if p.is("this") {
			from := p.tok.from
			p.next()
			if p.take(":") {
				p.aType()
			}
			p.take(",")
			p.erase(from)
			continue
		}
		if p.tok.kind == name && modifiers[p.says(p.tok)] {
			if t := p.peek(); t.kind == name || p.says(t) == "{" || p.says(t) == "[" {
				p.giveUp() // it declares a member too
				return
			}
		}
		p.take("...")
		p.binding()
		p.annotation("?")
		if p.take("=") {
			p.assignment()
		}
		if !p.is(")") {
			p.want(",")
		}
	}
	p.want(")")
}

func (p *parser) ifStatement() {
	p.next()
	p.head()
	p.inner()
	if p.take("else") {
		p.inner()
	}
}

// inner reads a statement that is a part of another one.
func (p *parser) inner() {
	if p.is("let") {
		p.giveUp() // a variable called let: nothing is declared there
	}
	p.where.blocks++
	p.statement()
	p.where.blocks--
}

// head reads an expression in parentheses.
func (p *parser) head() {
	p.want("(")
	p.inside(p.expression)
	p.want(")")
}

func (p *parser) headAndBody() {
	p.next()
	p.head()
	p.inner()
}

func (p *parser) doStatement() {
	p.next()
	p.inner()
	p.want("while")
	p.head()
	p.take(";")
}

func (p *parser) forStatement() {
	p.next()
	p.want("(") // `for await` is for the compiler
	p.forHead()
	p.want(")")
	p.inner()
}

func (p *parser) forHead() {
	before := p.where
	p.where.noIn, p.where.consequent = true, false
	switch {
	case p.is(";"):
	case p.is("var"), p.is("const"), p.is("let"):
		p.next()
		p.declarators()
	default:
		p.expression()
	}
	p.where = before
	p.inside(func() {
		switch {
		case p.take("of"):
			p.assignment()
		case p.take("in"):
			p.expression()
		default:
			p.want(";")
			if !p.is(";") {
				p.expression()
			}
			p.want(";")
			if !p.is(")") {
				p.expression()
			}
		}
	})
}

func (p *parser) returnStatement() {
	p.next()
	if p.where.functions == 0 {
		p.returns = true
	}
	if !p.is(";") && !p.is("}") && p.tok.kind != end && !p.tok.fresh {
		p.expression()
	}
	p.finish()
}

func (p *parser) throwStatement() {
	p.next()
	if p.tok.fresh {
		p.fail()
	}
	p.expression()
	p.finish()
}

// jump reads a statement of one word, and perhaps a label.
func (p *parser) jump() {
	p.next()
	if p.tok.kind == name && !p.tok.fresh {
		p.wantName()
	}
	p.finish()
}

func (p *parser) tryStatement() {
	p.next()
	p.block()
	if p.take("catch") {
		if p.take("(") {
			p.binding()
			p.annotation("")
			p.want(")")
		}
		p.block()
	}
	if p.take("finally") {
		p.block()
	}
}

func (p *parser) switchStatement() {
	p.next()
	p.head()
	p.want("{")
	p.where.blocks++
	for p.tok.kind != end && !p.is("}") {
		if p.take("case") {
			p.inside(func() {
				p.where.consequent = true
				p.expression()
			})
		} else {
			p.want("default")
		}
		p.want(":")
		for p.tok.kind != end && !p.is("case") && !p.is("default") && !p.is("}") {
			p.statement()
		}
	}
	p.where.blocks--
	p.want("}")
}
