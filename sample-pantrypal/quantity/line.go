package quantity

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"
	"golang.org/x/text/unicode/norm"
)

// Line is one ingredient as a recipe writes it.
type Line struct {
	// Text is the line as it was given.
	Text string
	// Amount and AmountMax are in Unit. Amount is not valid where the line names
	// none ("a pinch", "to taste"), AmountMax where it is not a range.
	Amount, AmountMax decimal.NullDecimal
	Unit              Unit
	// Packages and Package say of "2 cans (400 g)" that there are 2 of "can".
	// Amount is what they hold together: 800 g.
	Packages decimal.NullDecimal
	Package  Unit
	// Name is what is left to name the food.
	Name string
	// Preparation is what follows a comma or stands in parentheses.
	Preparation string
	Optional    bool
}

// MaxLine is how many bytes a line may have.
const MaxLine = 500

// Errors of ParseLine.
var (
	ErrEmptyLine = errors.New("the line names no ingredient")
	ErrLongLine  = errors.New("the line is longer than 500 bytes")
)

// ParseLine reads a line such as "1 1/2 cups flour, sifted". What it cannot read
// as an amount stays in the name, so nothing of the text is lost.
func ParseLine(text string, system System) (Line, error) {
	line := Line{Text: text}
	if len(text) > MaxLine {
		return line, ErrLongLine
	}
	p := &lineParser{scanner: scanner{clean(text)}, system: system}
	p.amount(&line)
	p.describe(&line)
	if line.Name == "" {
		return Line{Text: text}, ErrEmptyLine
	}
	return line, nil
}

// clean makes one kind of spaces and dashes of all, and drops the marks of lists.
func clean(text string) string {
	text = norm.NFC.String(strings.ToValidUTF8(text, " "))
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), unicode.IsControl(r):
			return ' '
		case r == '–', r == '—', r == '‒', r == '−', r == '‐', r == '‑':
			return '-'
		case r == '’':
			return '\''
		case unicode.Is(unicode.Cf, r):
			return -1 // a zero-width space, or a mark of direction
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	for _, mark := range []string{"- ", "* ", "• ", "· ", "▢ ", "[ ] ", "☐ "} {
		text = strings.TrimPrefix(text, mark)
	}
	return strings.TrimSpace(text)
}

type lineParser struct {
	scanner
	system System
	notes  []string // become the preparation
}

// vague are measures that say no amount.
var vague = []string{
	"pinch", "pinches", "dash", "dashes", "splash", "drizzle", "knob", "handful", "handfuls", "sprinkle", "sprinkling", "glug", "few", "little", "bit", "touch", "squeeze", "grating", "drop", "drops",
}

// partOf is what is wanted of a whole thing: "juice of 1 lemon" takes a lemon.
var partOf = regexp.MustCompile(`(?i)^(the )?(finely |freshly )?(grated |squeezed )?(juice|zest|rind|peel)( and (juice|zest|rind|peel))? of `)

// amount takes all that says how much.
func (p *lineParser) amount(l *Line) {
	p.words("about", "approximately", "approx.", "approx", "around", "roughly", "ca.", "ca", "circa")
	p.take("~")
	p.space()
	if m := partOf.FindString(p.rest); m != "" {
		p.notes = append(p.notes, strings.TrimSpace(m))
		p.rest = p.rest[len(m):]
	}
	before := p.rest
	first, ok := p.number()
	if !ok {
		p.vague(l, p.rest)
		return
	}
	if p.vague(l, before) || p.length(before) {
		return
	}
	if most, ok := p.upTo(first); ok {
		l.AmountMax = decimal.NewNullDecimal(most)
	} else if !p.countable() {
		p.rest = before
		return
	}
	l.Amount = decimal.NewNullDecimal(first)
	p.words("heaped", "heaping", "level", "rounded", "scant", "generous")
	if p.filled(l) {
		return
	}
	l.Unit = p.unit()
	if l.Unit == "" {
		l.Unit = Piece
	}
	p.inside(l)
	p.more(l)
	p.words("of")
}

// vague takes "a pinch of", whose words go to the preparation.
func (p *lineParser) vague(l *Line, from string) bool {
	before := p.rest
	p.words("good", "generous", "small", "large", "big")
	if !p.words(vague...) {
		p.rest = before
		return false
	}
	p.notes = append(p.notes, strings.TrimSpace(strings.TrimSuffix(from, p.rest)))
	p.words("of")
	return true
}

// length leaves "5 cm piece of ginger" without an amount: a length is not one.
func (p *lineParser) length(from string) bool {
	before := p.rest
	p.take("-")
	if !p.words("cm", "centimetre", "centimeter", "inch", "inches", "in", "mm") {
		p.rest = before
		return false
	}
	p.words("piece", "pieces", "knob", "thumb", "stick", "sticks", "length", "chunk")
	p.notes = append(p.notes, strings.TrimSpace(strings.TrimSuffix(from, p.rest)))
	p.words("of")
	return true
}

