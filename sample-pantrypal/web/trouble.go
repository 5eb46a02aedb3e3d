package web

import (
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// trouble is a fault as pages show it.
type trouble struct {
	Message string   `json:"message"`
	Reasons []string `json:"reasons,omitempty"`
	Hint    string   `json:"hint,omitempty"`
	Back    string   `json:"-"` // the page that the form stood on, "" if it is not known
}

// refusal is the fault of an operation. Its hint is for those who call operations, not for people.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// missingRow is how an operation says that a row is not there.
var missingRow = regexp.MustCompile(`there is no (\w+) with id "[^"]*"( in (?:the )?set "[^"]*")?`)

// notUndoable is how an undo begins to say what stands against it, which its details name.
const notUndoable = "the run cannot be undone"

// undoneAlready is how an undo begins to say that another one was there before.
const undoneAlready = "the run is undone already"

// forPeople says what went wrong, and what to do about it on a page.
func (v *visit) forPeople(err error) *trouble {
	f := fault.From(err)
	t := &trouble{Message: v.day.says(f.Message), Hint: v.day.says(f.Hint), Back: v.back("")}
	details, _ := f.Details.([]fault.Detail)
	_, versions := f.Details.(map[string]any)
	var r refusal
	refused := errors.As(err, &r) && fault.From(r) == f
	if refused {
		t.Message = v.day.says(missingRow.ReplaceAllStringFunc(f.Message, func(s string) string {
			return v.day.t("fault.noRow", v.day.noun(missingRow.FindStringSubmatch(s)[1], 1))
		}))
	}
	switch {
	case !refused: // what the pages say themselves is for people, but the hint of a code is not
		if entry, _ := fault.Lookup(f.Code); f.Hint == entry.Hint {
			t.Hint = ""
		}
	case strings.HasPrefix(f.Hint, "Did you mean"):
	case f.Code == fault.NotFound:
		t.Hint = v.day.t("hint.removed")
	case f.Code == fault.Conflict && strings.HasPrefix(f.Message, notUndoable):
		t.Message, t.Reasons, t.Hint = v.day.t("fault.undo"), v.obstacles(details), v.day.t("hint.undo")
	case f.Code == fault.Conflict && strings.HasPrefix(f.Message, undoneAlready):
		t.Message, t.Hint = v.day.t("fault.undone"), ""
	case f.Code == fault.Conflict:
		if versions {
			t.Message = v.day.t("fault.meanwhile")
		}
		t.Hint = v.day.t("hint.stillDo")
	default:
		t.Hint = ""
		if len(details) > 1 {
			parts := make([]string, len(details))
			for i, d := range details {
				parts[i] = v.day.says(d.Message)
			}
			t.Message = strings.Join(parts, "; ")
		}
	}
	t.Message = sentence(t.Message)
	return t
}

// sentence begins with a capital and ends with a full stop.
func sentence(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") {
		return capital(s)
	}
	return capital(s) + "."
}

// obstacle is a row that keeps an undo from its work.
type obstacle struct {
	row     [2]string // entity and id
	field   string
	message string
	other   [2]string // the row that depends on it, if that is why
}

// dependent is how an undo names the row that depends on another one.
var dependent = regexp.MustCompile(`^(\w+) "([^"]+)" refers to it now`)

// anyID is in what is said for programs.
var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-`)

// maxReasons bounds the obstacles that a page names.
const maxReasons = 8

// obstacles says in a household's words what stands against an undo.
func (v *visit) obstacles(details []fault.Detail) []string {
	var all []obstacle
	wanted := map[string][]string{}
	for _, d := range details[:min(len(details), maxChangedRows)] {
		steps := append(fault.Steps(d.Path), "", "", "")
		o := obstacle{row: [2]string{steps[0], steps[1]}, field: strings.TrimSuffix(steps[2], "Id"), message: d.Message}
		if m := dependent.FindStringSubmatch(d.Message); m != nil {
			o.other = [2]string{m[1], m[2]}
		}
		for _, row := range [][2]string{o.row, o.other} {
			if entity, id := row[0], row[1]; id != "" && !slices.Contains(wanted[entity], id) {
				wanted[entity] = append(wanted[entity], id)
			}
		}
		all = append(all, o)
	}
	known := v.namesNow(wanted)
	alike := map[string]int{} // how many read the same
	var different []obstacle
	for _, o := range all {
		text := o.reason(v.day, known, 1)
		if alike[text]++; alike[text] == 1 {
			different = append(different, o)
		}
	}
	var reasons []string
	for _, o := range different {
		reasons = append(reasons, o.reason(v.day, known, alike[o.reason(v.day, known, 1)]))
	}
	if more := len(reasons) - maxReasons; more > 0 {
		reasons = append(reasons[:maxReasons], v.day.t("more", more))
	}
	return reasons
}

// called is a row for people.
func (n names) called(d day, row [2]string) string {
	kind := d.noun(row[0], 1)
	if name := n[row[1]]; name != "" {
		return name + " (" + kind + ")"
	}
	return d.t("called.a", kind)
}

// reason says what n obstacles that read the same are.
func (o obstacle) reason(d day, known names, n int) string {
	what := known.called(d, o.row)
	if known[o.row[1]] == "" && n > 1 {
		what = d.number(float64(n)) + " " + d.noun(o.row[0], n)
	} else {
		n = 1
	}
	says := func(text string) bool { return strings.Contains(o.message, text) }
	switch {
	case o.other[1] != "":
		what = d.t("reason.belongs", known.called(d, o.other), what)
	case says("it was deleted since"):
		what = d.t("reason.removed", n, what)
	case says("there is a row with this id again"):
		what = d.t("reason.again", n, what)
	case says("is not there any more") && o.field != "":
		what = d.t("reason.without", n, what, d.field(o.field))
	case says("it was changed since") && o.field != "":
		what = d.t("reason.field", what, d.field(o.field))
	case says("it was changed since"), anyID.MatchString(o.message):
		what = d.t("reason.changed", n, what)
	case known[o.row[1]] != "" && says(known[o.row[1]]): // a rule of PantryPal says what it is about
		what = d.says(o.message)
	default:
		what += ": " + d.says(o.message)
	}
	return capital(what)
}

// namesNow reads what rows are called that may be there, by their entities and ids.
func (v *visit) namesNow(wanted map[string][]string) names {
	var there []store.Change
	for entity, ids := range wanted {
		found, err := rows[json.RawMessage](v, entity, query{"filter": query{"id": query{"$in": ids}}}, len(ids))
		if err != nil {
			continue // an entity that the caller does not see: its rows have no names here
		}
		for _, raw := range found {
			there = append(there, store.Change{Entity: entity, ID: plain(fieldsOf(raw)["id"]), After: raw})
		}
	}
	known, err := namesIn(v, there)
	if err != nil {
		return nil
	}
	out := names{}
	for _, c := range there {
		out[c.ID] = known.of(v.day, fieldsOf(c.After))
	}
	return out
}
