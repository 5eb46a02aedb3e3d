package strip

import "strings"

// outermost tells whether a statement stands in the module itself; import and export
// stand nowhere else.
func (p *parser) outermost() bool {
	if p.where.blocks > 0 || p.where.functions > 0 {
		p.giveUp()
		return false
	}
	return true
}

// without leaves out what makes a module of a text.
func (p *parser) without(from int, with string) {
	if p.opts.Modules {
		p.edit(edit{from: from, to: p.last, with: with})
	}
}

// importStatement reads one. Attributes, and import as a value, are for the compiler.
func (p *parser) importStatement() {
	from := p.tok.from
	if !p.outermost() {
		return
	}
	p.next()
	if p.tok.kind == text {
		p.importFrom(from, Import{})
		return
	}
	if p.is("type") {
		if t := p.peek(); p.says(t) == "{" || p.says(t) == "*" || t.kind == name && p.says(t) != "from" {
			p.next()
			p.typesImport(from)
			return
		}
	}
	var one Import
	if p.tok.kind == name {
		one.Default = p.wantName()
		if !p.take(",") {
			p.want("from")
			p.importFrom(from, one)
			return
		}
	}
	if p.take("*") {
		p.want("as")
		one.Whole = p.wantName()
	} else {
		one.Names = p.specifiers()
	}
	p.want("from")
	p.importFrom(from, one)
}

// typesImport leaves out an import of types alone.
func (p *parser) typesImport(from int) {
	switch {
	case p.tok.kind == name:
		p.wantName()
	case p.take("*"):
		p.want("as")
		p.wantName()
	default:
		p.specifiers()
	}
	p.want("from")
	if p.tok.kind != text {
		p.fail()
	}
	p.next()
	p.finish()
	p.replace(from, ";")
}

// importFrom reads an import from the module's name on.
func (p *parser) importFrom(from int, one Import) {
	if p.tok.kind != text {
		p.giveUp()
		return
	}
	literal := p.says(p.tok)
	if strings.ContainsAny(literal, "\\") {
		p.giveUp()
		return
	}
	one.Path = literal[1 : len(literal)-1]
	p.next()
	p.finish()
	p.imports = append(p.imports, one)
	p.without(from, ";")
}

// specifiers reads the names of an import or export; those of types are left out.
func (p *parser) specifiers() (out []Name) {
	p.want("{")
	for p.tok.kind != end && !p.is("}") {
		from, isType := p.tok.from, false
		if p.is("type") {
			if t := p.peek(); t.kind == name {
				if p.says(t) == "as" {
					p.giveUp()
				}
				isType = true
				p.next()
			}
		}
		if p.tok.kind != name {
			p.giveUp()
			return nil
		}
		n := Name{Theirs: p.says(p.tok)}
		n.Ours = n.Theirs
		p.next()
		if p.take("as") {
			if p.tok.kind != name {
				p.giveUp()
				return nil
			}
			n.Ours = p.says(p.tok)
			p.next()
		}
		if !p.is("}") {
			p.want(",")
		}
		if isType {
			p.erase(from)
			continue
		}
		out = append(out, n)
	}
	p.want("}")
	return out
}

// exportStatement reads an export. One of another module's names is for the compiler.
func (p *parser) exportStatement() {
	from := p.tok.from
	if !p.outermost() {
		return
	}
	p.next()
	switch {
	case p.take("default"):
		p.exportDefault(from)
	case p.is("type"):
		if !p.typeAliasFrom(from) {
			p.giveUp()
		}
	case p.is("interface"):
		if !p.interfaceFrom(from) {
			p.giveUp()
		}
	case p.is("declare"):
		if !p.declareFrom(from) {
			p.giveUp()
		}
	case p.is("function"), p.is("async"):
		p.without(from, "")
		p.function(from, true)
	case p.is("const"), p.is("let"), p.is("var"), p.is("class"), p.is("abstract") && p.says(p.peek()) == "class", p.is("enum"):
		p.without(from, "")
		p.statement()
	case p.is("{"):
		p.exportNames(from)
	default:
		p.giveUp()
	}
}

// exportNames reads an export of what is declared elsewhere.
func (p *parser) exportNames(from int) {
	for _, n := range p.specifiers() {
		local, exported := n.Theirs, n.Ours
		if exported == "default" {
			if p.exported != "" {
				p.giveUp()
			}
			p.exported = local
		}
		p.listed = append(p.listed, local)
	}
	p.finish()
	p.without(from, ";")
}

// exportDefault reads an export from what is exported on.
func (p *parser) exportDefault(from int) {
	if p.exported != "" {
		p.giveUp()
		return
	}
	async := p.is("async") && p.says(p.peek()) == "function" && !p.peek().fresh
	if async || p.is("function") || p.is("class") {
		p.defaultDeclaration(from)
		return
	}
	if p.is("abstract") || p.is("interface") || p.is("enum") || p.is("type") {
		p.giveUp()
		return
	}
	p.exported = Default
	p.instead(from, "const "+Default+" =")
	p.assignment()
	p.finish()
}

// instead writes something for the words that were just read.
func (p *parser) instead(from int, with string) {
	if p.opts.Modules {
		p.edit(edit{from: from, to: p.last, with: with, whole: true})
	}
}

// defaultDeclaration reads a function or class; one without a name becomes a value.
func (p *parser) defaultDeclaration(from int) {
	last := p.last
	p.exported = p.declaredName()
	if p.exported == "" {
		p.exported = Default
		p.instead(from, "const "+Default+" =")
		if p.is("class") {
			p.class(false)
		} else {
			p.functionWithBody()
		}
		if p.opts.Modules {
			p.edit(edit{from: p.last, to: p.last, with: ";", whole: true})
		}
		return
	}
	if p.opts.Modules {
		p.edit(edit{from: from, to: last})
	}
	if p.is("class") {
		p.class(true)
		return
	}
	p.functionWithBody()
}

// functionWithBody reads a function that cannot be a declaration alone.
func (p *parser) functionWithBody() { p.function(p.tok.from, false) }

// declaredName gives the name of the function or class that begins here.
func (p *parser) declaredName() string {
	before := *p
	p.take("async")
	p.next()
	p.take("*")
	is := ""
	if p.tok.kind == name && !p.is("extends") && !p.is("implements") {
		is = p.says(p.tok)
	}
	if p.failed || p.unsure {
		return is
	}
	*p = before
	return is
}
