package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/store"
)

// haul is what grocery-haul.js answers.
type haul struct {
	Summary  string
	NewItems []struct {
		Name, Quantity, Location, Expires string
	}
	UpdatedItems []struct {
		Name, Added, Now, Expires string
	}
	Dinners []struct {
		Date, Name        string
		Minutes, Servings int
		UsesSoon, ToBuy   []string
	}
	Unmatched []struct{ Value, Kind string }
	Notes     []string
}

func (h haul) names() (fresh, more, dinners []string) {
	for _, i := range h.NewItems {
		fresh = append(fresh, i.Name)
	}
	for _, i := range h.UpdatedItems {
		more = append(more, i.Name)
	}
	for _, d := range h.Dinners {
		dinners = append(dinners, d.Name)
	}
	return fresh, more, dinners
}

// haul runs the script with a photo.
func (k kitchen) haul(photo string) (haul, *koantest.Result) {
	k.t.Helper()
	r := k.Run(script(k.t, "grocery-haul.js"), koantest.Input{Args: map[string]any{"photo": photo}, Include: []string{"calls"}})
	var h haul
	r.AnswerInto(&h)
	return h, r
}

func days(n int) string { return time.Now().UTC().AddDate(0, 0, n).Format(time.DateOnly) }

func TestHaul(t *testing.T) {
	k := open(t)
	h, r := k.haul(k.sample("haul.png"))
	fresh, more, dinners := h.names()
	require.ElementsMatch(t, []string{"Spinach", "Chickpeas", "Tomatoes"}, fresh)
	require.ElementsMatch(t, []string{"Eggs", "Spaghetti"}, more)
	require.Len(t, dinners, 3)
	require.Len(t, h.Unmatched, 1)
	require.Equal(t, "2000000000992", h.Unmatched[0].Value)
	require.Contains(t, h.Dinners[0].UsesSoon, "Spinach", "what expires soon comes first")
	for _, d := range h.Dinners {
		require.Equal(t, 2, d.Servings)
		require.NotEmpty(t, d.Date)
	}
	for _, i := range h.UpdatedItems {
		switch i.Name {
		case "Eggs":
			require.Equal(t, "13", i.Now)
			require.Equal(t, days(4), i.Expires, "the older eggs are eaten first")
		case "Spaghetti":
			require.Equal(t, "750 g", i.Now)
		}
	}
	require.True(t, r.Committed || len(r.ChangeCounts) > 0)
	counts := map[string]store.ChangeCount{}
	for _, c := range r.ChangeCounts {
		counts[c.Entity] = c
	}
	require.Equal(t, 1, counts["PantryPhoto"].Created)
	require.Equal(t, 6, counts["Detection"].Created)
	require.Equal(t, 3, counts["PantryItem"].Created)
	require.Equal(t, 2, counts["PantryItem"].Updated)
	require.Equal(t, 5, counts["PantryEvent"].Created)
	require.Equal(t, 1, counts["MealPlan"].Created)
	require.Equal(t, 3, counts["PlannedMeal"].Created)
	require.LessOrEqual(t, len(r.Calls), 15, "few calls: %v", r.Calls)

	stored := value[map[string]json.RawMessage](k, `({
		photo: SDK.Entities.PantryPhoto.firstPage(1, {with: "detections"}).items.map(p => [p.fileName, p.status, p.width, p.height, p.detections.length])[0],
		linked: SDK.Entities.Detection.all({filter: {status: "matched"}, with: "pantryItem"}).every(d => d.pantryItem && d.candidates.length === 1),
		unmatched: SDK.Entities.Detection.all({filter: {status: "unmatched"}}).map(d => [d.value, d.pantryItemId]),
		items: SDK.Entities.PantryItem.all({filter: {source: "photo"}, with: "product,detection", sort: "name"}).map(i => [i.name, i.product.name, i.detection.kind, i.location]),
		meals: SDK.Entities.MealPlan.firstPage(1, {with: "meals.recipe"}).items[0].meals.map(m => [m.recipe.name, m.mealType, m.status]),
		events: [...new Set(SDK.Entities.PantryEvent.all({filter: {reason: "seen_on_photo"}}).map(e => e.itemName))].sort()})`)
	require.JSONEq(t, `["haul.png","processed",1600,1200,6]`, string(stored["photo"]))
	require.JSONEq(t, `true`, string(stored["linked"]))
	require.JSONEq(t, `[["2000000000992",null]]`, string(stored["unmatched"]))
	require.JSONEq(t, `[["Chickpeas","Chickpeas","ean13","pantry"],["Spinach","Spinach","ean13","fridge"],["Tomatoes","Tomatoes","ean13","fridge"]]`, string(stored["items"]))
	require.JSONEq(t, `["Chickpeas","Eggs","Spaghetti","Spinach","Tomatoes"]`, string(stored["events"]))
	require.Contains(t, string(stored["meals"]), `"`+dinners[0]+`","dinner","planned"`)
}

