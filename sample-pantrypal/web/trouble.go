package web

import (
	"encoding/json"
	"errors"
	"fmt"
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
var missingRow = regexp.MustCompile(`there is no (\w+) with id "[^"]*"( in the set "[^"]*")?`)

// notUndoable is how an undo begins to say what stands against it, which its details name.
const notUndoable = "the run cannot be undone"

// forPeople says what went wrong, and what to do about it on a page.
func (v *visit) forPeople(err error) *trouble {
	f := fault.From(err)
	t := &trouble{Message: f.Message, Hint: f.Hint, Back: v.back("")}
	details, _ := f.Details.([]fault.Detail)
	_, versions := f.Details.(map[string]any)
	var r refusal
	refused := errors.As(err, &r) && fault.From(r) == f
	if refused {
		t.Message = missingRow.ReplaceAllStringFunc(f.Message, func(s string) string {
			return "there is no such " + noun(missingRow.FindStringSubmatch(s)[1], 1)
		})
	}
	switch {
	case !refused: // what the pages say themselves is for people, but the hint of a code is not
		if entry, _ := fault.Lookup(f.Code); f.Hint == entry.Hint {
			t.Hint = ""
		}
	case strings.HasPrefix(f.Hint, "Did you mean"):
	case f.Code == fault.NotFound:
		t.Hint = "It may have been removed."
	case f.Code == fault.Conflict && strings.HasPrefix(f.Message, notUndoable):
		t.Message, t.Reasons, t.Hint = "It cannot be undone any more, since not everything is as it was left.", v.obstacles(details), "Undo first what came after it."
	case f.Code == fault.Conflict:
		if versions {
			t.Message = "Somebody changed it meanwhile."
		}
		t.Hint = "See whether it is still to be done."
	default:
		t.Hint = ""
		if len(details) > 1 {
			parts := make([]string, len(details))
			for i, d := range details {
				parts[i] = d.Message
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
		text := o.reason(known, 1)
		if alike[text]++; alike[text] == 1 {
			different = append(different, o)
		}
	}
	var reasons []string
	for _, o := range different {
		reasons = append(reasons, o.reason(known, alike[o.reason(known, 1)]))
	}
	if more := len(reasons) - maxReasons; more > 0 {
		reasons = append(reasons[:maxReasons], fmt.Sprintf("and %d more", more))
	}
	return reasons
}

// called is a row for people.
func (n names) called(row [2]string) string {
	kind := noun(row[0], 1)
	if name := n[row[1]]; name != "" {
		return name + " (" + kind + ")"
	}
	return "a " + kind
}

// reason says what n obstacles that read the same are.
func (o obstacle) reason(known names, n int) string {
	what, was, is := known.called(o.row), "was", "is"
	if n > 1 && known[o.row[1]] == "" {
		what, was, is = fmt.Sprintf("%d %s", n, noun(o.row[0], n)), "were", "are"
	}
	says := func(text string) bool { return strings.Contains(o.message, text) }
	switch {
	case o.other[1] != "":
		what = known.called(o.other) + " belongs to " + what + " now"
	case says("it was deleted since"):
		what += " " + was + " removed since"
	case says("there is a row with this id again"):
		what += " " + is + " there again already"
	case says("is not there any more") && o.field != "":
		what += " " + is + " without its " + inWords(o.field) + " now"
	case says("it was changed since") && o.field != "":
		what += ": the " + inWords(o.field) + " was changed since"
	case says("it was changed since"), anyID.MatchString(o.message):
		what += " " + was + " changed since"
	case known[o.row[1]] != "" && says(known[o.row[1]]): // a rule of PantryPal says what it is about
		what = o.message
	default:
		what += ": " + o.message
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
