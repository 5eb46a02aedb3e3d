package earlier

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/sample-pantrypal/ent"
	"github.com/koan-go/koan/sample-pantrypal/ent/detection"
	"github.com/koan-go/koan/sample-pantrypal/ent/mealplan"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryevent"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryitem"
	"github.com/koan-go/koan/sample-pantrypal/ent/pantryphoto"
	"github.com/koan-go/koan/sample-pantrypal/ent/plannedmeal"
	"github.com/koan-go/koan/sample-pantrypal/ent/product"
	"github.com/koan-go/koan/sample-pantrypal/ent/recipe"
	"github.com/koan-go/koan/sample-pantrypal/ent/schema"
	"github.com/koan-go/koan/sample-pantrypal/ent/shoppinglist"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/seed/catalogue"
)

// taker takes rows over. Ids stay, save of what the catalogue has: products and recipes
// become its own.
type taker struct {
	*ent.Client
	drv      dialect.Driver
	products map[string]string
	recipes  map[string]string
	came     map[string]float64 // how much of a lot had come
}

// each reads a table and stores its rows one by one.
func (t *taker) each(ctx context.Context, table string, store func(row) error) error {
	rows, err := read(ctx, t.drv, table)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if err := store(r); err != nil {
			return fmt.Errorf("%s %s: %w", table, r.text("id"), err)
		}
	}
	return nil
}

// unitOf returns a unit that there is. What was none stays in the name.
func unitOf(unit, name string) (string, string) {
	if u, ok := quantity.ParseUnit(unit); ok {
		return string(u), name
	}
	return string(quantity.Piece), cut(name+" ("+unit+")", 120)
}

func cut(s string, n int) string {
	r := []rune(s)
	return string(r[:min(len(r), n)])
}

// household makes one of all profiles: a set could have several.
func (t *taker) household(ctx context.Context) error {
	rows, err := read(ctx, t.drv, "household_profiles")
	if err != nil {
		return err
	}
	h := t.Household.Create()
	var members []schema.Member
	var allergies, dislikes []string
	diet := "none"
	for _, r := range rows {
		a, err := r.list("allergies")
		if err != nil {
			return err
		}
		d, err := r.list("dislikes")
		if err != nil {
			return err
		}
		allergies, dislikes = append(allergies, a...), append(dislikes, d...)
		if r.text("diet") != "none" {
			diet = r.text("diet")
		}
		for len(members) < int(r.number("size")) {
			members = append(members, schema.Member{Name: fmt.Sprintf("Member %d", len(members)+1), Portion: 1})
		}
		h.SetWeekdayMinutes(int(r.number("weekday_minutes"))).SetWeekendMinutes(int(r.number("weekend_minutes")))
		if kcal := int(r.number("energy_target_kcal")); kcal > 0 {
			h.SetEnergyTargetKcal(kcal)
		}
		if r["weekly_budget"] != nil {
			h.SetWeeklyBudget(r.number("weekly_budget"))
		}
	}
	slices.Sort(allergies)
	slices.Sort(dislikes)
	for i := range members {
		members[i].Diet, members[i].Allergies, members[i].Dislikes = diet, slices.Compact(allergies), slices.Compact(dislikes)
	}
	return h.SetMembers(members).Exec(ctx)
}

func (t *taker) takeProducts(ctx context.Context) error {
	return t.each(ctx, "products", func(r row) error {
		id, known := r.text("id"), catalogue.ProductID(r.text("gtin"))
		if there, err := t.Product.Query().Where(product.ID(known)).Exist(ctx); err != nil || there {
			t.products[id] = known
			return err
		}
		t.products[id] = id
		unit, name := unitOf(r.text("default_unit"), r.text("name"))
		row := t.Product.Create().SetID(id).SetName(name).SetBrand(r.text("brand")).SetBarcodes([]string{r.text("gtin")}).
			SetPackageAmount(r.number("default_quantity")).SetPackageUnit(unit)
		if f := (*foods.Book)(nil).Find(r.text("name")); f.ID != "" {
			row.SetFoodID(f.ID)
		}
		return row.Exec(ctx)
	})
}

