package history

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// market knows what a product costs in a store on a day.
type market struct {
	seed  uint64
	first time.Time // of the year
}

// cheapest is the month in which a food of the season costs least. Half a year
// later it costs most.
var cheapest = map[string]time.Month{
	"Asparagus": time.May, "Strawberries": time.June, "Raspberries": time.July, "Blueberries": time.July, "Tomatoes": time.August,
	"Cherry tomatoes": time.August, "Zucchini": time.July, "Aubergine": time.August, "Bell peppers": time.August, "Cucumber": time.July,
	"Lettuce": time.June, "Romaine lettuce": time.June, "Rocket": time.June, "Green beans": time.July, "Spinach": time.May, "Broccoli": time.September,
	"Cauliflower": time.September, "Pumpkin": time.October, "Butternut squash": time.October, "Apples": time.October, "Pears": time.September,
	"Grapes": time.September, "Potatoes": time.September, "New potatoes": time.June, "Carrots": time.September, "Leeks": time.November,
	"Kale": time.December, "Brussels sprouts": time.December, "Red cabbage": time.November, "Celeriac": time.November, "Parsnips": time.December,
	"Oranges": time.January, "Mandarins": time.December, "Basil": time.July, "Dill": time.June, "Mint": time.June, "Radishes": time.May,
}

// price returns what a package costs in a store in the week of a day, and whether
// it is on offer. Stores differ in level, all of them become dearer over the year
// at a pace that depends on the food, and foods of the season go up and down. It
// counts in parts of a thousand, so that every machine has the same prices.
func (m market) price(p catalogue.Product, store catalogue.Store, day time.Time) (decimal.Decimal, bool) {
	days := int64(day.Sub(m.first) / (24 * time.Hour))
	week := days / 7
	price := p.Price.Mul(store.Level)
	times := func(thousandths int64) { price = price.Mul(decimal.New(thousandths, -3)) }
	times(1000 + (10+m.draw(70, "drift", p.Food))*days/Days)
	if month, ok := cheapest[p.Food]; ok {
		times(780 + 440*distance(day, month)/183)
	}
	times(970 + m.draw(60, "noise", p.Code, store.Name, week/5)) // a store keeps its price for some weeks
	offer := m.draw(100, "offer", p.Code, store.Name, week) < 8
	if offer {
		times(800)
	}
	// Prices end in 9: 2.43 is written 2.49.
	return price.Mul(decimal.NewFromInt(10)).Floor().DivRound(decimal.NewFromInt(10), 1).Add(decimal.New(9, -2)), offer
}

// distance is how many days a day is away from the middle of a month, in the
// nearest year: 0 to 183.
func distance(day time.Time, month time.Month) int64 {
	middle := time.Date(day.Year(), month, 15, 0, 0, 0, 0, time.UTC)
	days := int64(day.Sub(middle).Abs() / (24 * time.Hour))
	return min(days, max(0, 365-days), 183)
}

// draw returns a number below n that depends on the seed and the parts alone.
func (m market) draw(n uint64, parts ...any) int64 {
	return int64(hash(append(parts, m.seed)...) % n)
}

func hash(parts ...any) uint64 {
	h := fnv.New64a()
	for _, p := range parts {
		fmt.Fprintf(h, "%v\x00", p)
	}
	return mix(h.Sum64())
}

// mix spreads what FNV leaves in the low bits.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

func contains(days []string, day time.Weekday) bool {
	for _, d := range days {
		if strings.EqualFold(d, day.String()) {
			return true
		}
	}
	return false
}
