package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/sample-pantrypal/app"
)

// What households stumbled over among what is in the house.

// Food that is put elsewhere keeps as long as it does there.
func TestPlaceBringsItsDate(t *testing.T) {
	t.Parallel()
	k := open(t)
	days := value[map[string]int](k, `(f => ({fridge: f.shelfLifeFridge, freezer: f.shelfLifeFreezer}))(SDK.Entities.Food.getById("spinach"))`)
	moved := func(from, changes string) []any {
		return value[[]any](k, `const l = SDK.Entities.PantryItem.upsert({name: "Spinach", amount: 100, unit: "g", `+from+`}); (l => [l.place, l.bestBefore])(SDK.Entities.PantryItem.patch(l.id, `+changes+`))`)
	}
	frozen, thawed := day(days["freezer"]), day(days["fridge"])
	require.Equal(t, []any{"freezer", frozen}, moved(`place: "fridge", bestBefore: "2026-11-24"`, `{place: "freezer", reason: "moved"}`))
	require.Equal(t, []any{"freezer", "2030-01-01"}, moved(`place: "fridge", bestBefore: "2030-01-01"`, `{place: "freezer"}`), "it kept longer already")
	require.Equal(t, []any{"freezer", "2026-12-24"}, moved(`place: "fridge", bestBefore: "2026-11-24"`, `{place: "freezer", bestBefore: "2026-12-24"}`), "somebody knows better")
	require.Equal(t, []any{"freezer", "2026-11-22"}, moved(`place: "fridge", bestBefore: "2026-11-22"`, `{place: "freezer"}`), "what is bad stays bad")
	require.Equal(t, []any{"fridge", thawed}, moved(`place: "freezer", bestBefore: "2027-06-01"`, `{place: "fridge"}`))
	require.Equal(t, []any{"fridge", thawed}, moved(`place: "freezer"`, `{place: "fridge"}`))
	require.Equal(t, []any{"fridge", "2026-11-24"}, moved(`place: "freezer", bestBefore: "2026-11-24"`, `{place: "fridge"}`))
	require.Equal(t, []any{frozen}, value[[]any](k, `SDK.Entities.PantryItem.updateByQuery({foodId: "spinach", status: "available", bestBefore: "2026-11-24", place: "fridge", addedAt: {$lt: "2026-11-22T00:00:00Z"}}, {place: "freezer"});
		SDK.Entities.PantryItem.all({filter: {foodId: "spinach", status: "available", addedAt: {$lt: "2026-11-22T00:00:00Z"}}}).map(l => l.bestBefore)`), "in every way")
	require.Equal(t, []any{"2026-11-26", "2027-02-21", "2026-11-26"}, value[[]any](k, `
		const E = SDK.Entities.Leftover, l = E.upsert({name: "Soup", servings: 1, cookedOn: "2026-11-23"});
		[l.bestBefore, E.patch(l.id, {place: "freezer"}).bestBefore, E.patch(l.id, {place: "fridge"}).bestBefore]`), "leftovers too")
}

// What is counted to be more than came had come.
func TestCountedLotHadCome(t *testing.T) {
	t.Parallel()
	k := open(t)
	require.Equal(t, []any{7.0, 7.0}, value[[]any](k, `(l => [l.amount, l.initialAmount])(SDK.Entities.PantryItem.patch(SDK.Entities.PantryItem.upsert({name: "Apples", amount: 5}).id, {amount: 7, reason: "corrected"}))`))
}

// Two foods become one by their names, whole.
func TestMergeTakesNamesWhole(t *testing.T) {
	t.Parallel()
	k := open(t)
	k.Run(`for (const name of ["Gran", "GRANS", "Granatapfel Saft"]) SDK.Entities.PantryItem.upsert({name, amount: 100, unit: "g"})`, koantest.Input{})
	_, err := k.TryAction("merge-foods", map[string]any{"from": "granat", "into": "Parmesan"})
	require.Equal(t, "/from", fault.From(err).Path)
	require.Contains(t, fault.From(err).Hint, "Granatapfel Saft")
	_, err = k.TryAction("merge-foods", map[string]any{"from": "Gran", "into": "large onions"})
	require.Equal(t, "/into", fault.From(err).Path)
	require.Contains(t, fault.From(err).Hint, "Onions")
	var out struct {
		Lots   int
		ByName []string
	}
	k.Action("merge-foods", map[string]any{"from": "gran", "into": "Parmesan"}, &out)
	require.Equal(t, 2, out.Lots)
	require.ElementsMatch(t, []string{"PantryItem Gran", "PantryItem GRANS"}, out.ByName)
	require.Nil(t, value[any](k, `SDK.Entities.PantryItem.all({filter: {name: "Granatapfel Saft"}})[0].foodId`))
}