func (t *taker) takeRecipes(ctx context.Context) error {
	own := map[string]bool{}
	err := t.each(ctx, "recipes", func(r row) error {
		id := r.text("id")
		there, err := t.Recipe.Query().Where(recipe.Name(r.text("name"))).Only(ctx)
		switch {
		case err == nil:
			t.recipes[id] = there.ID
			u := there.Update().SetTimesCooked(int(r.number("times_cooked")))
			if r["rating"] != nil {
				u.SetRating(r.number("rating"))
			}
			return u.Exec(ctx)
		case !ent.IsNotFound(err):
			return err
		}
		t.recipes[id], own[id] = id, true
		meals, err := r.list("meal_types")
		if err != nil {
			return err
		}
		tags, err := r.list("dietary_tags")
		if err != nil {
			return err
		}
		equipment, err := r.list("equipment")
		if err != nil {
			return err
		}
		row := t.Recipe.Create().SetID(id).SetName(r.text("name")).SetDescription(r.text("description")).SetCuisine(r.text("cuisine")).SetMealTypes(meals).
			SetDietaryTags(tags).SetEquipment(equipment).SetPrepMinutes(int(r.number("prep_minutes"))).SetCookMinutes(int(r.number("cook_minutes"))).
			SetDifficulty(recipe.Difficulty(r.text("difficulty"))).SetServings(int(r.number("servings"))).SetTimesCooked(int(r.number("times_cooked")))
		if r["rating"] != nil {
			row.SetRating(r.number("rating"))
		}
		return row.Exec(ctx)
	})
	if err != nil {
		return err
	}
	position := map[string]int{}
	return t.each(ctx, "recipe_ingredients", func(r row) error {
		of := r.text("recipe_id")
		if !own[of] {
			return nil // the catalogue has its own lines
		}
		unit, name := unitOf(r.text("unit"), r.text("name"))
		position[of]++
		return t.RecipeIngredient.Create().SetID(r.text("id")).SetRecipeID(of).SetPosition(position[of]).SetName(name).SetAmount(r.number("amount")).SetUnit(unit).
			SetOptional(r.truth("optional")).SetPreparation(r.text("note")).Exec(ctx)
	})
}

func (t *taker) plans(ctx context.Context) error {
	days := map[string][2]time.Time{}
	err := t.each(ctx, "meal_plans", func(r row) error {
		start, end := r.day("start"), r.day("end")
		if end.Before(*start) {
			start, end = end, start
		}
		days[r.text("id")] = [2]time.Time{*start, *end}
		return t.MealPlan.Create().SetID(r.text("id")).SetName(r.text("name")).SetStart(*start).SetEnd(*end).SetStatus(mealplan.Status(r.text("status"))).Exec(ctx)
	})
	if err != nil {
		return err
	}
	return t.each(ctx, "planned_meals", func(r row) error {
		on, plan := *r.day("scheduled_for"), r.optional("plan_id")
		if plan != nil && (on.Before(days[*plan][0]) || on.After(days[*plan][1])) {
			plan = nil // a meal outside of its plan's days stands alone
		}
		dish := t.recipes[r.text("recipe_id")]
		row := t.PlannedMeal.Create().SetID(r.text("id")).SetDate(on).SetMealType(plannedmeal.MealType(r.text("meal_type"))).
			SetServings(r.number("servings")).SetNotes(r.text("notes")).SetNillablePlanID(plan).SetRecipeID(dish)
		if r["rating"] != nil {
			row.SetRating(int(r.number("rating")))
		}
		stored, err := row.Save(ctx)
		if err != nil {
			return err
		}
		// timesCooked has counted it already, or never: it is as it was.
		before := t.Recipe.GetX(ctx, dish).TimesCooked
		if err := stored.Update().SetStatus(plannedmeal.Status(r.text("status"))).Exec(ctx); err != nil {
			return err
		}
		return t.Recipe.UpdateOneID(dish).SetTimesCooked(before).Exec(ctx)
	})
}

func (t *taker) photos(ctx context.Context) error {
	return t.each(ctx, "pantry_photos", func(r row) error {
		row := t.PantryPhoto.Create().SetID(r.text("id")).SetFileName(r.text("file_name")).SetSha256(r.text("sha256")).SetWidth(int(r.number("width"))).
			SetHeight(int(r.number("height"))).SetStatus(pantryphoto.Status(r.text("status")))
		if r["processing_ms"] != nil {
			row.SetProcessingMs(int(r.number("processing_ms")))
		}
		if at, ok := r.time("added_at"); ok {
			row.SetAddedAt(at)
		}
		return row.Exec(ctx)
	})
}

