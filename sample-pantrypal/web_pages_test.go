package main

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What happened, what is asked and what cannot be undone are said in a household's words.
func (w *web) plainWords(t *testing.T) {
	list := w.store("shopping-list", `{"name":"Hardware"}`)
	listed := w.newestRun()
	w.store("shopping-item", `{"listId":"`+list+`","name":"Nails","amount":3}`)
	named := w.store("shopping-list", `{"name":"Baker"}`)
	renamed := w.newestRun()
	lot := w.store("pantry-item", `{"name":"Old jar","amount":2,"place":"pantry"}`)
	jar := w.newestRun()
	_, _, text := w.do("PATCH", "/api/pantry-item/"+lot, `{"amount":1,"reason":"eaten"}`, "Content-Type", "application/merge-patch+json", "If-Match", "*")
	require.Contains(t, text, "Old jar")

	happened := w.read("/activity")
	for _, want := range []string{"Change something in the house", "1 thing in the house changed", "Put something into the house", "1 thing in the house added", "Add a shopping list"} {
		require.Contains(t, happened, want)
	}
	require.NotRegexp(t, `Write on a condition|Store a|[A-Z][a-z]+[A-Z]|[~+−]\d`, happened)

	w.do("PATCH", "/api/shopping-list/"+named, `{"name":"Bakery"}`, "Content-Type", "application/merge-patch+json")
	require.Contains(t, w.read(renamed), "Bakery (shopping list): the name was changed since")
	require.Contains(t, w.read(listed), "It cannot be undone any more")
	require.Contains(t, w.read(listed), "Nails (line of the shopping list) belongs to Hardware (shopping list) now")
	require.Contains(t, w.read(jar), "Of Old jar something went since")
	for _, page := range []string{happened, w.read(listed), w.read(renamed), w.read(jar)} {
		require.NotRegexp(t, anyID, page)
		require.NotContains(t, page, "details")
	}

	require.Contains(t, w.read(w.asks("DELETE", "/api/pantry-item/"+lot, "")), "This deletes something, so somebody has to agree")
	merged := w.read(w.asks("POST", "/api/actions/merge-foods", `{"from":"feta","into":"parmesan"}`))
	require.Regexp(t, `This changes \d+ things, so somebody has to agree`, merged)
	require.NotContains(t, merged, "deletes")
}

// What somebody has agreed to and cannot be carried out any more waits no longer.
func TestWebAsksNothingInVain(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	_, head, _ := w.do("GET", strings.TrimPrefix(w.link, w.url), "")
	cookie, _, _ := strings.Cut(head.Get("Set-Cookie"), ";")
	require.NotEmpty(t, cookie)
	status, _, text := w.do("POST", "/week", "")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	planned := w.newestRun()
	var plans []string
	for _, key := range []string{"one", "two"} { // of two people
		_, head, _ := w.do("POST", planned+"/undo", "key="+key)
		plans = append(plans, strings.TrimPrefix(head.Get("Location"), w.url))
	}
	require.Contains(t, w.read("/", "Cookie", cookie), "2 changes wait for your approval")
	require.Contains(t, w.read(plans[1], "Cookie", cookie), "Approve")
	status, _, text = w.do("POST", plans[0], "do=approve", "Cookie", cookie)
	require.Equal(t, http.StatusSeeOther, status, "%s", text)

	shown := w.read(plans[1], "Cookie", cookie)
	require.Contains(t, shown, "It has been undone already")
	require.NotContains(t, shown, "Approve")
	require.Contains(t, shown, "Deny")
	status, _, text = w.do("POST", plans[1], "do=approve", "Cookie", cookie) // of a page that was open before
	require.Equal(t, http.StatusConflict, status)
	require.Contains(t, text, "It has been undone already")
	require.NotRegexp(t, anyID, tags.ReplaceAllString(text, " "))
	require.NotContains(t, w.read("/", "Cookie", cookie), "your approval")
}

