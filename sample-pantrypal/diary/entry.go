package diary

import (
	"time"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryevent"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
)

// entry is one line of the diary.
type entry struct {
	item   *ent.PantryItem
	kind   pantryevent.Kind
	reason pantryevent.Reason
	amount float64
	at     *time.Time // nil: now
	meal   *string
}

func (e entry) create(c *ent.Client, run string, now time.Time) *ent.PantryEventCreate {
	at := now
	if e.at != nil {
		at = *e.at
	}
	row := c.PantryEvent.Create().SetItemID(e.item.ID).SetItemName(e.item.Name).SetKind(e.kind).SetReason(e.reason).
		SetAmount(e.amount).SetUnit(e.item.Unit).SetAt(at).SetNillableFoodID(e.item.FoodID).SetNillableMealID(e.meal).SetRun(run)
	if e.item.UnitPrice != nil && e.amount > 0 {
		row.SetCost(decimal.NewFromFloat(e.amount).Mul(decimal.NewFromFloat(*e.item.UnitPrice)).Round(2).InexactFloat64())
	}
	return row
}

// said is what a change says about itself: why it was made, and for which meal.
type said struct {
	reason *pantryitem.Reason
	meal   *string
}

// or returns the reason that was said, else what the change itself tells.
func (s said) or(told pantryevent.Reason) pantryevent.Reason {
	if s.reason != nil {
		return pantryevent.Reason(*s.reason)
	}
	return told
}

// read says what a change means for the house; units is how many of the unit after it one of the unit
// before it is, 0 where nobody knows. It is false where nothing a reader of the diary would care about
// happened.
func read(before, after *ent.PantryItem, units decimal.Decimal, why said) (entry, bool) {
	if before == nil {
		return arrival(after, why), true
	}
	if after == nil {
		e := entry{item: before, kind: pantryevent.KindWent, reason: why.or(pantryevent.ReasonCorrected), amount: inHouse(before)}
		if e.amount == 0 {
			e.kind = pantryevent.KindChanged // it had left the house before
		}
		return e, true
	}
	// What came, came in the unit that it is kept in, and what went, in the one that it was kept in.
	came, gone := difference(before, after, units)
	switch {
	case came > 0:
		return entry{item: after, kind: pantryevent.KindCame, reason: why.or(pantryevent.ReasonCorrected), amount: came, meal: why.meal}, true
	case gone > 0:
		return entry{item: before, kind: pantryevent.KindWent, reason: why.or(went(after)), amount: gone, meal: why.meal}, true
	case same(before, after):
		return entry{}, false
	}
	reason := pantryevent.ReasonCorrected
	if before.Place != after.Place {
		reason = pantryevent.ReasonMoved
	}
	return entry{item: after, kind: pantryevent.KindChanged, reason: why.or(reason)}, true
}

// difference is what came, in the unit that a lot has after a change, or what is gone, in the one that
// it had before. Both are 0 where its units do not compare: then it was measured anew.
func difference(before, after *ent.PantryItem, units decimal.Decimal) (came, gone float64) {
	was, is := decimal.NewFromFloat(inHouse(before)), decimal.NewFromFloat(inHouse(after))
	if !units.IsPositive() {
		if was.IsPositive() && is.IsPositive() {
			return 0, 0
		}
		units = decimal.NewFromInt(1) // one of them is nothing in any unit
	}
	more := is.Sub(was.Mul(units)).Round(quantity.Places)
	return more.InexactFloat64(), more.Neg().DivRound(units, quantity.Places).InexactFloat64()
}

// inHouse is how much of a lot is there, in its unit.
func inHouse(item *ent.PantryItem) float64 {
	if item.Status != pantryitem.StatusAvailable {
		return 0
	}
	return item.Amount
}

// arrival is the entry of a new lot. It is dated when the lot came, which may
// lie before the moment that somebody wrote it down. What is moved here was bought
// before it came.
func arrival(item *ent.PantryItem, why said) entry {
	e := entry{item: item, kind: pantryevent.KindCame, reason: why.or(pantryevent.ReasonBought), amount: inHouse(item), at: &item.AddedAt, meal: why.meal}
	if e.reason == pantryevent.ReasonMoved {
		e.at = nil
	}
	if e.amount == 0 {
		e.kind, e.reason = pantryevent.KindChanged, why.or(pantryevent.ReasonCorrected)
	}
	return e
}

// went is the reason that a lot's status says. An amount alone says none: it is
// corrected, and not guessed to be eaten.
func went(after *ent.PantryItem) pantryevent.Reason {
	switch after.Status {
	case pantryitem.StatusConsumed:
		return pantryevent.ReasonEaten
	case pantryitem.StatusExpired:
		return pantryevent.ReasonExpired
	case pantryitem.StatusWasted:
		return pantryevent.ReasonWasted
	case pantryitem.StatusAvailable:
	}
	return pantryevent.ReasonCorrected
}

// same compares what a reader of the diary cares about.
func same(a, b *ent.PantryItem) bool {
	return a.Name == b.Name && a.Amount == b.Amount && a.Unit == b.Unit && a.Place == b.Place && a.Status == b.Status &&
		equalTime(a.BestBefore, b.BestBefore) && equalTime(a.OpenedAt, b.OpenedAt) && equal(a.FoodID, b.FoodID) && equal(a.ProductID, b.ProductID)
}

func equal[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func equalTime(a, b *time.Time) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}
