package history

import (
	"fmt"
	"hash/fnv"
	"math"
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
// at a pace that depends on the food, and foods of the season go up and down.
func (m market) price(p catalogue.Product, store catalogue.Store, day time.Time) (decimal.Decimal, bool) {
	days := day.Sub(m.first).Hours() / 24
	week := int(math.Floor(days / 7))
	factor := 1 + (0.01+0.07*m.chance("drift", p.Food))*days/Days
	if month, ok := cheapest[p.Food]; ok {
		peak := time.Date(day.Year(), month, 15, 0, 0, 0, 0, time.UTC)
		factor *= 1 - 0.22*math.Cos(2*math.Pi*day.Sub(peak).Hours()/24/365)
	}
	// A store keeps its price for some weeks.
	factor *= 0.97 + 0.06*m.chance("noise", p.Code, store.Name, week/5)
	offer := m.chance("offer", p.Code, store.Name, week) < 0.08
	if offer {
		factor *= 0.8
	}
	price := p.Price.Mul(store.Level).Mul(decimal.NewFromFloat(factor)).Round(2)
	// Prices end in 9: 2.43 is written 2.49.
	tenths := price.Mul(decimal.NewFromInt(10)).Floor()
	return tenths.Div(decimal.NewFromInt(10)).Add(decimal.New(9, -2)), offer
}

// chance returns a number from 0 up to 1 that depends on the seed and the parts
// alone.
func (m market) chance(parts ...any) float64 {
	return float64(hash(append(parts, m.seed)...)>>11) / (1 << 53)
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
