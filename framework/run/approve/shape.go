package approve

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/store"
)

// shape is the canonical form of a run's changes: two attempts did the same where
// their shapes are equal. Ids of created rows are counted instead of named, in the
// row itself and wherever another one refers to it; what the engine keeps (times of
// creation and change, versions) is left out; of an update only the fields count that
// changed, with what they were before.
type shape struct {
	lines  []shapeLine // in canonical order
	digest string
	counts []Counted
	// sampled: of what a plan has a sample of, there are no lines.
	sampled bool
}

// shapeLine is one change.
type shapeLine struct {
	key  string            // entity, set, id and action
	name string            // the same for people
	sum  [sha256.Size]byte // of all of it
}

// names are what created rows are called: by entity, set and id.
type names map[[3]string]string

// shapeOf returns the shape of changes; resource describes entities.
func shapeOf(changes []store.Change, resource func(name string) *catalog.Resource) shape {
	made, counts := names{}, map[[2]string]int{}
	for _, c := range changes {
		if c.Action == store.Create && c.ID != "" {
			kind := [2]string{c.Entity, c.Set}
			counts[kind]++
			made[[3]string{c.Entity, c.Set, c.ID}] = fmt.Sprintf("new %d", counts[kind])
		}
	}
	keys, order := make([]string, len(changes)), make([]int, len(changes))
	for i, c := range changes {
		order[i], keys[i] = i, made.key(c)
	}
	// A row stands there once, or, with one change after the other, in their order.
	slices.SortStableFunc(order, func(i, j int) int { return strings.Compare(keys[i], keys[j]) })
	s, all := shape{lines: make([]shapeLine, len(changes)), counts: counted(changes)}, sha256.New()
	for at, i := range order { // the text of one change stands in memory, not those of all
		text := made.text(changes[i], resource(changes[i].Entity))
		all.Write(text)
		all.Write([]byte{'\n'})
		s.lines[at] = shapeLine{key: keys[i], name: nameOf(changes[i], made.id(changes[i])), sum: sha256.Sum256(text)}
	}
	s.digest = journal.DigestText(all.Sum(nil))
	return s
}

// id is a row's id, or what it is called where the run created it.
func (n names) id(c store.Change) string {
	if name, ok := n[[3]string{c.Entity, c.Set, c.ID}]; ok {
		return name
	}
	return c.ID
}

func (n names) key(c store.Change) string {
	return strings.Join([]string{c.Entity, c.Set, n.id(c), string(c.Action)}, "\x00")
}

// nameOf is what people read of a change.
func nameOf(c store.Change, id string) string {
	entity := c.Entity
	if c.Hidden {
		entity = store.HiddenEntity
	}
	return fmt.Sprintf("%s %s %s", c.Action, entity, or(plain(clipped(id, dialogBounds.value)), "(a row that is not shown)"))
}

// text is all of a change in canonical form, as JSON.
func (n names) text(c store.Change, r *catalog.Resource) []byte {
	before, after := n.image(c.Before, c, r), n.image(c.After, c, r)
	if c.Action == store.Update {
		for field, was := range before {
			if is, ok := after[field]; ok && bytes.Equal(was, is) {
				delete(before, field)
				delete(after, field)
			}
		}
	}
	text, _ := json.Marshal([]any{c.Entity, c.Set, n.id(c), c.Action, before, after}) // of JSON and texts
	return text
}

// image is a row in canonical form: without its id and what the engine keeps, with
// the names of created rows for their ids. nil is no row.
func (n names) image(raw json.RawMessage, c store.Change, r *catalog.Resource) map[string]json.RawMessage {
	var row map[string]json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &row) != nil || row == nil {
		return nil
	}
	if r == nil {
		return row
	}
	delete(row, r.Key.Name)
	for i := range r.Fields {
		if f := &r.Fields[i]; keptByEngine(r, f) {
			delete(row, f.Name)
		}
	}
	for field, value := range row {
		row[field] = n.value(value, target(r, field), c.Set)
	}
	return row
}

// keptByEngine reports whether the engine keeps a field, so that it says nothing of what a
// run wanted.
func keptByEngine(r *catalog.Resource, f *catalog.Field) bool {
	return f.Name == r.Version || (f.Type == catalog.TypeTime || f.Type == catalog.TypeDay) && f.Generated && (f.ReadOnly || f.Immutable)
}

// target is the entity that a field or an edge refers to, "" for none.
func target(r *catalog.Resource, name string) string {
	if e := r.Edge(name); e != nil {
		return e.Target
	}
	if f := r.Field(name); f != nil && f.Edge != "" {
		if e := r.Edge(f.Edge); e != nil {
			return e.Target
		}
	}
	return ""
}

// value puts names for the ids of created rows, and JSON into one form. The ids of a
// many-to-many edge have no order.
func (n names) value(raw json.RawMessage, target, set string) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return raw
	}
	if target != "" {
		named := func(v any) any {
			id, ok := v.(string)
			if name, made := n[[3]string{target, set, id}]; ok && made {
				return map[string]any{"new": name} // which no id is
			}
			return v
		}
		if list, ok := v.([]any); ok {
			for i := range list {
				list[i] = named(list[i])
			}
			slices.SortFunc(list, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
		v = named(v)
	}
	out, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return out
}

// differences says what a later shape has that an earlier one had not, and the other
// way round: one line for each row, for people.
func (s shape) differences(later shape) []string {
	if s.sampled || later.sampled {
		return countDifferences(s.counts, later.counts)
	}
	was, is := s.byKey(), later.byKey()
	keys := map[string]bool{}
	for k := range was {
		keys[k] = true
	}
	for k := range is {
		keys[k] = true
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		switch before, after := was[k], is[k]; {
		case len(before) == 0:
			out = append(out, "also: "+after[0].name)
		case len(after) == 0:
			out = append(out, "no longer: "+before[0].name)
		case !slices.Equal(before, after):
			out = append(out, "otherwise: "+after[0].name)
		}
	}
	return out
}

func (s shape) byKey() map[string][]shapeLine {
	out := map[string][]shapeLine{}
	for _, l := range s.lines {
		out[l.key] = append(out[l.key], l)
	}
	return out
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
