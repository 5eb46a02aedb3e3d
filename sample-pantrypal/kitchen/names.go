package kitchen

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

type findIn struct {
	Names []string `json:"names" jsonschema:"minItems=1,maxItems=100"`
}

type foundFood struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Aisle string `json:"aisle"`
}

type found struct {
	Name       string      `json:"name"`
	Food       *foundFood  `json:"food"       jsonschema:"nullable"`
	Candidates []foundFood `json:"candidates"`
}

type findOut struct {
	Found []found `json:"found"`
}

// maxName bounds the name of a food, in characters.
const maxName = 120

func findFood(ctx context.Context, call framework.Call, in findIn) (findOut, error) {
	book, err := readBook(ctx, call)
	if err != nil {
		return findOut{}, err
	}
	out := findOut{Found: []found{}}
	for i, name := range in.Names {
		if n := utf8.RuneCountInString(strings.TrimSpace(name)); n == 0 || n > maxName {
			return findOut{}, fault.Newf(fault.InvalidPayload, "a name has 1 to %d characters, not %d", maxName, n).WithPath("/names/" + strconv.Itoa(i)).WithHint("Send what people call a food.")
		}
		out.Found = append(out.Found, match(book, name, book.Find(name)))
	}
	return out, nil
}

func match(book *foods.Book, name string, m quantity.Match) found {
	f := found{Name: name, Candidates: []foundFood{}}
	if food, ok := book.Of(m.ID); ok {
		f.Food = &foundFood{food.ID, food.Name, food.Aisle}
	}
	for _, id := range m.Candidates {
		if food, ok := book.Of(id); ok {
			f.Candidates = append(f.Candidates, foundFood{food.ID, food.Name, food.Aisle})
		}
	}
	return f
}

type readIn struct {
	Lines []string `json:"lines" jsonschema:"maxItems=200"`
}

type readLine struct {
	Text        string      `json:"text"`
	Name        string      `json:"name"`
	FoodID      *string     `json:"foodId"     jsonschema:"nullable"`
	Candidates  []foundFood `json:"candidates"`
	Amount      *float64    `json:"amount"     jsonschema:"nullable"`
	AmountMax   *float64    `json:"amountMax"  jsonschema:"nullable"`
	Unit        *string     `json:"unit"       jsonschema:"nullable"`
	Preparation string      `json:"preparation"`
	Optional    bool        `json:"optional"`
	Problem     string      `json:"problem"    jsonschema_description:"why the line cannot be read; empty if it can"`
}

// readOut has more lines than were sent where one names several foods.
type readOut struct {
	Lines []readLine `json:"lines"`
}

func readIngredients(ctx context.Context, call framework.Call, in readIn) (readOut, error) {
	h, err := readHousehold(ctx, call)
	if err != nil {
		return readOut{}, err
	}
	out := readOut{Lines: []readLine{}}
	for _, text := range in.Lines {
		out.Lines = append(out.Lines, h.readLine(text)...)
	}
	return out, nil
}

// unread says what of a line that names no food may be an amount that was not read as one.
func unread(l quantity.Line) string {
	switch first, _, more := strings.Cut(l.Name, " "); {
	case !l.Amount.Valid && strings.ContainsAny(first, "0123456789"):
		return fmt.Sprintf("the amount of %q cannot be read", l.Text)
	case l.Amount.Valid && l.Unit == quantity.Piece && l.Package == "" && more:
		return fmt.Sprintf("no food is called %q, and no unit %q", l.Name, first)
	}
	return ""
}

func number(d decimal.NullDecimal) *float64 {
	if !d.Valid {
		return nil
	}
	f := d.Decimal.InexactFloat64()
	return &f
}

type convertItem struct {
	FoodID string  `json:"foodId"`
	Amount float64 `json:"amount" jsonschema:"minimum=0"`
	Unit   string  `json:"unit"`
	To     string  `json:"to,omitempty" jsonschema_description:"a unit: g, ml, piece, cup ...; without it, its own: for the text"`
}

type convertIn struct {
	Amounts []convertItem `json:"amounts" jsonschema:"maxItems=1000"`
}

type converted struct {
	Amount  *float64 `json:"amount"  jsonschema:"nullable"`
	Unit    string   `json:"unit"`
	Text    string   `json:"text"`
	Problem string   `json:"problem" jsonschema_description:"why it cannot be converted; empty if it can"`
}

type convertOut struct {
	Amounts []converted `json:"amounts"`
}

func convertAmounts(ctx context.Context, call framework.Call, in convertIn) (convertOut, error) {
	h, err := readHousehold(ctx, call)
	if err != nil {
		return convertOut{}, err
	}
	out := convertOut{Amounts: []converted{}}
	for _, item := range in.Amounts {
		f, _ := h.book.Of(item.FoodID)
		c := converted{Unit: cmp.Or(item.To, item.Unit)}
		a, err := f.Convert(amountOf(item.Amount, item.Unit), quantity.Unit(c.Unit), h.system())
		if err != nil {
			c.Problem = err.Error()
		} else {
			v := float(a.Value)
			c.Amount, c.Text = &v, a.String()
		}
		out.Amounts = append(out.Amounts, c)
	}
	return out, nil
}

func amountOf(value float64, unit string) quantity.Amount {
	return quantity.Of(decimal.NewFromFloat(value), quantity.Unit(unit))
}

// float returns what JSON and the columns hold of an amount.
func float(d decimal.Decimal) float64 { return d.Round(quantity.Places).InexactFloat64() }