// Each open list can be chosen, and Home's number leads to the list that it is of.
func (w *web) lists(t *testing.T) {
	heading := func(path string) string {
		_, _, text := w.do("GET", path, "")
		return regexp.MustCompile(`<h1>([^<]*)`).FindStringSubmatch(text)[1]
	}
	week := w.store("shopping-list", `{"name":"Groceries"}`)
	ginger := w.store("shopping-item", `{"listId":"`+week+`","name":"Ginger"}`)
	party := w.store("shopping-list", `{"name":"For the party"}`)

	require.Equal(t, "For the party", heading("/shopping"), "the newest one")
	_, _, text := w.do("GET", "/shopping", "")
	require.Regexp(t, `href="/shopping\?list=`+party+`" aria-current="true"><span>For the party</span> · 0 left`, text)
	require.Contains(t, text, `href="/shopping?list=`+week+`"><span>Groceries</span> · 1 left`)
	_, _, text = w.do("GET", "/", "")
	require.Contains(t, text, `href="/shopping?list=`+week+`">1 to buy: Groceries`)
	require.NotContains(t, text, "For the party", "nothing of it is to buy")
	_, _, text = w.do("GET", "/shopping?list="+week, "")
	require.Contains(t, text, "Ginger")

	for _, form := range [][2]string{
		{"/shopping", "name=Limes&amount=2&unit=piece&list=" + week},
		{"/shopping/check", "item=" + ginger + "&list=" + week},
		{"/shopping/back", "item=" + ginger + "&listId=" + week},
		{"/shopping/list", "listId=" + week},
	} {
		status, head, text := w.do("POST", form[0], form[1])
		require.Equal(t, http.StatusSeeOther, status, "%s: %s", form, text)
		next := head.Get("Location")
		require.Equal(t, "Groceries", heading(next), "%s leads to its list", form)
		_, _, text = w.do("GET", next, "")
		require.Contains(t, text, `name="back" value="/shopping?list=`+week+`"><button>Undo`, "%s: and so does its undo", form)
	}
	require.Equal(t, "For the party", heading("/shopping?list=removed"), "where a list was removed, the newest one")
}

// A dinner that was cooked is shown as that, and a refusal is in words for people.
func TestHomeShowsWhatWasCooked(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	status, _, text := w.do("POST", "/meals", "recipe=shakshuka&servings=2")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	_, _, text = w.do("GET", "/", "")
	meal := regexp.MustCompile(`action="(/meals/[^"]+/cooked)"`).FindStringSubmatch(text)
	require.NotNil(t, meal, "%s", text)
	status, _, text = w.do("POST", meal[1], "")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	_, _, text = w.do("GET", "/", "")
	require.Contains(t, text, "Shakshuka")
	require.Contains(t, text, "Cooked: the stock is up to date")
	require.Regexp(t, `action="/activity/[^"]+/undo"`, text)
	require.NotContains(t, text, "Not today")
	for _, again := range []string{meal[1], strings.TrimSuffix(meal[1], "/cooked")} { // of a page that was open before
		status, _, text = w.do("POST", again, "do=skip")
		require.Equal(t, http.StatusBadRequest, status)
		require.Contains(t, text, "cooked already")
		for _, tool := range []string{"koan.code", "mealId", "invalid_payload"} {
			require.NotContains(t, text, tool)
		}
	}
}

// A recipe that somebody is allergic to says so, and is planned only by who has read that.
func TestWebNamesAllergies(t *testing.T) {
	w := serveWeb(t, "sqlite://"+t.TempDir())
	status, _, text := w.do("POST", "/api/actions/import-recipe", `{"text": "Peanut Noodles\n\nIngredients\n200 g egg noodles\n50 g peanut butter\n\nSteps\nCook."}`, "Content-Type", "application/json")
	require.Equal(t, http.StatusOK, status, "%s", text)
	var imported struct{ RecipeID string }
	require.NoError(t, json.Unmarshal([]byte(text), &imported))
	form := "recipe=" + imported.RecipeID + "&servings=2"
	status, _, text = w.do("POST", "/meals", form)
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "Alex is allergic to peanuts")
	_, _, text = w.do("GET", "/recipes/"+imported.RecipeID, "")
	require.Contains(t, text, "Not for everybody: Alex is allergic to peanuts")
	require.Contains(t, text, "Plan it anyway")
	status, _, text = w.do("POST", "/meals", form+"&anyway=yes")
	require.Equal(t, http.StatusSeeOther, status, "%s", text)
	_, _, text = w.do("GET", "/recipes/shakshuka", "")
	require.NotContains(t, text, "anyway")

	// What is left of it is no other dish.
	status, _, text = w.do("POST", "/api/actions/cooked", `{"recipe": "Peanut Noodles", "leftovers": 2}`, "Content-Type", "application/json")
	require.Equal(t, http.StatusOK, status, "%s", text)
	var noted struct{ LeftoverID string }
	require.NoError(t, json.Unmarshal([]byte(text), &noted))
	status, _, text = w.do("POST", "/meals", "leftover="+noted.LeftoverID+"&servings=2")
	require.Equal(t, http.StatusBadRequest, status)
	require.Contains(t, text, "Alex is allergic to peanuts")
}
