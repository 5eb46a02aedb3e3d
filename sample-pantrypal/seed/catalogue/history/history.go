// Package history makes up a year of a household: what it bought, at which prices,
// what it cooked, ate and threw away.
//
// What belongs here: a simulation over the catalogue that gives the same year for
// the same seed and day, as plain data. Not here: a database, the clock, or
// numbers that follow from no rule of the simulation.
package history

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// Days is how long a year is: 52 weeks.
const Days = 364

// Year is one household's year. Slices refer to each other by index; times are in
// the household's time zone, in order.
type Year struct {
	Lots   []Lot
	Meals  []Meal
	Events []Event
	Prices []Price
}

// Lot is food that was bought at once and expires at once. At the end of the year
// all of them are used up: what a household still has are the lots of the
// catalogue.
type Lot struct {
	Food       string
	Product    string // its code
	Store      string
	Initial    decimal.Decimal
	Unit       quantity.Unit
	Place      string
	Bought     time.Time
	BestBefore time.Time // a date; zero: it keeps
	Opened     time.Time // zero: nothing was taken out before it was thrown away
	UnitPrice  decimal.Decimal
	Status     Status

	left   decimal.Decimal
	staple bool
}

// Status is how a lot ended.
type Status string

// A lot ends by what took the last of it.
const (
	Consumed Status = "consumed"
	Expired  Status = "expired"
	Wasted   Status = "wasted"
)

// Reason is why an amount came or went.
type Reason string

// The reasons that occur.
const (
	ReasonBought    Reason = "bought"
	ReasonCooked    Reason = "cooked"
	ReasonEaten     Reason = "eaten"
	ReasonWasted    Reason = "wasted"
	ReasonExpired   Reason = "expired"
	ReasonCorrected Reason = "corrected"
)

// Event is an amount of a lot that came (bought) or went.
type Event struct {
	Lot    int
	At     time.Time
	Reason Reason
	Amount decimal.Decimal // in the lot's unit, positive
	Cost   decimal.Decimal // what that amount had cost
	Meal   int             // index, -1 for none
}

// Meal is a dinner that was cooked, and how it was.
type Meal struct {
	Recipe    string
	At        time.Time
	Servings  decimal.Decimal
	Rating    int             // 1 to 5; 0: nobody said
	Leftovers decimal.Decimal // servings that were left
	EatenAt   time.Time       // when they were eaten; zero where there were none, or they are still there
}

// Price is what a package cost in a store on a day.
type Price struct {
	Food, Product, Store string
	Day                  time.Time
	Amount               decimal.Decimal // of the package
	Unit                 quantity.Unit
	Price                decimal.Decimal
	Offer                bool
}

// ErrNothingToCook is the error of a household that no recipe fits.
var ErrNothingToCook = errors.New("history: no recipe fits the household")

// Generate makes up the year of a household that ends on the day before today. It
// gives the same year for the same arguments.
func Generate(c *catalogue.Catalogue, h catalogue.Household, today time.Time, seed uint64) (*Year, error) {
	zone, err := time.LoadLocation(h.TimeZone)
	if err != nil {
		return nil, err
	}
	y, m, d := today.In(zone).Date()
	s := &simulation{
		Year: &Year{}, catalogue: c, household: h, zone: zone,
		random: rand.New(rand.NewPCG(seed, hash(h.Set))),
		market: market{seed: seed, first: time.Date(y, m, d-Days, 0, 0, 0, 0, time.UTC)},
		stock:  map[string][]int{}, cooked: map[string]time.Time{}, planned: map[time.Time]*catalogue.Recipe{}, spareOf: -1,
	}
	s.products = purchasable(c)
	if s.menu = s.recipes(); len(s.menu) == 0 {
		return nil, ErrNothingToCook
	}
	for i := range Days {
		if err := s.live(time.Date(y, m, d-Days+i, 0, 0, 0, 0, zone)); err != nil {
			return nil, err
		}
	}
	s.labels(time.Date(y, m, d-Days, 0, 0, 0, 0, time.UTC))
	s.takeStock(time.Date(y, m, d-1, 20, 30, 0, 0, zone))
	s.sort()
	return s.Year, nil
}

// simulation is a year in the making.
type simulation struct {
	*Year
	catalogue *catalogue.Catalogue
	household catalogue.Household
	zone      *time.Location
	random    *rand.Rand
	market    market
	products  map[string][]catalogue.Product // by food
	menu      []*catalogue.Recipe

	stock   map[string][]int     // lots by food, those that expire first before others
	cooked  map[string]time.Time // recipes, when last
	planned map[time.Time]*catalogue.Recipe
	spareOf int // the meal that left servings for tomorrow, -1 for none
}

// live is one day.
func (s *simulation) live(day time.Time) error {
	s.discard(at(day, 7, 30))
	if !home(&s.household, day) {
		return nil
	}
	s.breakfast(day)
	if _, ok := s.planned[day]; !ok {
		s.plan(day)
		if err := s.shop(day); err != nil {
			return err
		}
	}
	if day.Weekday() == time.Wednesday {
		s.topUp(day)
	}
	s.finishLeftovers(at(day, 12, 40))
	return s.cook(day)
}

// home reports whether somebody is in: a household without days lives there.
func home(h *catalogue.Household, day time.Time) bool {
	return len(h.Days) == 0 || contains(h.Days, day.Weekday())
}

func at(day time.Time, hour, minute int) time.Time {
	y, m, d := day.Date()
	return time.Date(y, m, d, hour, minute, 0, 0, day.Location())
}