// lots makes one lot of each item. What it had cost counts for all that had come of it,
// as the diary knows: its quantity has shrunk since.
func (t *taker) lots(ctx context.Context) error {
	err := t.each(ctx, "pantry_events", func(r row) error {
		if r.text("kind") == "came" {
			t.came[r.text("item_id")] += r.number("quantity")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return t.each(ctx, "pantry_items", func(r row) error {
		id, amount := r.text("id"), r.number("quantity")
		unit, name := unitOf(r.text("unit"), r.text("name"))
		initial := max(t.came[id], amount)
		row := t.PantryItem.Create().SetID(id).SetName(name).SetAmount(amount).SetInitialAmount(initial).SetUnit(unit).SetPlace(pantryitem.Place(r.text("location"))).
			SetStatus(pantryitem.Status(r.text("status"))).SetNillableBestBefore(r.day("expires_at")).SetStaple(r.truth("is_staple"))
		if r.text("source") == "photo" || r.text("source") == "barcode" {
			row.SetSource(pantryitem.SourcePhoto)
		}
		if at, ok := r.time("added_at"); ok {
			row.SetAddedAt(at)
		}
		if r["purchase_price"] != nil && initial > 0 {
			row.SetUnitPrice(r.number("purchase_price") / initial)
		}
		if p := t.products[r.text("product_id")]; p != "" {
			row.SetProductID(p)
		}
		return row.Exec(ctx)
	})
}

var detectionStatus = map[string]detection.Status{"matched": detection.StatusMatched, "unmatched": detection.StatusOpen, "dismissed": detection.StatusDismissed}

func (t *taker) detections(ctx context.Context) error {
	err := t.each(ctx, "detections", func(r row) error {
		candidates, err := r.list("candidates")
		if err != nil {
			return err
		}
		for i, c := range candidates {
			if now := t.products[c]; now != "" {
				candidates[i] = now
			}
		}
		row := t.Detection.Create().SetID(r.text("id")).SetKind(r.text("kind")).SetValue(r.text("value")).SetCandidates(candidates).SetConfidence(r.number("confidence")).
			SetStatus(detectionStatus[r.text("status")]).SetPhotoID(r.text("photo_id")).SetNillablePantryItemID(r.optional("pantry_item_id"))
		if len(candidates) == 1 {
			row.SetProductID(candidates[0])
		}
		if box := r.text("box"); box != "" {
			var b schema.Box
			if err := json.Unmarshal([]byte(box), &b); err != nil {
				return err
			}
			row.SetBox(b)
		}
		return row.Exec(ctx)
	})
	if err != nil {
		return err
	}
	return t.each(ctx, "pantry_items", func(r row) error { // they refer to each other
		if d := r.text("detection_id"); d != "" {
			return t.PantryItem.UpdateOneID(r.text("id")).SetDetectionID(d).Exec(ctx)
		}
		return nil
	})
}

// eventReasons are what the first model's reasons say now; those that it had guessed, of
// edits, are corrections.
var eventReasons = map[string]pantryevent.Reason{
	"bought": pantryevent.ReasonBought, "seen_on_photo": pantryevent.ReasonBought, "scanned": pantryevent.ReasonBought, "consumed": pantryevent.ReasonEaten,
	"used": pantryevent.ReasonEaten, "expired": pantryevent.ReasonExpired, "wasted": pantryevent.ReasonWasted,
	"returned": pantryevent.ReasonCorrected, "edited": pantryevent.ReasonCorrected, "deleted": pantryevent.ReasonCorrected,
}

func (t *taker) events(ctx context.Context) error {
	return t.each(ctx, "pantry_events", func(r row) error {
		at, ok := r.time("at")
		if !ok {
			at = time.Unix(0, 0).UTC()
		}
		row := t.PantryEvent.Create().SetID(r.text("id")).SetItemID(r.text("item_id")).SetItemName(r.text("item_name")).SetKind(pantryevent.Kind(r.text("kind"))).
			SetReason(eventReasons[r.text("reason")]).SetAmount(r.number("quantity")).SetUnit(r.text("unit")).SetAt(at)
		if f := (*foods.Book)(nil).Find(r.text("item_name")); f.ID != "" {
			row.SetFoodID(f.ID)
		}
		return row.Exec(ctx)
	})
}

func (t *taker) lists(ctx context.Context) error {
	err := t.each(ctx, "shopping_lists", func(r row) error {
		row := t.ShoppingList.Create().SetID(r.text("id")).SetName(r.text("name")).SetStatus(shoppinglist.Status(r.text("status")))
		if at, ok := r.time("created_at"); ok {
			row.SetCreatedAt(at)
		}
		return row.Exec(ctx)
	})
	if err != nil {
		return err
	}
	return t.each(ctx, "shopping_items", func(r row) error {
		unit, name := unitOf(r.text("unit"), r.text("name"))
		row := t.ShoppingItem.Create().SetID(r.text("id")).SetListID(r.text("list_id")).SetName(name).SetAmount(r.number("quantity")).SetUnit(unit).
			SetAisle(r.text("category")).SetBought(r.truth("bought")).SetNote(r.text("note"))
		if p := t.products[r.text("product_id")]; p != "" {
			row.SetProductID(p)
		}
		return row.Exec(ctx)
	})
}
