package strip

// parser reads a text once, from left to right, and notes what is to be left out.
//
// There are two ways to stop. What fails is not what the parser took it for: an
// attempt (attempt) goes back and takes it for something else. What it gives up is
// beyond it, whatever else it is taken for. After either there are no more tokens.
type parser struct {
	src    string
	opts   Options
	tok    token
	last   int // where the token before the current one ended
	steps  int // tokens that may still be read: an attempt reads them again
	depth  int
	failed bool
	unsure bool
	edits  []edit
	quiet  int // > 0 inside of what is left out as a whole

	first   int // where the statement begins before which nothing stays in its list, -1 for none
	omitted int // where the statement began that was left out last, -1 for none

	where   place
	refuted map[int]bool // where an attempt failed before

	imports  []Import
	exported string
	listed   []string
	returns  bool
}

// place is what decides the meaning of a text besides the text.
type place struct {
	noIn       bool // `in` ends an expression: the head of a for statement
	consequent bool // a colon ends an expression: between `?` and `:`
	functions  int  // around it, arrow functions too
	receivers  int  // functions and classes around it that have a `this` of their own
	blocks     int  // around it, since the last function
	generator  bool
}

// maxDepth bounds how deep a text is nested.
const maxDepth = 250

func (p *parser) fail() {
	p.failed = true
	p.tok = token{kind: end, from: len(p.src), to: len(p.src)}
}

func (p *parser) giveUp() {
	p.unsure = true
	p.tok = token{kind: end, from: len(p.src), to: len(p.src)}
}

// enter goes one level down; leave comes back.
func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.giveUp()
	}
}

func (p *parser) leave() { p.depth-- }

// attempt does something, or, where that fails, nothing.
func (p *parser) attempt(purpose int, try func()) bool {
	key := p.tok.from*purposes + purpose
	if p.refuted[key] {
		return false
	}
	before := *p
	try()
	if !p.failed {
		return true
	}
	steps, unsure := p.steps, p.unsure
	refuted := p.refuted
	*p = before
	p.steps, p.unsure = steps, unsure
	if refuted == nil {
		refuted = map[int]bool{}
	}
	p.refuted = refuted
	p.refuted[key] = true
	if unsure {
		p.giveUp()
	}
	return false
}

// peek gives the token behind the current one.
func (p *parser) peek() token {
	before, last := p.tok, p.last
	p.next()
	t := p.tok
	if !p.failed && !p.unsure {
		p.tok, p.last = before, last
	}
	return t
}

// says gives the text of a token.
func (p *parser) says(t token) string { return p.src[t.from:t.to] }

// is tells whether the current token is a mark or a name with that text.
func (p *parser) is(s string) bool {
	return (p.tok.kind == mark || p.tok.kind == name) && p.says(p.tok) == s
}

func (p *parser) isOne(list map[string]bool) bool {
	return (p.tok.kind == mark || p.tok.kind == name) && list[p.says(p.tok)]
}

func of(list ...string) map[string]bool {
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

// take goes past the current token if it is that.
func (p *parser) take(s string) bool {
	if !p.is(s) {
		return false
	}
	p.next()
	return true
}

func (p *parser) want(s string) {
	if !p.take(s) {
		p.fail()
	}
}

// wantName goes past a name that can be declared.
func (p *parser) wantName() string {
	if p.tok.kind != name || p.isOne(reserved) {
		p.fail()
		return ""
	}
	s := p.says(p.tok)
	p.next()
	return s
}

// reserved are the words that name nothing.
var reserved = of("break", "case", "catch", "class", "const", "continue", "debugger", "default", "delete", "do", "else", "enum", "export",
	"extends", "false", "finally", "for", "function", "if", "import", "in", "instanceof", "new", "null", "return", "super", "switch", "this",
	"throw", "true", "try", "typeof", "var", "void", "while", "with")

// erase leaves out the source from a place to the end of the token before the
// current one.
func (p *parser) erase(from int) { p.replace(from, "") }

// replace is erase with something short in the first bytes' place.
func (p *parser) replace(from int, with string) {
	if !p.opts.Types {
		p.fail()
	}
	p.edit(edit{from: from, to: p.last, with: with})
}

// edit notes one. Those of what it leaves out as a whole are not needed any more; as
// all end at what was read last, they stay in the order of the text.
func (p *parser) edit(e edit) {
	if p.quiet > 0 || p.failed || p.unsure {
		return
	}
	for n := len(p.edits); n > 0 && p.edits[n-1].from >= e.from; n-- {
		p.edits = p.edits[:n-1]
	}
	p.edits = append(p.edits, e)
}

// inFunction does something inside of a function. Arrow functions have the receiver
// and the kind of what is around them.
func (p *parser) inFunction(arrow, generator bool, do func()) {
	before := p.where
	p.where = place{functions: before.functions + 1, receivers: before.receivers, generator: generator}
	if !arrow {
		p.where.receivers++
	}
	do()
	p.where = before
}

// items reads a list between two marks, with commas between what it has.
func (p *parser) items(open, shut string, item func()) {
	p.want(open)
	p.inside(func() {
		for p.tok.kind != end && !p.is(shut) {
			item()
			if !p.is(shut) {
				p.want(",")
			}
		}
	})
	p.want(shut)
}

// inside does something between brackets.
func (p *parser) inside(do func()) {
	before := p.where
	p.where.noIn, p.where.consequent = false, false
	do()
	p.where = before
}
