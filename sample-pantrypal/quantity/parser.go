package quantity

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/shopspring/decimal"
)

// lineParser reads what a line says before the name of the food. What it does not
// understand stays in rest.
type lineParser struct {
	scanner
	system System
	notes  []string // become the preparation
}

// vague are measures that say no amount.
var vague = []string{
	"pinch", "pinches", "dash", "dashes", "splash", "drizzle", "knob", "handful", "handfuls", "sprinkle", "sprinkling", "glug", "few", "little", "bit", "touch", "squeeze", "grating", "drop", "drops",
	"prise", "prisen", "messerspitze", "msp.", "msp", "etwas", "spritzer", "schuss", "handvoll", "pincée", "pincées", "poignée", "peu", "filet",
}

// partOf is what is wanted of a whole thing: "juice of 1 lemon" takes a lemon.
var partOf = regexp.MustCompile(`(?i)^(the )?(finely |freshly )?(grated |squeezed )?(juice|zest|rind|peel)( and (juice|zest|rind|peel))? of `)

// amount takes all that says how much.
func (p *lineParser) amount(l *Line) {
	p.words("about", "approximately", "approx.", "approx", "around", "roughly", "ca.", "ca", "circa", "etwa", "environ", "env.")
	p.take("~")
	p.space()
	if m := partOf.FindString(p.rest); m != "" {
		p.notes = append(p.notes, strings.TrimSpace(m))
		p.rest = p.rest[len(m):]
	}
	before := p.rest
	p.article()
	first, ok := p.number()
	if !ok {
		p.vague(p.rest)
		return
	}
	if p.vague(before) {
		return
	}
	most, isRange := p.upTo(&first)
	switch {
	case p.length(before):
		return
	case isRange:
		l.AmountMax = decimal.NewNullDecimal(most)
	case !p.countable():
		p.rest = before
		return
	case p.words("dozen"):
		first = first.Mul(decimal.NewFromInt(12))
	}
	l.Amount = decimal.NewNullDecimal(first)
	p.measure(l)
	if figure := grouped.FindString(before); figure != "" && isAmbiguous(figure, l.Unit) {
		*l = Line{Text: l.Text}
		one, digits := strings.Replace(figure, ",", ".", 1), strings.NewReplacer(".", "", ",", "").Replace(figure)
		p.rest, p.notes = before, append(p.notes, fmt.Sprintf("%s may be %s or %s", figure, strings.TrimRight(strings.TrimRight(one, "0"), "."), digits))
	}
}

// grouped is a figure with three digits behind a point or a comma, which people read as decimals or as
// thousands.
var grouped = regexp.MustCompile(`^[1-9][0-9]{0,2}[.,][0-9]{3}\b`)

// isAmbiguous reports whether a figure with three digits behind a mark may be a thousand times as much. A comma
// groups thousands, but nobody cooks a thousand kilograms; a point begins decimals, but nobody weighs
// thousandths of a gram. Who measures in cups or pounds writes both so.
func isAmbiguous(figure string, u Unit) bool {
	if strings.Contains(figure, ",") {
		return u == "kg" || u == "l"
	}
	return u == Gram || u == Millilitre || u == Piece
}

// measure takes the unit of an amount, and what else stands before the name.
func (p *lineParser) measure(l *Line) {
	p.words("heaped", "heaping", "level", "rounded", "scant", "generous")
	if p.filled(l) {
		return
	}
	if before := p.rest; p.words("whole") { // "1 whole clove garlic", and not "1 whole chicken"
		if l.Unit = p.unit(); l.Unit == "" {
			p.rest = before
		}
	} else {
		l.Unit = p.unit()
	}
	if l.Unit == "" {
		l.Unit = Piece
	}
	p.otherwise(l)
	p.inside(l)
	p.more(l)
	p.of()
}

// of takes the word between a unit and what it is of.
func (p *lineParser) of() {
	if !p.words("of", "de", "du", "des") {
		p.take("d'")
	}
}

// article drops the "a" of "a 400 g can".
func (p *lineParser) article() {
	before := p.rest
	if p.words("a", "an", "the") && p.rest != "" && (p.rest[0] < '0' || p.rest[0] > '9') {
		p.rest = before
	}
}

// otherwise takes the same amount in another unit, "/1 lb 2 oz", out of the way.
func (p *lineParser) otherwise(l *Line) {
	before := p.rest
	if !p.take("/") {
		return
	}
	p.space()
	if other, ok := p.weight(); ok && l.Unit.Dimension() == other.Unit.Dimension() {
		p.weight()
		p.notes = append(p.notes, strings.Trim(strings.TrimSuffix(before, p.rest), "/ "))
		return
	}
	p.rest = before
}

// vague takes "a pinch of", whose words go to the preparation.
func (p *lineParser) vague(from string) bool {
	before := p.rest
	p.words("good", "generous", "small", "large", "big")
	if !p.words(vague...) {
		p.rest = before
		return false
	}
	p.notes = append(p.notes, strings.TrimSpace(strings.TrimSuffix(from, p.rest)))
	p.of()
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

// upTo takes the second number of a range. The fraction of "1-1/2" is no end of a
// range, and is added to the first.
func (p *lineParser) upTo(least *decimal.Decimal) (decimal.Decimal, bool) {
	before := p.rest
	dash := p.take("-")
	p.space()
	if dash || p.words("to", "or") {
		most, ok := p.figures()
		p.space()
		switch {
		case ok && most.GreaterThan(*least):
			return most, true
		case ok && dash && least.IsInteger() && least.IsPositive() && most.IsPositive() && most.LessThan(decimal.NewFromInt(1)):
			*least = least.Add(most)
			return decimal.Zero, false
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
	for _, s := range spoons {
		if p.words(s.phrases...) {
			return s.unit
		}
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

// bought reports whether "400 g can" means a can that holds 400 g.
func bought(u Unit) bool {
	return slices.Contains([]Unit{"can", "jar", "pack", "bottle"}, u)
}

// inside takes the contents of a package behind its unit, "2 cans (400 g each)",
// and the package behind its contents, "400 g can".
func (p *lineParser) inside(l *Line) {
	before := p.rest
	if d := l.Unit.Dimension(); d == Mass || d == Volume {
		if u := p.unit(); bought(u) && !l.AmountMax.Valid {
			each := Of(l.Amount.Decimal, l.Unit)
			l.Amount = decimal.NewNullDecimal(decimal.NewFromInt(1))
			l.packed(u, each)
			return
		}
		p.rest = before
		return
	}
	if !container(l.Unit) {
		return
	}
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

// more takes "plus 2 tbsp", and the ounces of "2 lb 3 oz", where they can be added,
// and otherwise leaves them.
func (p *lineParser) more(l *Line) {
	before := p.rest
	said := p.words("plus", "and") || p.take("+")
	p.space()
	add, ok := p.weight()
	dimension := l.Unit.Dimension()
	if !ok || l.AmountMax.Valid || add.Unit.Dimension() != dimension || !said && !add.Unit.size(p.system).LessThan(l.Unit.size(p.system)) {
		p.rest = before
		return
	}
	sum := l.Amount.Decimal.Mul(l.Unit.size(p.system)).Add(add.Value.Mul(add.Unit.size(p.system)))
	l.Amount.Decimal = sum.DivRound(l.Unit.size(p.system), Places)
}
