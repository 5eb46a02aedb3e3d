package web

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/store"
)

func TestAmountsReadAsCooksWriteThem(t *testing.T) {
	for want, got := range map[string]string{
		"1½": amount(1.5, ""), "⅔": amount(2.0/3, ""), "3": amount(2.99, ""), "0.02": amount(0.02, "piece"), "12.4": amount(12.4, "piece"), "¼ tsp": amount(0.25, "tsp"),
		"1.2 kg": amount(1200, "g"), "0": amount(0, "piece"), "750 ml": amount(750, "ml"), "2 l": amount(2000, "ml"), "1.23 kg": amount(1234, "g"),
		"3 cloves": amount(3, "clove"), "1 clove": amount(1.01, "clove"), "6 slices": amount(6, "slice"), "1½ cups": amount(1.5, "cup"), "3 leaves": amount(3, "leaf"),
	} {
		require.Equal(t, want, got)
	}
}

func TestDaysAreSeenFromToday(t *testing.T) {
	d := day{Today: "2026-12-31", Currency: "EUR"}
	for date, want := range map[string]string{
		"2026-12-31": "today", "2027-01-01": "tomorrow", "2026-12-30": "yesterday", "2027-01-03": "in 3 days", "2026-12-21": "10 days ago", "2027-03-01": "Mon 1 Mar 2027", "": "", "soon": "soon",
	} {
		require.Equal(t, want, d.when(date))
	}
	require.Equal(t, "€3.50", d.money(3.5))
}

func TestPlansAreSummedUpInWords(t *testing.T) {
	require.Equal(t, "Deletes 7 (6 meals, 1 plan of meals); updates 1 (1 thing in the house)", day{}.counted("deletes 7 (6 PlannedMeal, 1 MealPlan); updates 1 (1 PantryItem)"))
}

func TestWhyAPhotoWasNotReadIsAsItsReaderSaysIt(t *testing.T) {
	v := &visit{Request: httptest.NewRequest("POST", "http://kitchen.example/photo", nil)}
	for _, c := range []struct {
		from       *fault.Fault
		code       fault.Code
		text, hint string
	}{
		{fault.New(fault.CallTooLarge, "the picture is too large").WithHint("Make the picture smaller."), fault.CallTooLarge, "The photo cannot be read: the picture is too large.", "Make the picture smaller."},
		{fault.New(fault.InvalidPayload, "it is damaged").WithHint("Give a JPEG."), fault.InvalidPayload, "The photo cannot be read: it is damaged.", "Give a JPEG."},
		{fault.New(fault.InvalidPayload, "it is none"), fault.InvalidPayload, "The photo cannot be read: it is none.", ""},
		{fault.New(fault.ExecutionError, "haul failed: no memory.").WithHint("Report it to its author."), fault.InvalidPayload, "The photo cannot be read: no memory.", "Take it again."},
	} {
		err := unreadPhoto(v, refusal{c.from})
		shown := v.forPeople(err)
		require.Equal(t, c.code, fault.CodeOf(err))
		require.Equal(t, c.text, shown.Message)
		require.Equal(t, c.hint, shown.Hint)
	}
	limit := refusal{fault.New(fault.RateLimited, "")}
	require.Equal(t, limit, unreadPhoto(v, limit))
}

func TestWhoAgreesComesToWhatWasDone(t *testing.T) {
	for _, c := range [][4]string{
		{"action::shop", `{}`, `{"listId":"made"}`, "/shopping?list=made"},
		{"action::shop", `{"listId":"old"}`, ``, "/shopping?list=old"},
		{"action::check-off", `{"listId":"old","items":[]}`, `{"left":1}`, "/shopping?list=old"},
		{"action::check-off", `{"items":[]}`, `{"left":1}`, "/shopping"},
		{"action::replan", `{}`, `{}`, "/week"},
		{"entity:PantryItem:delete", `{}`, `{}`, "/activity"},
	} {
		require.Equal(t, c[3], afterPlan(approve.Planned{Operation: c[0], Input: json.RawMessage(c[1])}, json.RawMessage(c[2])), c)
	}
}

func TestWhatARunDidIsInWords(t *testing.T) {
	changes := []store.ChangeCount{{Entity: "PantryItem", Set: "default", Updated: 7}, {Entity: "PantryEvent", Set: "default", Created: 1}, {Entity: "Price", Set: "lake-house", Deleted: 2}}
	require.Equal(t, "7 things in the house changed, 2 prices removed in lake-house", day{}.happened(changes))
	for entity, want := range map[string]string{"PantryItem": "Change 7 things in the house", "PantryEvent": "Add a line of the diary", "Price": "Remove 2 prices", "Food": ""} {
		require.Equal(t, want, day{}.deed(entity, changes))
	}
}

