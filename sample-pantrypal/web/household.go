package web

import (
	"math"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// morePage leads to what the bar of a phone has no room for.
type morePage struct {
	Codes, Waiting int
	Languages      []languageChoice
	Chosen         bool // one of them; else the browser decides
}

func more(v *visit) (any, error) {
	codes, err := v.count("Detection", query{"status": "open"})
	return &morePage{codes, v.site.waiting(v), languages(v.Request), chosenTongue(v.Request) != nil}, err
}

// homeRow is the household. Its members are sent back as they are but for the one that changes.
type homeRow struct {
	Name           string   `json:"name"`
	Members        []member `json:"members"`
	Budget         *float64 `json:"weeklyBudget"`
	WeekdayMinutes int      `json:"weekdayMinutes"`
	WeekendMinutes int      `json:"weekendMinutes"`
	Units          string   `json:"units"`
	TimeZone       string   `json:"timeZone"`
	Currency       string   `json:"currency"`
}

// member is somebody who eats here.
type member struct {
	Name      string   `json:"name"`
	Portion   float64  `json:"portion"`
	Diet      string   `json:"diet,omitempty"`
	Allergies []string `json:"allergies,omitempty"`
	Dislikes  []string `json:"dislikes,omitempty"`
}

type householdPage struct {
	Home  homeRow
	New   member // whom a form adds
	Diets []string
}

// diets that a member may keep.
var diets = []string{"none", "pescatarian", "vegetarian", "vegan"}

func home(v *visit) (any, error) {
	h, err := row[homeRow](v, "Household", "household")
	return &householdPage{h, member{Portion: 1}, diets}, err
}

// changeHome changes the household but for its members.
func changeHome(v *visit) (done, error) {
	in := map[string]any{}
	v.texts(in, "name", "units", "timeZone", "currency")
	if err := v.numbers(in, "weeklyBudget", "weekdayMinutes", "weekendMinutes"); err != nil {
		return done{}, err
	}
	if v.PostForm.Has("weeklyBudget") && in["weeklyBudget"] == nil {
		in["weeklyBudget"] = nil
	}
	for _, name := range []string{"weekdayMinutes", "weekendMinutes"} {
		if n, sent := in[name].(float64); sent && n != math.Trunc(n) {
			return done{}, v.refuse("fault.wholeMinutes", n).WithPath("/" + name)
		}
	}
	run, err := v.patch("Household", "household", in)
	return done{"/household", "changed", run}, err
}

// changeMember adds somebody, changes what is known of them, or removes them.
func changeMember(v *visit) (done, error) {
	h, err := row[homeRow](v, "Household", "household")
	if err != nil {
		return done{}, err
	}
	was := v.FormValue("was")
	at := slices.IndexFunc(h.Members, func(m member) bool { return m.Name == was })
	if was != "" && at < 0 {
		return done{}, failure(v, fault.Conflict, "fault.noMember", was).WithRetry(fault.Fix)
	}
	if v.FormValue("do") == "remove" {
		h.Members = slices.Delete(h.Members, max(at, 0), at+1)
	} else {
		m, err := v.member()
		if err != nil {
			return done{}, err
		}
		if at < 0 {
			h.Members = append(h.Members, m)
		} else {
			h.Members[at] = m
		}
	}
	run, err := v.patch("Household", "household", map[string]any{"members": h.Members})
	return done{"/household", "changed", run}, err
}

// member reads somebody of a form.
func (v *visit) member() (member, error) {
	in := map[string]any{"portion": 1.0}
	if err := v.numbers(in, "portion"); err != nil {
		return member{}, err
	}
	m := member{Name: strings.TrimSpace(v.FormValue("name")), Portion: in["portion"].(float64), Diet: v.FormValue("diet"), Allergies: v.day.unwords(listed(v.FormValue("allergies")), "allergen"), Dislikes: listed(v.FormValue("dislikes"))}
	if m.Name == "" {
		return m, v.refuse("fault.noName").WithPath("/name")
	}
	return m, nil
}

// listed are the parts of a text that commas separate.
func listed(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

type planRule struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	What     string   `json:"what"`
	Weekdays []string `json:"weekdays"`
	Days     *int     `json:"days"`
	Minutes  *int     `json:"minutes"`
	Active   bool     `json:"active"`
}

type rulesPage struct {
	Rules    []planRule
	Weekdays []string
}

var weekdays = []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}

