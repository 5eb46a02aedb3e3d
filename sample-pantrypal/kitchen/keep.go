package kitchen

import (
	"context"

	"github.com/koan-go/koan/framework"
)

// keptFood is a food of which the household always wants some in the house.
type keptFood struct {
	ID         string   `json:"id"`
	KeepAmount *float64 `json:"keepAmount"`
	KeepUnit   *string  `json:"keepUnit"`
}

// keep adds what is missing of what the household always wants in the house, in what the meals leave.
func (b *basket) keep(ctx context.Context, call framework.Call, shelf *stock) error {
	rows, err := all[keptFood](ctx, call, "Food", map[string]any{"filter": map[string]any{"keepAmount": map[string]any{"$gt": 0}}, "fields": "id,keepAmount,keepUnit", "sort": "id"})
	if err != nil {
		return err
	}
	for _, r := range rows {
		f, known := b.h.book.Of(r.ID)
		if !known {
			continue // a release has dropped it
		}
		unit := "piece"
		if r.KeepUnit != nil {
			unit = *r.KeepUnit
		}
		_, rest, problem := shelf.take(f, amountOf(*r.KeepAmount, unit), b.h.system(), b.h.day(0))
		if !rest.Value.IsPositive() {
			continue
		}
		n := need{lack: lack{Name: f.Name, FoodID: &f.ID, Problem: problem}, food: f}
		n.set(rest, b.h.system())
		b.add("", []need{n})
	}
	return nil
}
