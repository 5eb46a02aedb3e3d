package quantity

import (
	"errors"
	"strings"
	"unicode"

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
		case r > unicode.MaxASCII && unicode.IsDigit(r):
			return '0' + digitOf(r)
		case r == '．', r == '٫':
			return '.'
		case r == '，', r == '٬':
			return ','
		case r == '／':
			return '/'
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	text = norm.NFC.String(text) // after the map: marks may have moved together
	text = strings.Join(strings.Fields(text), " ")
	for _, mark := range []string{"- ", "* ", "• ", "· ", "▢ ", "[ ] ", "☐ "} {
		text = strings.TrimPrefix(text, mark)
	}
	return strings.TrimSpace(text)
}

// digitOf returns the value of a decimal digit of any script. Unicode has the ten of a script in a row.
func digitOf(r rune) rune {
	for _, run := range unicode.Nd.R16 {
		if r >= rune(run.Lo) && r <= rune(run.Hi) {
			return (r - rune(run.Lo)) % 10
		}
	}
	for _, run := range unicode.Nd.R32 {
		if r >= rune(run.Lo) && r <= rune(run.Hi) {
			return (r - rune(run.Lo)) % 10
		}
	}
	return 0
}
