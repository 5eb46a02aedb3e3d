package web

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// shopForm serves a form of the list. The page's script asks for JSON: it sends what was done while
// there was no network, and sends a form again that it does not know the fate of. The form's key
// makes that safe.
func (s *site) shopForm(path string, act func(*visit) (any, done, error)) {
	s.mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) { s.answer(w, r, act) })
}

func (s *site) answer(w http.ResponseWriter, r *http.Request, act func(*visit) (any, done, error)) {
	v := visitOf(s, w, r)
	scripted := strings.Contains(r.Header.Get("Accept"), "application/json")
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	var out any
	var d done
	err := r.ParseForm()
	if err != nil {
		err = unreadable(v, err)
	} else {
		out, d, err = act(v)
	}
	switch {
	case err != nil && scripted:
		status := http.StatusUnprocessableEntity
		if entry, ok := fault.Lookup(fault.CodeOf(err)); ok && entry.HTTP >= http.StatusBadRequest {
			status = entry.HTTP
		}
		writeJSON(w, status, v.forPeople(err))
	case err != nil:
		s.fail(v, err)
	case scripted:
		writeJSON(w, http.StatusOK, out)
	default:
		http.Redirect(w, r, d.address(), http.StatusSeeOther)
	}
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	raw, err := json.Marshal(value)
	if err != nil {
		status, raw = http.StatusInternalServerError, []byte("{}")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(raw)
}

// added is what putting something onto the list led to.
type added struct {
	ItemID string `json:"itemId"`
	Run    string `json:"run"`
}

// addItem puts something onto the list by hand.
func addItem(v *visit) (any, done, error) {
	list, out, err := addToList(v)
	return out, done{listPage(list), "item", out.Run}, err
}

// addToList makes a list where there is none.
func addToList(v *visit) (string, added, error) {
	list := v.FormValue("list")
	in := map[string]any{}
	v.texts(in, "name", "unit")
	if in["name"] == nil {
		return "", added{}, v.refuse("fault.nothingToBuy").WithPath("/name")
	}
	if err := v.amount(in); err != nil {
		return "", added{}, err
	}
	if list == "" { // there was none when the page was made
		lists, err := openLists(v)
		if err == nil && len(lists) == 0 {
			lists = make([]shoppingList, 1)
			_, err = v.call(catalog.EntityID("ShoppingList", "upsert"), map[string]any{"model": map[string]any{"name": v.day.t("shopping.newList")}}, &lists[0])
		}
		if err != nil {
			return "", added{}, err
		}
		list = lists[0].ID
	}
	in["listId"] = list
	var row struct{ ID string }
	run, err := v.submit(catalog.EntityID("ShoppingItem", "upsert"), map[string]any{"model": in}, &row)
	return list, added{row.ID, run}, err
}

// checked is what checking off led to.
type checked struct {
	Bought []struct {
		Name  string `json:"name"`
		Place string `json:"place"`
	} `json:"bought"`
	Already []string `json:"already"`
	Left    int      `json:"left"`
	Run     string   `json:"run"`
	Gone    bool     `json:"gone"` // from the list; it was bought all the same
}

// already is done.did of what somebody else had done before; there is nothing to undo.
const already = "already"

// checkOff checks one thing off.
func checkOff(v *visit) (any, done, error) {
	out, err := check(v)
	did := "checked"
	if len(out.Already) > 0 {
		did = already
	}
	return out, done{listPage(v.FormValue("list")), did, out.Run}, err
}

func check(v *visit) (checked, error) {
	var out checked
	item := map[string]any{"item": v.FormValue("item")}
	if err := v.numbers(item, "price"); err != nil {
		return out, err
	}
	in := map[string]any{"items": []any{item}}
	if list := v.FormValue("list"); list != "" {
		in["listId"] = list
	}
	run, err := v.act("check-off", in, &out)
	out.Run = run
	if err != nil && v.FormValue("name") != "" && v.lineHasGone(err) {
		return keepBought(v, item, in)
	}
	return out, err
}

// lineHasGone reports whether a tick failed since its line or its list is not there any more.
func (v *visit) lineHasGone(err error) bool {
	if isMissing(err) {
		return true
	}
	_, missing := row[shoppingItem](v, "ShoppingItem", v.FormValue("item"))
	return isMissing(missing)
}

// keepBought puts into the house what was ticked without a network, and taken off the list meanwhile:
// it was paid for. The tick says what stood on the line.
func keepBought(v *visit, item, in map[string]any) (checked, error) {
	item["name"] = strings.TrimSpace(v.FormValue("name"))
	v.texts(item, "unit")
	if err := v.amount(item); err != nil {
		return checked{}, err
	}
	out := checked{Gone: true}
	run, err := v.callOnce(catalog.ActionID("check-off"), in, &out, v.FormValue("key")+"-gone")
	out.Run = run
	return out, err
}

// putBack puts one thing back onto the list that was not bought after all. It takes no approval:
// nothing is lost by it.
func putBack(v *visit) (any, done, error) {
	in := map[string]any{"items": []any{map[string]any{"item": v.FormValue("item")}}, "back": true}
	v.texts(in, "listId")
	var out checked
	run, err := v.act("check-off", in, &out)
	out.Run = run
	return out, done{listPage(v.FormValue("listId")), "back", run}, err
}

// changeItem changes a line of the list, or takes it off.
func changeItem(v *visit) (done, error) {
	to := v.back(listPage(v.FormValue("listId")))
	if v.FormValue("do") == "remove" {
		run, err := v.submit(catalog.EntityID("ShoppingItem", "delete"), map[string]any{"id": v.PathValue("id")}, nil)
		return done{to, "off", run}, err
	}
	in := map[string]any{"note": strings.TrimSpace(v.FormValue("note")), "storeId": nil}
	v.texts(in, "name", "unit", "storeId")
	if err := v.amount(in); err != nil {
		return done{}, err
	}
	if v.FormValue("cost") != v.FormValue("wasCost") {
		in["estimatedCost"] = nil
		cost := map[string]any{}
		if err := v.numbers(cost, "cost"); err != nil {
			return done{}, err
		}
		if n, sent := cost["cost"]; sent {
			in["estimatedCost"] = n
		}
	}
	if v.FormValue("amount") == v.FormValue("wasAmount") && v.FormValue("unit") == v.FormValue("wasUnit") {
		delete(in, "amount") // it is shown rounded
		delete(in, "unit")
	} else {
		in["packages"], in["productId"] = nil, nil // it is not counted in packages any more
	}
	run, err := v.patch("ShoppingItem", v.PathValue("id"), in)
	return done{to, "changed", run}, err
}