// upTo takes the second number of a range.
func (p *lineParser) upTo(least decimal.Decimal) (decimal.Decimal, bool) {
	before := p.rest
	dash := p.take("-")
	p.space()
	if dash || p.words("to", "or") {
		if most, ok := p.figures(); ok && most.GreaterThan(least) {
			p.space()
			return most, true
		}
	}
	p.rest = before
	return decimal.Zero, false
}

// countable reports whether what follows a number can be what it counts. In "5%",
// "7-Up" or "3-2" it cannot, and the number is part of the name.
func (p *lineParser) countable() bool {
	if p.rest == "" {
		return true
	}
	if r, _ := utf8.DecodeRuneInString(p.rest); unicode.IsLetter(r) || r == '(' || r == '×' || r == '+' || unicode.IsDigit(r) || vulgar[r] != [2]int64{} {
		return true
	}
	q := lineParser{scanner: scanner{p.rest}}
	return strings.HasPrefix(p.rest, "-") && q.unit() != ""
}

// unit takes a unit, "" where none follows. A unit that ends the line is the
// food itself: "3 cloves".
func (p *lineParser) unit() Unit {
	before := p.rest
	p.take("-")
	if p.words("fl oz", "fl. oz.", "fl. oz", "fluid ounces", "fluid ounce") {
		return "fl-oz"
	}
	w, size := p.word()
	u, ok := ParseUnit(p.rest[:size])
	if !ok {
		// "500g/1lb" and "400g-can" end a unit with what is not a letter.
		if head, _, cut := strings.Cut(w, "-"); cut {
			if u, ok = ParseUnit(head); ok {
				size = len(head)
			}
		}
	}
	if !ok || p.endsLine(size, u) {
		p.rest = before
		return ""
	}
	p.rest = p.rest[size:]
	p.space()
	if u.isPiece() && u != Piece {
		p.words("pieces", "piece")
		if inner := p.unit(); inner.Dimension() == Count && !inner.isPiece() {
			return inner // a large can is a can
		} else if inner != "" {
			p.rest = before
			return ""
		}
	}
	return u
}

// endsLine reports whether nothing to name a food would be left behind a count.
func (p *lineParser) endsLine(size int, u Unit) bool {
	rest := strings.TrimLeft(p.rest[size:], " ")
	return u.Dimension() == Count && (rest == "" || strings.HasPrefix(rest, ",") || strings.HasPrefix(rest, "(") && !strings.Contains(rest, ") "))
}

// container reports whether things of the unit are bought filled.
func container(u Unit) bool {
	return slices.Contains([]Unit{"can", "jar", "pack", "bottle", "bar", "cube", "loaf", "stick", Piece, "small", "medium", "large", "fillet", "slice", "rasher", "sheet"}, u)
}

// filled takes what stands before the unit: "2 x 400 g cans", "2 (400 g) cans"
// or "1 14-oz can".
func (p *lineParser) filled(l *Line) bool {
	before := p.rest
	times := p.words("x") || p.take("×")
	p.space()
	open := p.take("(")
	each, ok := p.weight()
	if ok && open {
		p.words("each")
		ok = p.take(")")
	}
	if ok {
		p.take("-")
		p.space()
		u := p.unit()
		if ok = times || container(u) && u != Piece; ok {
			l.packed(u, each)
			p.words("of")
			return true
		}
	}
	p.rest = before
	return false
}

// inside takes the contents of a package behind its unit: "2 cans (400 g each)".
func (p *lineParser) inside(l *Line) {
	if !container(l.Unit) {
		return
	}
	before := p.rest
	if p.take("(") {
		p.words("each", "about", "approx.", "approx", "ca.", "~", "x")
		if each, ok := p.weight(); ok {
			p.words("each")
			if p.take(")") {
				p.space()
				l.packed(l.Unit, each)
				return
			}
		}
	}
	p.rest = before
}

// weight takes a number with a unit of mass or volume.
func (p *lineParser) weight() (Amount, bool) {
	n, ok := p.figures()
	if !ok {
		return Amount{}, false
	}
	p.space()
	u := p.unit()
	if d := u.Dimension(); d != Mass && d != Volume {
		return Amount{}, false
	}
	p.space()
	return Of(n, u), true
}

// packed makes the line an amount of packages that each hold something.
func (l *Line) packed(u Unit, each Amount) {
	if u == "" {
		u = Piece
	}
	l.Packages, l.Package, l.Unit = l.Amount, u, each.Unit
	l.Amount = decimal.NewNullDecimal(l.Amount.Decimal.Mul(each.Value).Round(Places))
	if l.AmountMax.Valid {
		l.AmountMax.Decimal = l.AmountMax.Decimal.Mul(each.Value).Round(Places)
	}
}

// more takes "plus 2 tbsp" where it can be added, and otherwise leaves it.
func (p *lineParser) more(l *Line) {
	before := p.rest
	if p.words("plus", "and") || p.take("+") {
		p.space()
		if add, ok := p.weight(); ok && !l.AmountMax.Valid && add.Unit.Dimension() == l.Unit.Dimension() {
			sum := l.Amount.Decimal.Mul(l.Unit.size(p.system)).Add(add.Value.Mul(add.Unit.size(p.system)))
			l.Amount.Decimal = sum.DivRound(l.Unit.size(p.system), Places)
			return
		}
	}
	p.rest = before
}
