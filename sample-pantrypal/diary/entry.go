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
	item     *ent.PantryItem
	kind     pantryevent.Kind
	reason   pantryevent.Reason
	quantity float64
	at       *time.Time // nil: now
}

func (e entry) create(c *ent.Client) *ent.PantryEventCreate {
	return c.PantryEvent.Create().SetItemID(e.item.ID).SetItemName(e.item.Name).SetKind(e.kind).SetReason(e.reason).
		SetQuantity(e.quantity).SetUnit(e.item.Unit).SetNillableAt(e.at)
}

// read says what a change means for the house. It is false where nothing a
// reader of the diary would care about happened.
func read(before, after *ent.PantryItem) (entry, bool) {
	if before == nil {
		return arrival(after), true
	}
	if after == nil {
		e := entry{item: before, kind: pantryevent.KindWent, reason: pantryevent.ReasonDeleted, quantity: inHouse(before)}
		if e.quantity == 0 {
			e.kind = pantryevent.KindChanged // it had left the house before
		}
		return e, true
	}
	delta := inHouse(after) - inHouse(before)
	sameUnit := before.Unit == after.Unit || inHouse(before) == 0 || inHouse(after) == 0
	switch {
	case sameUnit && delta > 0:
		return entry{item: after, kind: pantryevent.KindCame, reason: came(before, after), quantity: delta}, true
	case sameUnit && delta < 0:
		// What went, went in the unit that it was kept in.
		return entry{item: before, kind: pantryevent.KindWent, reason: went(after), quantity: math.Abs(delta)}, true
	case same(before, after):
		return entry{}, false
	}
	return entry{item: after, kind: pantryevent.KindChanged, reason: pantryevent.ReasonEdited}, true
}

// inHouse is how much of an item is there, in its unit.
func inHouse(item *ent.PantryItem) float64 {
	if item.Status != pantryitem.StatusAvailable {
		return 0
	}
	return item.Quantity
}

// arrival is the entry of a new item. It is dated when the item came, which may
// lie before the moment that somebody wrote it down.
func arrival(item *ent.PantryItem) entry {
	e := entry{item: item, kind: pantryevent.KindCame, reason: pantryevent.ReasonBought, quantity: inHouse(item), at: &item.AddedAt}
	switch item.Source {
	case pantryitem.SourcePhoto:
		e.reason = pantryevent.ReasonSeenOnPhoto
	case pantryitem.SourceBarcode:
		e.reason = pantryevent.ReasonScanned
	case pantryitem.SourceManual:
	}
	if e.quantity == 0 {
		e.kind, e.reason = pantryevent.KindChanged, pantryevent.ReasonEdited
	}
	return e
}

func came(before, after *ent.PantryItem) pantryevent.Reason {
	switch {
	case after.DetectionID != nil && !equal(before.DetectionID, after.DetectionID):
		return pantryevent.ReasonSeenOnPhoto
	case before.Status != pantryitem.StatusAvailable:
		return pantryevent.ReasonReturned
	}
	return pantryevent.ReasonBought
}

func went(after *ent.PantryItem) pantryevent.Reason {
	switch after.Status {
	case pantryitem.StatusConsumed:
		return pantryevent.ReasonConsumed
	case pantryitem.StatusExpired:
		return pantryevent.ReasonExpired
	case pantryitem.StatusWasted:
		return pantryevent.ReasonWasted
	case pantryitem.StatusAvailable:
	}
	return pantryevent.ReasonUsed
}

// same compares everything but the version, which counts and says nothing.
func same(a, b *ent.PantryItem) bool {
	return a.Name == b.Name && a.Quantity == b.Quantity && a.Unit == b.Unit && a.Category == b.Category && a.Location == b.Location &&
		a.Status == b.Status && a.IsStaple == b.IsStaple && a.Source == b.Source && a.AddedAt.Equal(b.AddedAt) &&
		equalTime(a.ExpiresAt, b.ExpiresAt) && equal(a.PurchasePrice, b.PurchasePrice) && equal(a.ProductID, b.ProductID) && equal(a.DetectionID, b.DetectionID)
}

func equal[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func equalTime(a, b *time.Time) bool {
	return a == b || a != nil && b != nil && a.Equal(*b)
}
