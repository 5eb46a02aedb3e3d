package kitchen

import (
	"slices"
	"strings"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// swap is what can stand in for a food that is missing.
type swap struct {
	FoodID  string `json:"foodId"`
	Name    string `json:"name"`
	Instead string `json:"instead" jsonschema_description:"amounts and foods: 225 ml milk and 0.5 lemon"`
}

// part is an amount of a food by its name in the catalogue.
type part struct {
	food   string
	amount float64
	unit   quantity.Unit
}

// substitute is what cooks take instead of a food, as cookbooks have it.
type substitute struct {
	of      part
	instead []part
}

// substitutes are tried in this order. Each is the same to cook with; what only tastes alike is not
// among them.
var substitutes = []substitute{
	{part{"Buttermilk", 240, "ml"}, []part{{"Milk", 225, "ml"}, {"Lemons", 0.5, "piece"}}},
	{part{"Buttermilk", 240, "ml"}, []part{{"Yogurt", 180, "ml"}, {"Milk", 60, "ml"}}},
	{part{"Sour cream", 100, "g"}, []part{{"Crème fraîche", 100, "g"}}},
	{part{"Sour cream", 100, "g"}, []part{{"Greek yogurt", 100, "g"}}},
	{part{"Crème fraîche", 100, "g"}, []part{{"Sour cream", 100, "g"}}},
	{part{"Yogurt", 100, "g"}, []part{{"Greek yogurt", 75, "g"}, {"Milk", 25, "ml"}}},
	{part{"Greek yogurt", 100, "g"}, []part{{"Yogurt", 100, "g"}}},
	{part{"Half-and-half", 240, "ml"}, []part{{"Milk", 120, "ml"}, {"Cream", 120, "ml"}}},
	{part{"Milk", 100, "ml"}, []part{{"Semi-skimmed milk", 100, "ml"}}},
	{part{"Semi-skimmed milk", 100, "ml"}, []part{{"Milk", 100, "ml"}}},
	{part{"Self-raising flour", 150, "g"}, []part{{"Flour", 145, "g"}, {"Baking powder", 2, "tsp"}}},
	{part{"Bread flour", 100, "g"}, []part{{"Flour", 100, "g"}}},
	{part{"Cornflour", 10, "g"}, []part{{"Flour", 20, "g"}}},
	{part{"Brown sugar", 100, "g"}, []part{{"Sugar", 100, "g"}}},
	{part{"Sugar", 100, "g"}, []part{{"Brown sugar", 100, "g"}}},
	{part{"Honey", 100, "g"}, []part{{"Maple syrup", 100, "g"}}},
	{part{"Maple syrup", 100, "g"}, []part{{"Honey", 100, "g"}}},
	{part{"Shallots", 100, "g"}, []part{{"Onions", 100, "g"}}},
	{part{"Red onions", 1, "piece"}, []part{{"Onions", 1, "piece"}}},
	{part{"Onions", 1, "piece"}, []part{{"Red onions", 1, "piece"}}},
	{part{"Limes", 1, "piece"}, []part{{"Lemons", 1, "piece"}}},
	{part{"Lemons", 1, "piece"}, []part{{"Limes", 1, "piece"}}},
	{part{"Parmesan", 100, "g"}, []part{{"Pecorino", 100, "g"}}},
	{part{"Pecorino", 100, "g"}, []part{{"Parmesan", 100, "g"}}},
	{part{"Chicken stock", 100, "ml"}, []part{{"Vegetable stock", 100, "ml"}}},
	{part{"Vegetable stock", 100, "ml"}, []part{{"Chicken stock", 100, "ml"}}},
	{part{"Soy sauce", 1, "tbsp"}, []part{{"Tamari", 1, "tbsp"}}},
}

// swaps returns what the stock has instead of what a meal lacks: all of it, good on the day, and
// nothing that does not suit somebody. Of a food that nobody has measured nothing is returned.
func (s *stock) swaps(h household, lacks []need, day string) []swap {
	var out []swap
	for _, n := range lacks {
		if n.Problem != "" || n.amount.Unit == "" {
			continue
		}
		for _, sub := range substitutes {
			if foods.Slug(sub.of.food) != n.food.ID {
				continue
			}
			if instead, ok := s.instead(h, n, sub, day); ok {
				out = append(out, swap{n.food.ID, n.Name, instead})
				break
			}
		}
	}
	return out
}

// instead says how much of what a substitute takes, if all of it is in the house.
func (s *stock) instead(h household, n need, sub substitute, day string) (string, bool) {
	base, err := n.food.Convert(n.amount, sub.of.unit, h.system())
	if err != nil {
		return "", false
	}
	factor := base.Value.Div(decimal.NewFromFloat(sub.of.amount))
	left := s.clone() // two parts may be of one food
	var said []string
	for _, p := range sub.instead {
		f, ok := h.book.Of(foods.Slug(p.food))
		if !ok {
			return "", false // an earlier catalogue has no such food
		}
		if bad, _ := h.conflicts([]line{{Name: f.Name, FoodID: f.ID}}); len(bad) > 0 {
			return "", false
		}
		wanted := quantity.Of(decimal.NewFromFloat(p.amount).Mul(factor), p.unit)
		if f.Staple {
			if !s.has(f.ID, day) {
				return "", false
			}
		} else if _, rest, problem := left.take(f, wanted, h.system(), day); problem != "" || rest.Value.IsPositive() {
			return "", false
		}
		said = append(said, rounded(wanted).With(strings.ToLower(f.Name)))
	}
	return strings.Join(said, " and "), true
}

// weighed are the units of which nobody measures a part.
var weighed = []quantity.Unit{quantity.Gram, quantity.Millilitre}

// rounded is an amount as a cook measures it.
func rounded(a quantity.Amount) quantity.Amount {
	if slices.Contains(weighed, a.Unit) {
		return quantity.Of(a.Value.Ceil(), a.Unit)
	}
	return quantity.Of(a.Value.Round(2), a.Unit)
}