// Somebody agrees before the pantry is thrown away, or a food becomes another one; not before a lot is.
func TestMuchAtOnceIsAsked(t *testing.T) {
	t.Parallel()
	k := open(t, koantest.Setting{Key: "approval.mode", Value: "destructive"}, koantest.Setting{Key: "approval.rules", Value: app.New().Defaults["approval.rules"]})
	for what, code := range map[string]string{
		"by a filter": `SDK.Entities.PantryItem.updateByQuery({status: "available"}, {status: "wasted"}, {all: true})`,
		"one by one":  `for (const l of SDK.Entities.PantryItem.all({filter: {status: "available"}})) SDK.Entities.PantryItem.patch(l.id, {status: "wasted"})`,
		"a merge":     `SDK.Actions.mergeFoods({from: "feta", into: "Parmesan"})`,
	} {
		r := k.Try(code, koantest.Input{})
		require.False(t, r.Success, what)
		require.Equal(t, fault.ApprovalRequired, r.Error.Code, what)
	}
	_, err := k.TryAction("merge-foods", map[string]any{"from": "milk", "into": "Parmesan"})
	require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err))
	require.Equal(t, "wasted", value[string](k, `SDK.Entities.PantryItem.patch(SDK.Entities.PantryItem.all({filter: {foodId: "feta", status: "available"}})[0].id, {status: "wasted"}).status`))
	require.Equal(t, "Shakshuka", value[string](k, `SDK.Actions.cooked({recipe: "shakshuka"}).name`))
}

// What came and went of a lot is taken back in the reverse order: the diary and the lot stay one.
func TestUndoKeepsDiaryAndLotOne(t *testing.T) {
	t.Parallel()
	k := open(t, koantest.Setting{Key: "journal.enabled", Value: "true"})
	bought := k.Run(`SDK.Entities.PantryItem.upsert({name: "Quark", amount: 300, unit: "g"}).id`, koantest.Input{})
	var lot string
	bought.ResultInto(&lot)
	eaten := k.Run(`SDK.Entities.PantryItem.patch(SDK.args, {amount: 100, reason: "eaten"})`, koantest.Input{Args: lot})
	wasted := k.Run(`SDK.Entities.PantryItem.patch(SDK.args, {status: "wasted", amount: 0, reason: "wasted"})`, koantest.Input{Args: lot})
	diary := func() (out []any) {
		k.Run(`SDK.Entities.PantryEvent.all({filter: {itemId: SDK.args}, sort: "id"}).map(e => [e.kind, e.amount])`, koantest.Input{Args: lot}).ResultInto(&out)
		return out
	}
	whole := diary()
	require.Equal(t, []any{[]any{"came", 300.0}, []any{"went", 200.0}, []any{"went", 100.0}}, whole)
	for _, how := range []string{"refuse", "skip"} {
		raw, err := k.Call("code::koan.undo", map[string]any{"runId": eaten.RunID, "onConflict": how})
		require.Equal(t, whole, diary(), "%s: %s %v", how, raw, err)
		if how == "skip" {
			require.NoError(t, err)
			require.Contains(t, string(raw), "of Quark something went since")
		}
	}
	for _, run := range []string{wasted.RunID, eaten.RunID, bought.RunID} {
		k.undo(run)
	}
	require.Empty(t, diary())
}