func TestHaulIsIdempotent(t *testing.T) {
	k := open(t)
	k.haul(k.sample("haul.png"))
	before := value[float64](k, `SDK.Entities.PantryItem.all().reduce((n, i) => n + i.quantity, 0)`)
	require.NoError(t, os.Rename(filepath.Join(k.photos, "haul.png"), filepath.Join(k.photos, "again.png")))
	h, r := k.haul("again.png")
	require.Contains(t, h.Summary, "already put away")
	require.Contains(t, h.Summary, "haul.png")
	require.Empty(t, r.ChangeCounts)
	require.Equal(t, before, value[float64](k, `SDK.Entities.PantryItem.all().reduce((n, i) => n + i.quantity, 0)`))
}

func TestConcurrentHaulsOfOnePhoto(t *testing.T) {
	k := open(t)
	photo := k.sample("haul.png")
	answers := make(chan haul, 2)
	for range cap(answers) {
		go func() {
			r := k.Try(script(t, "grocery-haul.js"), koantest.Input{Args: map[string]any{"photo": photo}})
			var h haul
			if !r.Success || json.Unmarshal(r.Answer, &h) != nil {
				h.Summary = fmt.Sprint("failed: ", r.Error)
			}
			answers <- h
		}()
	}
	known := 0
	for range cap(answers) {
		h := <-answers
		require.NotContains(t, h.Summary, "failed")
		if strings.Contains(h.Summary, "already put away") {
			known++
		}
	}
	require.Equal(t, 1, known, "the later one sees what the first one did")
	require.Equal(t, []int{1, 1, 13}, value[[]int](k, `[SDK.Entities.PantryPhoto.count(), SDK.Entities.MealPlan.count(), SDK.Entities.PantryItem.all({filter: {name: "Eggs"}})[0].quantity]`))
}

func TestHaulAddsToExistingItems(t *testing.T) {
	k := open(t)
	k.haul(k.photo("monday.png", gtins(7)...))
	h, _ := k.haul(k.photo("tuesday.png", gtins(7, 12)...))
	fresh, more, _ := h.names()
	require.Equal(t, []string{"Chickpeas"}, fresh)
	require.Equal(t, []string{"Spinach"}, more)
	require.Equal(t, "500 g", h.UpdatedItems[0].Now)
	require.Equal(t, 1, value[int](k, `SDK.Entities.PantryItem.count({name: "Spinach"})`))
}

func TestHaulCountsPackages(t *testing.T) {
	k := open(t)
	h, _ := k.haul(k.photo("two.png", gtins(12, 12)...))
	require.Len(t, h.NewItems, 1)
	require.Equal(t, "800 g", h.NewItems[0].Quantity)
	require.Equal(t, 2, value[int](k, `SDK.Entities.Detection.all({with: "pantryItem"}).filter(d => d.pantryItem.name === "Chickpeas").length`))
}

func TestHaulWithoutCodes(t *testing.T) {
	k := open(t)
	h, r := k.haul(k.sample("empty.png"))
	require.Contains(t, h.Summary, "no barcode")
	require.Empty(t, h.Dinners)
	require.Equal(t, []store.ChangeCount{{Entity: "PantryPhoto", Set: "default", Created: 1}}, r.ChangeCounts)
	require.Equal(t, "no_codes", value[string](k, `SDK.Entities.PantryPhoto.firstPage(1).items[0].status`))
}

func TestHaulWithUnknownCodes(t *testing.T) {
	k := open(t)
	h, _ := k.haul(k.photo("unknown.png", append(gtins(98, 99), "20000004")...))
	require.Len(t, h.Unmatched, 3)
	require.Empty(t, h.NewItems)
	require.Empty(t, h.UpdatedItems)
	require.NotEmpty(t, h.Dinners, "there is still something in the house")
	require.Equal(t, 3, value[int](k, `SDK.Entities.Detection.count({status: "unmatched"})`))
}

