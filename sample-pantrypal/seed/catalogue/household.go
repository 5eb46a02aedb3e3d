package catalogue

import (
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// Store is where households buy.
type Store struct {
	Name   string   `yaml:"name"`
	Aisles []string `yaml:"aisles"` // that it has, in its own order
	// Level is how dear it is; the prices of products are for level 1.
	Level decimal.Decimal `yaml:"level"`
}

// Household is one household with what it has on the first day.
type Household struct {
	Set       string          `yaml:"set"`
	Name      string          `yaml:"name"`
	TimeZone  string          `yaml:"timeZone"`
	Currency  string          `yaml:"currency"`
	Locale    string          `yaml:"locale"`
	Units     quantity.System `yaml:"units"`
	Days      []string        `yaml:"days"`     // on which it is lived in; empty is all
	Budget    decimal.Decimal `yaml:"budget"`   // a week
	Weekdays  int             `yaml:"weekdays"` // minutes to cook
	Weekends  int             `yaml:"weekends"`
	Members   []Member        `yaml:"members"`
	Favourite []string        `yaml:"favourites"` // names of recipes
	Rules     []Rule          `yaml:"rules"`
	Lots      []Lot           `yaml:"lots"`
}

// Member is a person of a household.
type Member struct {
	Name      string          `yaml:"name"`
	Portion   decimal.Decimal `yaml:"portion"` // 1 is an adult's
	Diet      string          `yaml:"diet"`    // of Diets, or empty
	Allergies []string        `yaml:"allergies"`
	Dislikes  []string        `yaml:"dislikes"` // names of foods
}

// Rule is what a household wants of every week.
type Rule struct {
	Text string   `yaml:"text"`
	Days []string `yaml:"days"` // monday to sunday; empty is any day
	// One of these says what is wanted.
	Tag        string `yaml:"tag"`        // meals on these days have the tag
	Minutes    int    `yaml:"minutes"`    // meals on these days take no longer
	NotTwiceIn int    `yaml:"notTwiceIn"` // days between two meals of one recipe
}

// Lot is something in the house. Days are counted from the day of seeding, so that
// something always expires soon.
type Lot struct {
	Food       string          `yaml:"food"`
	Product    string          `yaml:"product"` // its code; empty for loose food
	Amount     decimal.Decimal `yaml:"amount"`
	Initial    decimal.Decimal `yaml:"initial"` // as bought; zero is amount
	Unit       quantity.Unit   `yaml:"unit"`
	Place      string          `yaml:"place"`
	BoughtAgo  int             `yaml:"boughtAgo"`
	BestBefore *int            `yaml:"bestBefore"` // days from now, negative is past; none: it keeps
	OpenedAgo  *int            `yaml:"openedAgo"`
}

// Places where food is kept.
var Places = []string{"pantry", "fridge", "freezer"}

var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

func (p *problems) household(c *Catalogue, h Household) {
	at := "households.yaml: " + h.Set
	p.when(h.Set == "" || h.Name == "" || len(h.Currency) != 3 || h.Locale == "", "%s needs a set, a name, a currency and a locale", at)
	_, err := time.LoadLocation(h.TimeZone)
	p.when(h.TimeZone == "" || err != nil, "%s: %q is not a time zone", at, h.TimeZone)
	p.when(h.Units != quantity.Metric && h.Units != quantity.US, "%s: units are %q; want metric or us", at, h.Units)
	p.when(h.Weekdays < 1 || h.Weekends < 1 || len(h.Members) == 0, "%s needs members and minutes to cook", at)
	p.oneOf(at, "day", weekdays, h.Days...)
	for _, m := range h.Members {
		p.when(m.Name == "" || !m.Portion.IsPositive(), "%s: a member needs a name and a portion", at)
		p.oneOf(at, "allergy", Allergens, m.Allergies...)
		p.oneOf(at, "diet", append([]string{""}, Diets...), m.Diet)
		for _, d := range m.Dislikes {
			_, ok := c.Food(d)
			p.when(!ok, "%s: %s dislikes %q, which is not in foods.csv", at, m.Name, d)
		}
	}
	for _, r := range h.Rules {
		p.oneOf(at, "day", weekdays, r.Days...)
		p.when(r.Text == "" || r.Tag == "" && r.Minutes == 0 && r.NotTwiceIn == 0, "%s: a rule needs a text, and a tag, minutes or notTwiceIn", at)
		if r.Tag != "" {
			p.oneOf(at, "tag", Tags, r.Tag)
		}
	}
	for _, name := range h.Favourite {
		p.when(!slices.ContainsFunc(c.Recipes, func(r Recipe) bool { return r.Name == name }), "%s: favourite %q is not in recipes.yaml", at, name)
	}
	for _, lot := range h.Lots {
		p.lot(c, at, lot)
	}
}

func (p *problems) lot(c *Catalogue, at string, lot Lot) {
	at += ": " + lot.Food
	f, ok := c.Food(lot.Food)
	p.when(!ok, "%s is not in foods.csv", at)
	p.when(!lot.Amount.IsPositive() || lot.Initial.IsPositive() && lot.Initial.LessThan(lot.Amount), "%s: the amount cannot be", at)
	p.oneOf(at, "place", Places, lot.Place)
	if !lot.Unit.Known() {
		p.when(true, "%s: %q is not a unit", at, lot.Unit)
	} else if ok && !f.Staple {
		_, err := f.Facts().Convert(quantity.Of(lot.Amount, lot.Unit), quantity.Gram, quantity.Metric)
		p.when(err != nil, "%s: %v", at, err)
	}
	if lot.Product != "" {
		i := slices.IndexFunc(c.Products, func(product Product) bool { return product.Code == lot.Product })
		p.when(i < 0 || c.Products[i].Food != lot.Food, "%s: %s is not a product of it", at, lot.Product)
	}
	p.when(lot.BoughtAgo < 0, "%s was bought in the future", at)
}