// Amounts are written as people do, in all texts.
func TestAmountsInTexts(t *testing.T) {
	t.Parallel()
	k := open(t)
	k.Run(`for (const [name, amount, unit] of [["Bread", 6, "slice"], ["Milk", 2, "bottle"], ["Rope", 1, "piece"]])
		SDK.Entities.PantryItem.upsert({name, amount, unit, bestBefore: "2026-11-24", openedAt: "2026-01-01"})`, koantest.Input{})
	texts := value[[]string](k, `[...SDK.Actions.reminders({}).expiring, ...SDK.Actions.openTooLong({}).lots].map(l => l.text + " " + l.name)`)
	for _, want := range []string{"6 slices Bread", "2 bottles Milk", "1 Rope"} {
		count := 0
		for _, text := range texts {
			if text == want {
				count++
			}
		}
		require.Equal(t, 2, count, "%s in %v", want, texts)
	}
	cooked := value[map[string]any](k, `
		SDK.Actions.importRecipe({text: "Omelette\nServes 1\nIngredients\n4 eggs\n3 cloves garlic\n0.0002 ml milk"}); SDK.Actions.cooked({recipe: "Omelette", servings: 1})`)
	require.Contains(t, cooked["notThere"], "1 egg")
	for _, took := range cooked["took"].([]any) {
		require.NotEqual(t, "Milk", took.(map[string]any)["name"], "%v", took)
	}
}

// What cannot be read as an amount is said, and not taken for another one.
func TestAmountsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	k := open(t)
	require.Equal(t, []any{
		[]any{10.0, "piece", nil, `no food is called "furlong rope", and no unit "furlong"`},
		[]any{nil, nil, nil, `the amount of "1e9 g sugar" cannot be read`},
		[]any{nil, nil, nil, `the amount of "1.234,5 g sugar" cannot be read`},
		[]any{nil, nil, nil, `the amount of "-2 eggs" cannot be read`},
		[]any{1234.0, "g", "sugar", ""},
		[]any{nil, nil, "salt", ""},
		[]any{3.0, "large", "onions", ""},
	}, value[[]any](k, `SDK.Actions.readIngredients({lines: ["10 furlong rope", "1e9 g sugar", "1.234,5 g sugar", "-2 eggs", "1,234 g sugar", "salt, to taste", "3 large onions, chopped"]}).lines.map(l => [l.amount, l.unit, l.foodId, l.problem])`))
	require.Equal(t, []string{"minced-beef", "minced-lamb", "minced-pork"}, value[[]string](k, `SDK.Actions.findFood({names: ["minced meat"]}).found[0].candidates.map(c => c.id).slice(0, 3)`))
}

// Months and days are the household's, not those of Greenwich.
func TestReportsHaveTheHouseholdsDays(t *testing.T) {
	t.Parallel()
	k := open(t)
	var got, events []struct {
		Month string
		Sum   struct{ Times int }
		At    time.Time
	}
	k.Run(`SDK.Entities.Household.patch("household", {timeZone: "Pacific/Pago_Pago"}); SDK.Actions.waste({months: 60}).months`, koantest.Input{}).ResultInto(&got)
	k.Run(`SDK.Entities.PantryEvent.all({filter: {kind: "went", reason: {$in: ["wasted", "expired"]}}}).map(e => ({at: e.at}))`, koantest.Input{}).ResultInto(&events)
	zone, err := time.LoadLocation("Pacific/Pago_Pago")
	require.NoError(t, err)
	want, told, moved := map[string]int{}, map[string]int{}, 0
	for _, e := range events {
		want[e.At.In(zone).Format("2006-01")]++
		if e.At.In(zone).Month() != e.At.UTC().Month() {
			moved++
		}
	}
	require.Positive(t, moved, "some are of another month there")
	for _, m := range got {
		told[m.Month] = m.Sum.Times
	}
	require.Equal(t, want, told)
}

func TestHaulSaysTheHouseholdsDay(t *testing.T) {
	t.Parallel()
	k := openAt(t, func() time.Time { return time.Date(2026, 11, 23, 23, 30, 0, 0, time.UTC) })
	photo := k.sample("haul.png")
	var out struct{ Summary string }
	for range 2 {
		k.Action("haul", map[string]any{"photo": photo}, &out)
	}
	at := value[time.Time](k, `SDK.Entities.PantryPhoto.all()[0].addedAt`)
	zone, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	require.Contains(t, out.Summary, "was put away on "+at.In(zone).Format(time.DateOnly))
}
