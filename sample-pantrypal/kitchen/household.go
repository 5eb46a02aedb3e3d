package kitchen

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/sample-pantrypal/ent/schema"
	"github.com/koan-go/koan/sample-pantrypal/foods"
	"github.com/koan-go/koan/sample-pantrypal/quantity"
	"github.com/koan-go/koan/sample-pantrypal/rules"
)

// guest is somebody who eats with the household once.
type guest struct {
	Name      string   `json:"name,omitempty"      jsonschema:"maxLength=120"`
	Portion   *float64 `json:"portion,omitempty"   jsonschema:"minimum=0"     jsonschema_description:"without it, 1; 0 is at the table and does not eat, as somebody whom a smell makes ill"`
	Diet      string   `json:"diet,omitempty"      jsonschema_description:"vegan, vegetarian, pescatarian"`
	Allergies []string `json:"allergies,omitempty" jsonschema_description:"allergens as in Food.allergens, or what people call them: dairy, shellfish"`
	Dislikes  []string `json:"dislikes,omitempty"  jsonschema_description:"names of foods"`
}

// household is what the actions need of the entity Household. A set that has none is
// one with its defaults.
type household struct {
	Members  []schema.Member `json:"members"`
	TimeZone string          `json:"timeZone"`
	Locale   string          `json:"locale"`
	Units    string          `json:"units"`
	Target   *float64        `json:"energyTargetKcal"`

	WeekdayMinutes int `json:"weekdayMinutes"`
	WeekendMinutes int `json:"weekendMinutes"`

	today time.Time
	book  *foods.Book
}

func (h household) system() quantity.System {
	if h.Units == string(quantity.US) {
		return quantity.US
	}
	return quantity.SystemOf(h.Locale)
}

// portions is how many portions a meal for everybody has; 2 where nobody is known.
func (h household) portions() float64 {
	sum := 0.0
	for _, m := range h.Members {
		sum += m.Portion
	}
	if sum == 0 {
		return 2
	}
	return sum
}

func (h household) day(offset int) string { return h.today.AddDate(0, 0, offset).Format(time.DateOnly) }

// dayOf is the household's day at a moment.
func (h household) dayOf(at string) (string, error) {
	moment, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return "", fault.Newf(fault.InvalidPayload, "%q is not a time", fault.Clip(at, 40)).WithHint("Send a time such as 2026-01-31T18:30:00Z.")
	}
	day, err := rules.Today(moment, h.TimeZone)
	return day.Format(time.DateOnly), err
}

type daysIn struct {
	Times []string `json:"times" jsonschema:"maxItems=100000"`
}

type daysOut struct {
	Days []string `json:"days"`
}

// localDays is the action local-days.
func localDays(ctx context.Context, call framework.Call, in daysIn) (daysOut, error) {
	h, err := readHousehold(ctx, call)
	if err != nil {
		return daysOut{}, err
	}
	out := daysOut{Days: make([]string, len(in.Times))}
	for i, at := range in.Times {
		if out.Days[i], err = h.dayOf(at); err != nil {
			return daysOut{}, err
		}
	}
	return out, nil
}

// readHousehold reads the household of the call's set.
func readHousehold(ctx context.Context, call framework.Call) (household, error) {
	homes, err := all[household](ctx, call, "Household", map[string]any{})
	if err != nil {
		return household{}, err
	}
	h := household{TimeZone: "UTC", Locale: "en"}
	if len(homes) > 0 {
		h = homes[0]
	}
	if h.book, err = readBook(ctx, call); err != nil {
		return h, err
	}
	h.today, err = rules.Today(call.Now(), h.TimeZone)
	return h, err
}

// with returns the household with guests at its table.
func (h household) with(guests []guest) (household, error) {
	h.Members = slices.Clone(h.Members)
	for i, g := range guests {
		m := schema.Member{Name: cmp.Or(strings.TrimSpace(g.Name), fmt.Sprintf("guest %d", i+1)), Diet: g.Diet, Allergies: g.Allergies, Dislikes: g.Dislikes}
		if g.Portion != nil {
			m.Portion = *g.Portion
		}
		if err := rules.CheckMember(&m, h.book); err != nil {
			return h, fault.New(fault.InvalidPayload, err.Error()).WithPath(fmt.Sprintf("/guests/%d", i)).WithHint("Say of a guest what Household.members says of a member.")
		}
		if g.Portion != nil {
			m.Portion = *g.Portion // that of nobody who eats is 0, and no adult's
		}
		h.Members = append(h.Members, m)
	}
	return h, nil
}

