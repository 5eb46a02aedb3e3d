package diary

import (
	"math"
	"time"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryevent"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
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

func (e entry) create(c *ent.Client, run string) *ent.PantryEventCreate {
	row := c.PantryEvent.Create().SetItemID(e.item.ID).SetItemName(e.item.Name).SetKind(e.kind).SetReason(e.reason).
		SetAmount(e.amount).SetUnit(e.item.Unit).SetNillableAt(e.at).SetNillableFoodID(e.item.FoodID).SetNillableMealID(e.meal).SetRun(run)
	if e.item.UnitPrice != nil && e.amount > 0 {
		row.SetCost(round(e.amount*(*e.item.UnitPrice), 100))
	}
	return row
}

func round(v, parts float64) float64 { return math.Round(v*parts) / parts }

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

// read says what a change means for the house. It is false where nothing a
// reader of the diary would care about happened.
func read(before, after *ent.PantryItem, why said) (entry, bool) {
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
	delta := round(inHouse(after)-inHouse(before), 1e6)
	sameUnit := before.Unit == after.Unit || inHouse(before) == 0 || inHouse(after) == 0
	switch {
	case sameUnit && delta > 0:
		return entry{item: after, kind: pantryevent.KindCame, reason: why.or(pantryevent.ReasonCorrected), amount: delta, meal: why.meal}, true
	case sameUnit && delta < 0:
		// What went, went in the unit that it was kept in.
		return entry{item: before, kind: pantryevent.KindWent, reason: why.or(went(after)), amount: math.Abs(delta), meal: why.meal}, true
	case same(before, after):
		return entry{}, false
	}
	reason := pantryevent.ReasonCorrected
	if before.Place != after.Place {
		reason = pantryevent.ReasonMoved
	}
	return entry{item: after, kind: pantryevent.KindChanged, reason: why.or(reason)}, true
}

// inHouse is how much of a lot is there, in its unit.
func inHouse(item *ent.PantryItem) float64 {
	if item.Status != pantryitem.StatusAvailable {
		return 0
	}
	return item.Amount
}

// arrival is the entry of a new lot. It is dated when the lot came, which may
// lie before the moment that somebody wrote it down.
func arrival(item *ent.PantryItem, why said) entry {
	e := entry{item: item, kind: pantryevent.KindCame, reason: why.or(pantryevent.ReasonBought), amount: inHouse(item), at: &item.AddedAt, meal: why.meal}
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