func TestHaulRejectsBadPhotos(t *testing.T) {
	k := open(t)
	cases := map[string]struct {
		args any
		code fault.Code
		want string
	}{
		"broken":           {map[string]any{"photo": k.sample("broken.png")}, fault.InvalidPayload, ""},
		"missing":          {map[string]any{"photo": "none.png"}, fault.NotFound, "none.png"},
		"outside the root": {map[string]any{"photo": "../secret.png"}, fault.InvalidPayload, "outside"},
		"no argument":      {map[string]any{}, fault.JavaScriptError, "args.photo is missing"},
		"no arguments":     {nil, fault.JavaScriptError, "args.photo is missing"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := k.Try(script(t, "grocery-haul.js"), koantest.Input{Args: c.args})
			require.False(t, r.Success)
			require.Equal(t, c.code, r.Error.Code, r.Error.Message)
			require.Contains(t, r.Error.Message, c.want)
			require.Positive(t, r.Error.Line)
			require.False(t, r.Committed)
		})
	}
	require.Zero(t, value[int](k, `SDK.Entities.PantryPhoto.count()`))
}

func TestDinnersRespectAllergies(t *testing.T) {
	harm := map[string][]string{
		"eggs":   {"Spinach and Feta Frittata", "Shakshuka", "Egg Fried Rice", "Spaghetti Carbonara", "Tofu Noodles with Broccoli"},
		"gluten": {"Spaghetti with Fresh Tomato Sauce", "Pasta with Chickpeas and Tomatoes", "Spaghetti Carbonara", "Egg Fried Rice"},
		"milk":   {"Spinach and Feta Frittata", "Spaghetti with Fresh Tomato Sauce", "Greek Salad"},
	}
	for allergen, never := range harm {
		t.Run(allergen, func(t *testing.T) {
			k := open(t)
			k.Run(fmt.Sprintf(`SDK.Entities.HouseholdProfile.patch(SDK.Entities.HouseholdProfile.firstPage(1).items[0].id, {allergies: [%q]})`, allergen), koantest.Input{})
			h, _ := k.haul(k.sample("haul.png"))
			_, _, dinners := h.names()
			require.NotEmpty(t, dinners)
			for _, name := range never {
				require.NotContains(t, dinners, name)
			}
		})
	}
	t.Run("vegan", func(t *testing.T) {
		k := open(t)
		k.Run(`SDK.Entities.HouseholdProfile.patch(SDK.Entities.HouseholdProfile.firstPage(1).items[0].id, {diet: "vegan", dislikes: ["spinach"]})`, koantest.Input{})
		h, _ := k.haul(k.sample("haul.png"))
		_, _, dinners := h.names()
		require.Contains(t, dinners, "Pasta with Chickpeas and Tomatoes")
		require.NotContains(t, dinners, "Chickpea and Spinach Curry", "nobody wants spinach")
		require.NotContains(t, dinners, "Spaghetti with Fresh Tomato Sauce", "it has cheese")
	})
}

func TestDinnersFitTimeAndServings(t *testing.T) {
	k := open(t)
	k.Run(`SDK.Entities.HouseholdProfile.patch(SDK.Entities.HouseholdProfile.firstPage(1).items[0].id, {weekdayMinutes: 25, weekendMinutes: 25, size: 5})`, koantest.Input{})
	h, _ := k.haul(k.sample("haul.png"))
	require.NotEmpty(t, h.Dinners)
	short := false
	for _, d := range h.Dinners {
		require.LessOrEqual(t, d.Minutes, 25)
		require.Equal(t, 5, d.Servings)
		short = short || len(d.ToBuy) > 0
	}
	require.True(t, short, "what two would have enough of, five have not: %v", h.Dinners)

	k.Run(`SDK.Entities.HouseholdProfile.patch(SDK.Entities.HouseholdProfile.firstPage(1).items[0].id, {weekdayMinutes: 1, weekendMinutes: 1})`, koantest.Input{})
	h, _ = k.haul(k.photo("more.png", gtins(12)...))
	require.Empty(t, h.Dinners)
	require.Equal(t, 1, value[int](k, `SDK.Entities.MealPlan.count()`), "no plan without dinners")
}