// maxRules bounds the list of rules.
const maxRules = 100

func rules(v *visit) (any, error) {
	all, err := rows[planRule](v, "PlanRule", query{"sort": "name,id"}, maxRules)
	return &rulesPage{all, weekdays}, err
}

// addRule adds a rule. Its name is what it says, unless somebody gives it another.
func addRule(v *visit) (done, error) {
	in := map[string]any{"kind": v.FormValue("kind")}
	v.texts(in, "name", "what")
	if days := v.PostForm["weekdays"]; len(days) > 0 {
		in["weekdays"] = days
	}
	for kind, needs := range map[string]string{"no-repeat": "days", "max-minutes": "minutes", "want": "what", "avoid": "what"} {
		if in["kind"] == kind && strings.TrimSpace(v.FormValue(needs)) == "" {
			return done{}, v.refuse("fault.noRule").WithPath("/" + needs)
		}
	}
	switch in["kind"] {
	case "no-repeat":
		delete(in, "what")
		if err := v.numbers(in, "days"); err != nil {
			return done{}, err
		}
	case "max-minutes":
		delete(in, "what")
		if err := v.numbers(in, "minutes"); err != nil {
			return done{}, err
		}
	}
	if in["name"] == nil {
		in["name"] = ruleName(v.day.tongue, in)
	}
	if what, sent := in["what"].(string); sent {
		in["what"] = v.day.unword(what, "diet", "tag", "cuisine", "aisle")
	}
	run, err := v.submit(catalog.EntityID("PlanRule", "upsert"), map[string]any{"model": in}, nil)
	return done{"/rules", "changed", run}, err
}

// ruleName is a rule in words, as somebody typed them.
func ruleName(l *tongue, in map[string]any) string {
	text := func(name string) string { s, _ := in[name].(string); return s }
	n := func(name string) float64 { f, _ := in[name].(float64); return f }
	name := ""
	switch in["kind"] {
	case "want":
		name = capital(text("what"))
	case "avoid":
		name = l.t("rule.no", text("what"))
	case "no-repeat":
		name = l.t("rule.twice", n("days"))
	case "max-minutes":
		name = l.t("rule.minutes", n("minutes"))
	}
	sent, _ := in["weekdays"].([]string)
	days := make([]string, len(sent))
	for i, on := range sent {
		days[i] = capital(l.word("weekday", on))
	}
	if len(days) > 0 {
		name = l.t("rule.on", name, strings.Join(days, ", "))
	}
	return name
}

// changeRule lets a rule rest, takes it up again, or removes it.
func changeRule(v *visit) (done, error) {
	var run string
	var err error
	switch v.FormValue("do") {
	case "rest", "resume":
		run, err = v.patch("PlanRule", v.PathValue("id"), map[string]any{"active": v.FormValue("do") == "resume"})
	case "remove":
		run, err = v.submit(catalog.EntityID("PlanRule", "delete"), map[string]any{"id": v.PathValue("id")}, nil)
	default:
		err = v.refuse("fault.nothing")
	}
	return done{"/rules", "changed", run}, err
}

type storeRow struct {
	ID     string   `json:"id"`
	Name   string   `json:"name"`
	Aisles []string `json:"aisles"`
	Note   string   `json:"note"`
}

type storesPage struct {
	Stores []storeRow
	New    storeRow // that a form adds
}

// maxStores bounds the list of stores.
const maxStores = 50

func stores(v *visit) (any, error) {
	all, err := rows[storeRow](v, "Store", query{"sort": "name,id"}, maxStores)
	return &storesPage{Stores: all}, err
}

// changeStore changes what is known of a store: one that is called new is added.
func changeStore(v *visit) (done, error) {
	in := map[string]any{"aisles": v.day.unwords(listed(strings.ReplaceAll(v.FormValue("aisles"), "\n", ",")), "aisle")}
	v.texts(in, "name")
	if in["name"] == nil {
		return done{}, v.refuse("fault.noName").WithPath("/name")
	}
	in["note"] = strings.TrimSpace(v.FormValue("note"))
	var run string
	var err error
	if id := v.PathValue("id"); id == "new" {
		run, err = v.submit(catalog.EntityID("Store", "upsert"), map[string]any{"model": in}, nil)
	} else {
		run, err = v.patch("Store", id, in)
	}
	return done{"/stores", "changed", run}, err
}
