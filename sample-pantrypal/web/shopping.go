package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

type shoppingList struct {
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Status  string  `json:"status"`
	StoreID *string `json:"storeId"`

	Left int `json:"-"` // to buy
}

// listPage is the address of a list, "" for the newest one.
func listPage(id string) string {
	if id == "" {
		return "/shopping"
	}
	return "/shopping?list=" + url.QueryEscape(id)
}

type shoppingItem struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Amount        float64  `json:"amount"`
	Unit          string   `json:"unit"`
	Packages      *int     `json:"packages"`
	Aisle         string   `json:"aisle"`
	EstimatedCost *float64 `json:"estimatedCost"`
	Bought        bool     `json:"bought"`
	Note          string   `json:"note"`
	Product       *struct {
		Name          string   `json:"name"`
		PackageAmount *float64 `json:"packageAmount"`
		PackageUnit   string   `json:"packageUnit"`
	} `json:"product"`
}

// Text is how much to take from the shelf, and of what where the thing's own name does not say it.
func (i shoppingItem) Text() string {
	if i.Packages == nil || i.Product == nil {
		return amount(i.Amount, i.Unit)
	}
	var of []string
	if !strings.EqualFold(i.Product.Name, i.Name) {
		of = append(of, i.Product.Name)
	}
	if i.Product.PackageAmount != nil {
		of = append(of, amount(*i.Product.PackageAmount, i.Product.PackageUnit))
	}
	if len(of) == 0 {
		of = append(of, i.Product.Name)
	}
	return number(float64(*i.Packages)) + " × " + strings.Join(of, ", ")
}

type aisle struct {
	Name  string
	Items []shoppingItem
}

type shoppingPage struct {
	Lists  []shoppingList // that are open
	List   *shoppingList  // that is shown
	Aisles []aisle
	Bought []shoppingItem
	Left   int
	Cost   float64
	Units  []string
}

// Choice reports whether there is another open list than the one that is shown.
func (p *shoppingPage) Choice() bool {
	return slices.ContainsFunc(p.Lists, func(l shoppingList) bool { return l.ID != p.List.ID })
}

func shopping(v *visit) (any, error) {
	p := &shoppingPage{Units: units}
	var err error
	if p.Lists, err = openLists(v); err != nil {
		return nil, err
	}
	if p.List, err = v.chosenList(p.Lists); err != nil || p.List == nil {
		return p, err
	}
	items, err := rows[shoppingItem](v, "ShoppingItem", query{"filter": query{"listId": p.List.ID}, "sort": "name,id", "with": "product"}, maxItems)
	if err != nil {
		return nil, err
	}
	order, err := aisleOrder(v, p.List)
	if err != nil {
		return nil, err
	}
	p.sort(items, order)
	return p, nil
}

// maxLists bounds the lists that one can choose from.
const maxLists = 12

// openLists reads the lists that are open, the newest first, and counts what is left of each.
func openLists(v *visit) ([]shoppingList, error) {
	lists, err := rows[shoppingList](v, "ShoppingList", query{"filter": query{"status": "open"}, "sort": "-createdAt"}, maxLists)
	if err != nil {
		return nil, err
	}
	for i := range lists {
		if lists[i].Left, err = v.count("ShoppingItem", query{"listId": lists[i].ID, "bought": false}); err != nil {
			return nil, err
		}
	}
	return lists, nil
}

// chosenList is the list that the address names. Without one, or where it was removed, it is the
// newest that is open, else the newest; nil if there is none.
func (v *visit) chosenList(open []shoppingList) (*shoppingList, error) {
	if id := v.URL.Query().Get("list"); id != "" {
		one, err := row[shoppingList](v, "ShoppingList", id)
		if !isMissing(err) {
			return &one, err
		}
	}
	if len(open) > 0 {
		return &open[0], nil
	}
	lists, err := rows[shoppingList](v, "ShoppingList", query{"sort": "-createdAt"}, 1)
	if err != nil || len(lists) == 0 {
		return nil, err
	}
	return &lists[0], nil
}

// maxItems bounds a shopping list.
const maxItems = 500

// aisleOrder is the order in which one comes by the aisles of a list's store.
func aisleOrder(v *visit, list *shoppingList) ([]string, error) {
	if list.StoreID == nil {
		return nil, nil
	}
	store, err := row[struct {
		Aisles []string `json:"aisles"`
	}](v, "Store", *list.StoreID)
	return store.Aisles, err
}