func TestUnitsAndDates(t *testing.T) {
	cases := map[string]struct {
		pantry string // what is there of spinach before; one package holds 250 g and keeps 5 days
		check  func(t *testing.T, h haul)
	}{
		"kilograms take grams": {`{name: "Spinach", quantity: 0.5, unit: "kg"}`, func(t *testing.T, h haul) {
			require.Equal(t, "0.75 kg", h.UpdatedItems[0].Now)
			require.Equal(t, days(5), h.UpdatedItems[0].Expires, "no date was known")
		}},
		"another spelling is the same thing": {`{name: "fresh spinach", quantity: 100, unit: "g"}`, func(t *testing.T, h haul) {
			require.Equal(t, "350 g", h.UpdatedItems[0].Now)
		}},
		"bags are not grams": {`{name: "Spinach", quantity: 2, unit: "bag"}`, func(t *testing.T, h haul) {
			require.Equal(t, "250 g", h.NewItems[0].Quantity)
			require.Contains(t, h.Notes[0], "bag")
		}},
		"what is past its date stays apart": {`{name: "Spinach", quantity: 100, unit: "g", expiresAt: new Date(Date.now() - 864e5).toISOString()}`, func(t *testing.T, h haul) {
			require.Equal(t, "250 g", h.NewItems[0].Quantity)
			require.Contains(t, h.Notes, "Past its date: Spinach.")
		}},
		"with none left the new date counts": {`{name: "Spinach", quantity: 0, unit: "g", expiresAt: new Date(Date.now() + 864e5).toISOString()}`, func(t *testing.T, h haul) {
			require.Equal(t, "250 g", h.UpdatedItems[0].Now)
			require.Equal(t, days(5), h.UpdatedItems[0].Expires)
		}},
		"what left the house is not there": {`{name: "Spinach", quantity: 100, unit: "g", status: "consumed"}`, func(t *testing.T, h haul) {
			require.Equal(t, "250 g", h.NewItems[0].Quantity)
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			k := open(t)
			k.Run(`SDK.Entities.PantryItem.upsert(`+c.pantry+`)`, koantest.Input{})
			h, _ := k.haul(k.photo("spinach.png", gtins(7)...))
			c.check(t, h)
		})
	}
}

func TestIngredientsArePlannedOnce(t *testing.T) {
	k := open(t)
	k.Run(`const all = SDK.Entities.PantryItem; all.deleteMany(all.all().map(i => i.id));
		all.upsertMany([{name: "Eggs", quantity: 7}, {name: "Spinach", quantity: 1, unit: "kg"}, {name: "Feta", quantity: 1, unit: "kg"},
			{name: "Onions", quantity: 2, unit: "kg"}, {name: "Rice", quantity: 1, unit: "kg"}, {name: "Peas", quantity: 1, unit: "kg"},
			{name: "Carrots", quantity: 1, unit: "kg"}, {name: "Soy sauce", quantity: 1, unit: "l"}, {name: "Garlic", quantity: 1},
			{name: "Olive oil", quantity: 1, unit: "l", isStaple: true}, {name: "Salt", isStaple: true}, {name: "Black pepper", isStaple: true}])`, koantest.Input{})
	h, _ := k.haul(k.photo("soap.png", gtins(60)...))
	short := 0
	for _, d := range h.Dinners {
		for _, missing := range d.ToBuy {
			if missing == "more eggs" {
				short++
			}
		}
	}
	_, _, dinners := h.names()
	require.Subset(t, dinners, []string{"Spinach and Feta Frittata", "Egg Fried Rice"})
	require.Equal(t, 1, short, "six eggs for one, two for the other, seven in the house: %v", h.Dinners)
}

func TestOtherSetIsEmpty(t *testing.T) {
	k := open(t)
	photo := k.sample("haul.png")
	r := k.Run(script(t, "grocery-haul.js"), koantest.Input{Args: map[string]any{"photo": photo}, Set: "lake-house"})
	var h haul
	r.AnswerInto(&h)
	require.Len(t, h.Unmatched, 6, "it has no products")
	require.Empty(t, h.Dinners)
	require.Contains(t, h.Notes, "No recipe fits what is in the house, so no dinner is planned.")
	require.Zero(t, value[int](k, `SDK.Entities.PantryPhoto.count()`), "nothing reaches the other set")
}

func TestHaulDryRun(t *testing.T) {
	k := open(t)
	photo := k.sample("haul.png")
	r := k.Run(script(t, "grocery-haul.js"), koantest.Input{Args: map[string]any{"photo": photo}, DryRun: true})
	require.NotEmpty(t, r.Changes)
	require.Zero(t, value[int](k, `SDK.Entities.PantryPhoto.count()`))
	h, _ := k.haul(photo)
	require.Len(t, h.NewItems, 3)
}
