package web

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"github.com/google/uuid"
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
	StoreID       *string  `json:"storeId"`
	Version       int      `json:"version"`
	Product       *struct {
		Name          string   `json:"name"`
		PackageAmount *float64 `json:"packageAmount"`
		PackageUnit   string   `json:"packageUnit"`
	} `json:"product"`
}

// Text is how much to take from the shelf, and of what where the thing's own name does not say it.
func (i shoppingItem) Text(d day) string {
	if i.Packages == nil || i.Product == nil {
		return d.amount(i.Amount, i.Unit)
	}
	var of []string
	// "Eggs, 6" of eggs says nothing that the size of the package does not.
	if named := strings.ToLower(i.Product.Name); !strings.HasPrefix(named, strings.ToLower(i.Name)) || i.Product.PackageAmount == nil && named != strings.ToLower(i.Name) {
		of = append(of, i.Product.Name)
	}
	if i.Product.PackageAmount != nil {
		of = append(of, d.amount(*i.Product.PackageAmount, i.Product.PackageUnit))
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
	Stores []storeRow
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
	p.sort(items, order, strings.Split(v.URL.Query().Get("keep"), ","))
	p.Stores, err = rows[storeRow](v, "Store", query{"sort": "name,id"}, maxStores)
	return p, err
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

// sort puts what is left to buy into aisles. What was ticked since the page was opened stays among
// them, where it is under somebody's thumb.
func (p *shoppingPage) sort(items []shoppingItem, order, kept []string) {
	for _, i := range items {
		switch stays := slices.Contains(kept, i.ID); {
		case i.Bought && !stays:
			p.Bought = append(p.Bought, i)
			continue
		case !i.Bought:
			p.Left++
			if i.EstimatedCost != nil {
				p.Cost += *i.EstimatedCost
			}
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

// newKey makes a form's idempotency key: sent twice, it happens once.
func newKey() string { return uuid.NewString() }