func TestWhatChangesIsSaidInKitchenWords(t *testing.T) {
	known := names{"spinach": "Spinach", "shakshuka": "Shakshuka"}
	d := day{Today: "2026-11-23", Currency: "EUR"}
	lot := func(amount, status, place string) string {
		return `{"foodId":"spinach","name":"Spinach","unit":"g","amount":` + amount + `,"status":"` + status + `","place":"` + place + `"}`
	}
	meal := func(status, date string) string {
		return `{"recipeId":"shakshuka","date":"` + date + `","servings":2,"status":"` + status + `"}`
	}
	for _, c := range []struct{ entity, action, before, after, want string }{
		{"PantryItem", "create", ``, lot("250", "available", "fridge"), "puts 250 g Spinach into the fridge"},
		{"PantryItem", "update", lot("50", "available", "fridge"), lot("250", "available", "fridge"), "puts 200 g Spinach back into the fridge"},
		{"PantryItem", "update", lot("0", "consumed", "fridge"), lot("250", "available", "fridge"), "puts 250 g Spinach back into the fridge"},
		{"PantryItem", "update", lot("250", "available", "fridge"), lot("100", "available", "fridge"), "takes 150 g Spinach out of the fridge"},
		{"PantryItem", "update", lot("250", "available", "fridge"), lot("250", "available", "freezer"), "moves Spinach from the fridge to the freezer"},
		{"PantryItem", "update", lot("250", "available", "fridge"), lot("250", "wasted", "fridge"), "notes Spinach as thrown away"},
		{"PantryItem", "delete", lot("250", "available", "fridge"), ``, "takes Spinach out of the house, as if it had never come"},
		{"PlannedMeal", "update", meal("cooked", "2026-11-23"), meal("planned", "2026-11-23"), "takes Shakshuka off the diary: it is planned, and not cooked"},
		{"PlannedMeal", "update", meal("planned", "2026-11-23"), meal("planned", "2026-11-25"), "moves Shakshuka from Mon 23 Nov to Wed 25 Nov"},
		{"PlannedMeal", "create", ``, meal("planned", "2026-11-25"), "plans Shakshuka for Wed 25 Nov"},
		{"PlannedMeal", "update", `{"recipeId":"shakshuka","date":"2026-11-25","planId":"p"}`, `{"recipeId":"shakshuka","date":"2026-11-25","planId":null}`, "leaves Shakshuka of Wed 25 Nov out of the plan"},
		{"ShoppingItem", "update", `{"name":"Milk","bought":true}`, `{"name":"Milk","bought":false}`, "puts Milk back on the shopping list"},
		{"ShoppingItem", "delete", `{"name":"Milk","bought":true}`, ``, "takes Milk off the shopping list"},
		{"Leftover", "create", ``, `{"name":"Dal","servings":1,"place":"freezer"}`, "keeps a portion of Dal in the freezer"},
		{"Price", "create", ``, `{"foodId":"spinach","price":1.5}`, "notes the price of Spinach, €1.50"},
		{"Store", "update", `{"name":"Corner","note":""}`, `{"name":"Corner","note":"closed"}`, "changes the store Corner: note"},
		{"Vehicle", "create", ``, `{"name":"Bike"}`, "adds the vehicle Bike"},
	} {
		change := store.Change{Entity: c.entity, Action: store.Action(c.action), Before: json.RawMessage(c.before), After: json.RawMessage(c.after)}
		require.Equal(t, c.want, teller{d, known, fieldsOf(change.Before), fieldsOf(change.After)}.tell(change))
	}
}

// FuzzBack checks that a form never leads to another site.
func FuzzBack(f *testing.F) {
	for _, s := range []string{"/week?from=2026-01-01", "//evil.example", "/\\evil.example", "https://evil.example", "/\t/evil.example", "", "/../x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, to string) {
		r := httptest.NewRequest("POST", "http://kitchen.example/x", strings.NewReader(url.Values{"back": {to}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		got := (&visit{Request: r}).back("/")
		// Browsers leave tabs and line ends out of an address.
		seen := strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(got)
		require.True(t, strings.HasPrefix(seen, "/") && !strings.HasPrefix(seen, "//") && !strings.HasPrefix(seen, "/\\"), "%q", got)
	})
}
