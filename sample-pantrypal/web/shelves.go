package web

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// places are those of PantryItem, in the order of a kitchen.
var places = []string{"fridge", "pantry", "freezer"}

type shelf struct {
	Place  string
	Things []thing
	Lots   int
}

// thing is a food with its lots, the one to use first before the others.
type thing struct {
	Name string
	Lots []lot
}

type shelvesPage struct {
	Query   string
	Place   string // "" is all of them
	Places  []string
	Shelves []shelf
	Units   []string
}

// maxLots bounds a page of lots. A household has a few hundred.
const maxLots = 1000

func shelves(v *visit) (any, error) {
	p := &shelvesPage{Query: strings.TrimSpace(v.URL.Query().Get("q")), Places: places, Units: units}
	q := query{"filter": query{"status": "available"}, "sort": "name,bestBefore", "with": "food"}
	if p.Query != "" {
		q["q"] = p.Query
	}
	if place := v.URL.Query().Get("place"); slices.Contains(places, place) {
		p.Place, q["filter"] = place, query{"status": "available", "place": place}
	}
	lots, err := rows[lot](v, "PantryItem", q, maxLots)
	if err != nil {
		return nil, err
	}
	p.Shelves = arrange(lots)
	return p, nil
}

// arrange puts lots onto shelves, by their food.
func arrange(lots []lot) []shelf {
	var out []shelf
	for _, place := range places {
		names := map[string]int{}
		sh := shelf{Place: place}
		for _, l := range lots {
			if l.Place != place {
				continue
			}
			name := l.Name
			if l.Food != nil {
				name = l.Food.Name
			}
			at, ok := names[name]
			if !ok {
				at = len(sh.Things)
				names[name] = at
				sh.Things = append(sh.Things, thing{Name: name})
			}
			sh.Things[at].Lots = append(sh.Things[at].Lots, l)
			sh.Lots++
		}
		for _, t := range sh.Things {
			slices.SortStableFunc(t.Lots, func(a, b lot) int { return cmp.Compare(orLast(a.Until()), orLast(b.Until())) })
		}
		slices.SortFunc(sh.Things, func(a, b thing) int { return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
		if sh.Lots > 0 {
			out = append(out, sh)
		}
	}
	return out
}

// orLast sorts what keeps behind what has a date.
func orLast(date string) string { return cmp.Or(date, "9999") }

// units that forms offer.
var units = []string{"piece", "g", "kg", "ml", "l"}

// addLot puts something into the house by hand.
func addLot(v *visit) (done, error) {
	in := map[string]any{"name": strings.TrimSpace(v.FormValue("name")), "unit": v.FormValue("unit"), "place": v.FormValue("place")}
	if err := v.amount(in); err != nil {
		return done{}, err
	}
	v.texts(in, "bestBefore")
	run, err := v.submit(catalog.EntityID("PantryItem", "upsert"), map[string]any{"model": in}, nil)
	return done{"/shelves", "added", run}, err
}

// changeLot uses up, throws away, opens, moves or corrects a lot.
func changeLot(v *visit) (done, error) {
	changes, did := map[string]any{}, "changed"
	switch v.FormValue("do") {
	case "used":
		changes, did = map[string]any{"status": "consumed", "amount": 0, "reason": "eaten"}, "eaten"
	case "wasted":
		changes, did = map[string]any{"status": "wasted", "reason": "wasted"}, "wasted"
	case "absent": // it was never there: a photo showed another thing
		changes = map[string]any{"status": "consumed", "amount": 0, "reason": "corrected"}
	case "opened":
		if err := v.readDay(); err != nil {
			return done{}, err
		}
		changes["openedAt"] = v.day.Today
	case "move":
		changes, did = map[string]any{"place": v.FormValue("place"), "reason": "moved"}, "moved"
	case "correct":
		changes["reason"] = "corrected"
		if err := v.corrections(changes); err != nil {
			return done{}, err
		}
	default:
		return done{}, v.refuse("fault.nothing")
	}
	run, err := v.patch("PantryItem", v.PathValue("id"), changes)
	if fault.CodeOf(err) == fault.Conflict {
		err = v.changedMeanwhile(v.PathValue("id"), err)
	}
	return done{v.back("/shelves"), did, run}, err
}

// changedMeanwhile says how a lot is now that somebody has changed after the page had shown it.
func (v *visit) changedMeanwhile(id string, conflict error) error {
	l, err := row[lot](v, "PantryItem", id)
	if err != nil {
		return conflict
	}
	now := v.day.amount(l.Amount, l.Unit) + ", " + v.day.word("place", l.Place)
	switch {
	case l.Status == "consumed":
		now = v.day.t("lot.usedUp")
	case l.Status != "available":
		now = v.day.t("lot.thrownAway")
	case l.BestBefore != nil:
		now += ", " + v.day.t("lot.bestBefore", v.day.on(*l.BestBefore))
	}
	return failure(v, fault.Conflict, "fault.changed", l.Name, now).
		WithRetry(fault.Fix).WithHint("%s", v.day.t("hint.stillChange")).Because(conflict)
}

// corrections takes what differs from what the form showed. An amount is shown rounded, so that one
// which nobody touched must stay as it is.
func (v *visit) corrections(into map[string]any) error {
	if v.FormValue("amount") != v.FormValue("wasAmount") {
		if err := v.amount(into); err != nil {
			return fault.From(err).WithHint("%s", v.day.t("hint.gone"))
		}
	}
	switch date := v.FormValue("bestBefore"); {
	case date == v.FormValue("wasBestBefore"):
	case date == "":
		into["bestBefore"] = nil
	default:
		into["bestBefore"] = date
	}
	return nil
}

func changeLeftover(v *visit) (done, error) {
	status := v.FormValue("do")
	did := status
	run, err := v.patch("Leftover", v.PathValue("id"), map[string]any{"status": status})
	return done{v.back("/"), did, run}, err
}

// back is the page of this site that a form stood on.
func (v *visit) back(otherwise string) string {
	to := v.FormValue("back")
	if strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//") && !strings.ContainsAny(to, "\\\t\r\n") {
		return to
	}
	return otherwise
}

// numbers takes numbers of a form, where they are filled in.
func (v *visit) numbers(into map[string]any, names ...string) error {
	for _, name := range names {
		text := strings.ReplaceAll(strings.TrimSpace(v.FormValue(name)), ",", ".")
		if text == "" {
			continue
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return v.refuse("fault.number", v.day.quoted(fault.Clip(text, 40))).WithPath("/" + name)
		}
		into[name] = n
	}
	return nil
}

// amount takes how much a form says that there is, where it is filled in: of nothing there is no need
// to keep anything.
func (v *visit) amount(into map[string]any) error {
	if err := v.numbers(into, "amount"); err != nil {
		return err
	}
	if n, sent := into["amount"].(float64); sent && n <= 0 {
		return v.refuse("fault.positive", n).WithPath("/amount")
	}
	return nil
}

// texts takes texts of a form, where they are filled in.
func (v *visit) texts(into map[string]any, names ...string) {
	for _, name := range names {
		if text := strings.TrimSpace(v.FormValue(name)); text != "" {
			into[name] = text
		}
	}
}

// count counts rows.
func (v *visit) count(entity string, filter query) (int, error) {
	var out struct{ Count int }
	_, err := v.call(catalog.EntityID(entity, "count"), map[string]any{"filter": filter}, &out)
	return out.Count, err
}

// plus is a day some days after today.
func (d day) plus(days int) string {
	at, err := time.Parse(time.DateOnly, d.Today)
	if err != nil {
		return d.Today
	}
	return at.AddDate(0, 0, days).Format(time.DateOnly)
}

// isMissing reports whether a row is not there.
func isMissing(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f) && f.Code == fault.NotFound
}
