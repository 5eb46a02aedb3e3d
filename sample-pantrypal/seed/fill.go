// Package seed writes what a fresh PantryPal starts with into a set: the catalogue,
// and the household of the set with what it has in the house.
//
// What belongs here: rows made of the catalogue's data. Not here: that data
// itself (package catalogue), or touching rows of a household that exist.
package seed

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
	"github.com/koan-go/koan/sample-pantrypal/ent/planrule"
	"github.com/koan-go/koan/sample-pantrypal/ent/schema"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/rules"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// Fill returns a function for ent.OnCreateSet, which writes the catalogue into a set that
// was just created, and the household that the catalogue has for it. Days are counted from
// what the clock says then.
func Fill(clock func() time.Time) func(context.Context, string, *ent.Client) error {
	return func(ctx context.Context, set string, c *ent.Client) error { return fill(ctx, set, c, clock()) }
}

func fill(ctx context.Context, set string, c *ent.Client, now time.Time) error {
	data, err := catalogue.Load()
	if err != nil {
		return err
	}
	w := writer{Client: c, data: data, now: now.UTC()}
	if err := w.catalogue(rules.AsCatalogue(ctx)); err != nil {
		return fmt.Errorf("seed: %w", err)
	}
	for _, h := range data.Households {
		if h.Set == set {
			if err := w.household(ctx, h); err != nil {
				return fmt.Errorf("seed: household %s: %w", h.Name, err)
			}
		}
	}
	return nil
}

// Catalogue brings a set to the catalogue of this build. What the household has changed stays.
func Catalogue(ctx context.Context, c *ent.Client) error {
	data, err := catalogue.Load()
	if err != nil {
		return err
	}
	w := writer{Client: c, data: data}
	return w.catalogue(rules.AsCatalogue(ctx))
}

type writer struct {
	*ent.Client
	data *catalogue.Catalogue
	now  time.Time
}

func (w *writer) household(ctx context.Context, h catalogue.Household) error {
	members := make([]schema.Member, len(h.Members))
	for i, m := range h.Members {
		members[i] = schema.Member{Name: m.Name, Portion: float(m.Portion), Diet: m.Diet, Allergies: m.Allergies, Dislikes: m.Dislikes}
	}
	row := w.Household.Create().SetName(h.Name).SetMembers(members).SetTimeZone(h.TimeZone).SetCurrency(h.Currency).SetLocale(h.Locale).
		SetUnits(units(h.Units)).SetWeekdayMinutes(h.Weekdays).SetWeekendMinutes(h.Weekends)
	if h.Budget.IsPositive() {
		row.SetWeeklyBudget(float(h.Budget))
	}
	if err := row.Exec(ctx); err != nil {
		return err
	}
	var wants []*ent.PlanRuleCreate
	for _, r := range h.Rules {
		rule := w.PlanRule.Create().SetName(r.Text).SetWeekdays(slices.Clone(r.Days)).SetKind(planrule.KindWant).SetWhat(r.Tag)
		switch {
		case r.Minutes > 0:
			rule.SetKind(planrule.KindMaxMinutes).SetMinutes(r.Minutes)
		case r.NotTwiceIn > 0:
			rule.SetKind(planrule.KindNoRepeat).SetDays(r.NotTwiceIn)
		}
		wants = append(wants, rule)
	}
	if err := w.PlanRule.CreateBulk(wants...).Exec(ctx); err != nil {
		return err
	}
	today, err := rules.Today(w.now, h.TimeZone)
	if err != nil {
		return err
	}
	for _, name := range h.Favourite {
		if err := w.Recipe.UpdateOneID(foods.Slug(name)).SetFavourite(true).Exec(ctx); err != nil {
			return err
		}
	}
	if err := w.year(ctx, h); err != nil {
		return err
	}
	return w.lots(ctx, h.Lots, today)
}

func (w *writer) lots(ctx context.Context, lots []catalogue.Lot, today time.Time) error {
	rows := make([]*ent.PantryItemCreate, len(lots))
	for i, lot := range lots {
		initial := lot.Initial
		if initial.IsZero() {
			initial = lot.Amount
		}
		row := w.PantryItem.Create().SetName(lot.Food).SetFoodID(foods.Slug(lot.Food)).SetAmount(float(lot.Amount)).SetInitialAmount(float(initial)).
			SetUnit(string(lot.Unit)).SetPlace(pantryitem.Place(lot.Place)).SetAddedAt(today.AddDate(0, 0, -lot.BoughtAgo).Add(9 * time.Hour))
		if lot.Product != "" {
			row.SetProductID(catalogue.ProductID(lot.Product))
			if p := w.product(lot.Product); p != nil && p.Price.IsPositive() && string(p.Package.Unit) == string(lot.Unit) {
				row.SetUnitPrice(float(p.Price.Div(p.Package.Value)))
			}
		}
		if lot.BestBefore != nil {
			row.SetBestBefore(today.AddDate(0, 0, *lot.BestBefore))
		}
		if lot.OpenedAgo != nil {
			row.SetOpenedAt(today.AddDate(0, 0, -*lot.OpenedAgo))
		}
		rows[i] = row
	}
	return w.PantryItem.CreateBulk(rows...).Exec(ctx)
}

func (w *writer) product(code string) *catalogue.Product {
	for i, p := range w.data.Products {
		if p.Code == code {
			return &w.data.Products[i]
		}
	}
	return nil
}

func float(d decimal.Decimal) float64 { return d.InexactFloat64() }

func list(s []string) []string { return append([]string{}, s...) }