// sort puts what is left to buy into aisles.
func (p *shoppingPage) sort(items []shoppingItem, order []string) {
	for _, i := range items {
		if i.Bought {
			p.Bought = append(p.Bought, i)
			continue
		}
		p.Left++
		if i.EstimatedCost != nil {
			p.Cost += *i.EstimatedCost
		}
		at := slices.IndexFunc(p.Aisles, func(a aisle) bool { return a.Name == i.Aisle })
		if at < 0 {
			at, p.Aisles = len(p.Aisles), append(p.Aisles, aisle{Name: i.Aisle})
		}
		p.Aisles[at].Items = append(p.Aisles[at].Items, i)
	}
	rank := func(a aisle) int {
		if at := slices.Index(order, a.Name); at >= 0 {
			return at
		}
		return len(order)
	}
	slices.SortFunc(p.Aisles, func(a, b aisle) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Name, b.Name))
	})
}

// makeList writes the list of what is planned, or brings it up to date.
func makeList(v *visit) (done, error) {
	in := map[string]any{}
	v.texts(in, "planId", "listId")
	var out struct {
		ListID string `json:"listId"`
	}
	run, err := v.act("shop", in, &out)
	return done{listPage(out.ListID), "listed", run}, err
}

// addItem puts something onto the list by hand, and makes a list where there is none.
func addItem(v *visit) (done, error) {
	list := v.FormValue("list")
	in := map[string]any{}
	v.texts(in, "name", "unit")
	if in["name"] == nil {
		return done{}, fault.New(fault.InvalidPayload, "The form says nothing to buy.").WithPath("/name")
	}
	if err := v.amount(in); err != nil {
		return done{}, err
	}
	if list == "" { // there was none when the page was made
		lists, err := openLists(v)
		if err == nil && len(lists) == 0 {
			lists = make([]shoppingList, 1)
			_, err = v.call(catalog.EntityID("ShoppingList", "upsert"), map[string]any{"model": map[string]any{"name": "Shopping"}}, &lists[0])
		}
		if err != nil {
			return done{}, err
		}
		list = lists[0].ID
	}
	in["listId"] = list
	run, err := v.submit(catalog.EntityID("ShoppingItem", "upsert"), map[string]any{"model": in}, nil)
	return done{listPage(list), "item", run}, err
}

// newKey makes a form's idempotency key: sent twice, it happens once.
func newKey() string { return uuid.NewString() }

// checked is what checking off led to, for the page's script.
type checked struct {
	Bought []struct {
		Name  string `json:"name"`
		Place string `json:"place"`
	} `json:"bought"`
	Already []string `json:"already"`
	Left    int      `json:"left"`
	Run     string   `json:"run"`
}

// already is done.did of what somebody else had done before; there is nothing to undo.
const already = "already"

// checkOff checks one thing off. The page's script asks for JSON, and sends a form again that it
// does not know the fate of; the key makes that safe.
func (s *site) checkOff(w http.ResponseWriter, r *http.Request) {
	v := &visit{Request: r, site: s, w: w}
	scripted := strings.Contains(r.Header.Get("Accept"), "application/json")
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	out, err := check(v)
	switch {
	case err != nil && scripted:
		f := fault.From(err)
		status := http.StatusUnprocessableEntity
		if entry, ok := fault.Lookup(f.Code); ok && entry.HTTP >= http.StatusBadRequest {
			status = entry.HTTP
		}
		writeJSON(w, status, v.forPeople(err))
	case err != nil:
		s.fail(v, err)
	case scripted:
		writeJSON(w, http.StatusOK, out)
	case len(out.Already) > 0:
		http.Redirect(w, r, done{listPage(v.FormValue("list")), already, out.Run}.address(), http.StatusSeeOther)
	default:
		http.Redirect(w, r, done{listPage(v.FormValue("list")), "checked", out.Run}.address(), http.StatusSeeOther)
	}
}

func check(v *visit) (checked, error) {
	var out checked
	if err := v.ParseForm(); err != nil {
		return out, unreadable(err)
	}
	item := map[string]any{"item": v.FormValue("item")}
	if err := v.numbers(item, "price"); err != nil {
		return out, err
	}
	in := map[string]any{"items": []any{item}}
	if list := v.FormValue("list"); list != "" {
		in["listId"] = list
	}
	run, err := v.callOnce(catalog.ActionID("check-off"), in, &out, v.FormValue("key"))
	out.Run = run
	return out, err
}

// putBack puts one thing back onto the list that was not bought after all.
func putBack(v *visit) (done, error) {
	in := map[string]any{"items": []any{map[string]any{"item": v.FormValue("item")}}, "back": true}
	v.texts(in, "listId")
	run, err := v.act("check-off", in, nil)
	return done{listPage(v.FormValue("listId")), "back", run}, err
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