// all reads every row that fits, page by page.
func all[Row any](ctx context.Context, call framework.Call, entity string, query map[string]any) ([]Row, error) {
	var rows []Row
	in := map[string]any{"pageSize": 200, "count": false}
	for k, v := range query {
		in[k] = v
	}
	for {
		var page struct {
			Items      []Row   `json:"items"`
			NextCursor *string `json:"nextCursor"`
		}
		if err := call.Invoke(ctx, "koan::"+entity+".collection", in, &page); err != nil {
			return nil, err
		}
		rows = append(rows, page.Items...)
		if page.NextCursor == nil || *page.NextCursor == "" {
			return rows, nil
		}
		in["cursor"] = *page.NextCursor
	}
}

// without returns the household without members who do not eat.
func (h household) without(absent []string) household {
	h.Members = slices.DeleteFunc(slices.Clone(h.Members), func(m schema.Member) bool {
		return slices.ContainsFunc(absent, func(name string) bool { return strings.EqualFold(strings.TrimSpace(name), m.Name) })
	})
	return h
}

// conflicts are the reasons for which a recipe with these lines does not suit somebody, and those of
// them that are allergies. A line whose food nobody knows suits nobody who has allergies.
func (h household) conflicts(lines []line) (all, allergies []string) {
	all, allergies = []string{}, []string{}
	add := func(to *[]string, text string) {
		if !slices.Contains(*to, text) {
			*to = append(*to, text)
		}
	}
	for _, m := range h.Members {
		disliked := map[string]bool{}
		for _, name := range m.Dislikes {
			if match := h.book.Find(name); match.ID != "" {
				disliked[match.ID] = true
				for _, id := range h.book.Forms(match.ID) {
					disliked[id] = true
				}
			}
		}
		for _, l := range lines {
			f, known := h.eaten(l)
			if !known {
				if len(m.Allergies) > 0 {
					add(&all, m.Name+" has allergies, and nobody knows what is in "+l.Name)
				}
				continue
			}
			if len(m.Allergies) > 0 && !f.Said("allergens") {
				add(&all, m.Name+" has allergies, and nobody has said which allergens are in "+f.Name)
			}
			if m.Diet != "" && m.Diet != "none" && f.Suits(m.Diet) && !f.Said("diets") {
				add(&all, m.Name+" is "+m.Diet+", and nobody has said whether that holds for "+f.Name)
			}
			for _, a := range m.Allergies {
				if f.Contains(a) {
					add(&all, m.Name+" is allergic to "+a+" ("+f.Name+")")
					add(&allergies, m.Name+" is allergic to "+a+" ("+f.Name+")")
				}
			}
			if m.Diet != "" && m.Diet != "none" && !f.Suits(m.Diet) {
				add(&all, m.Name+" is "+m.Diet+" ("+f.Name+")")
			}
			if disliked[f.ID] {
				add(&all, m.Name+" does not like "+f.Name)
			}
		}
	}
	return all, allergies
}

// eaten is the food of a line: the one that it is joined to, else what the catalogue calls so.
func (h household) eaten(l line) (foods.Food, bool) {
	if f, ok := h.book.Of(l.FoodID); ok {
		return f, true
	}
	return h.book.Of(h.book.Find(l.Name).ID)
}

type stowIn struct {
	FoodIDs []string `json:"foodIds" jsonschema:"maxItems=200"`
}

type stowed struct {
	FoodID     string  `json:"foodId"`
	Place      string  `json:"place"`
	BestBefore *string `json:"bestBefore" jsonschema:"nullable"`
	Staple     bool    `json:"staple"`
	Aisle      string  `json:"aisle"`
}

type stowOut struct {
	Today    string   `json:"today"`
	Weekday  string   `json:"weekday"`
	Portions float64  `json:"portions"`
	Things   []stowed `json:"things"`
}

func stow(ctx context.Context, call framework.Call, in stowIn) (stowOut, error) {
	h, err := readHousehold(ctx, call)
	if err != nil {
		return stowOut{}, err
	}
	out := stowOut{Today: h.day(0), Weekday: weekday(h.today), Portions: h.portions(), Things: []stowed{}}
	for _, id := range in.FoodIDs {
		f, ok := h.book.Of(id)
		if !ok { // an earlier release may have had it
			continue
		}
		place, days := f.Keeps()
		s := stowed{FoodID: id, Place: place, Staple: f.Staple, Aisle: f.Aisle}
		if days > 0 {
			until := h.day(days)
			s.BestBefore = &until
		}
		out.Things = append(out.Things, s)
	}
	return out, nil
}

func weekday(day time.Time) string {
	return [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}[day.Weekday()]
}
