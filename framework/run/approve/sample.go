package approve

import (
	"fmt"
	"slices"

	"github.com/koan-go/koan/framework/run/store"
)

// Counted are the numbers of the changes of one entity in one set, in a plan that has a sample of its
// changes alone.
type Counted struct {
	store.ChangeCount
	Hidden bool `json:"hidden,omitempty"` // the caller may not know of the entity: see store.Disclosed
}

// Sampled reports whether Changes are a sample: with all of them the plan would be larger than plans may be. Its
// counts are whole, and its shape is that of all changes, which are made again and compared when it is applied.
func (p *Plan) Sampled() bool { return p.Counted != nil }

// reduce has a plan keep a sample of its changes, in about half of the bytes that are left.
func (p *Plan) reduce(is shape, left int64) {
	p.Changes, p.Counted = sample(p.Changes, left/2), is.counts
}

// counted returns the numbers of changes by what a caller may know.
func counted(changes []store.Change) []Counted {
	open, hidden := make([]store.Change, 0, len(changes)), []store.Change(nil)
	for _, c := range changes {
		c.Before, c.After = nil, nil
		if c.Hidden {
			hidden = append(hidden, c)
		} else {
			open = append(open, c)
		}
	}
	out := []Counted{}
	for _, c := range store.Counts(open) {
		out = append(out, Counted{ChangeCount: c})
	}
	for _, c := range store.Counts(hidden) {
		out = append(out, Counted{ChangeCount: c, Hidden: true})
	}
	return out
}

// counts are the numbers of all changes, with a name for entities that the caller may not know of.
func (p *Plan) counts(hidden string) []store.ChangeCount {
	if !p.Sampled() {
		if hidden == "" {
			return store.Counts(store.Disclosed(p.Changes))
		}
		return store.Counts(store.Named(p.Changes))
	}
	out := []store.ChangeCount{}
	for _, c := range p.Counted {
		if c.Hidden {
			c.Entity = hidden
		}
		i := slices.IndexFunc(out, func(o store.ChangeCount) bool { return o.Entity == c.Entity && o.Set == c.Set })
		if i < 0 {
			out = append(out, store.ChangeCount{Entity: c.Entity, Set: c.Set})
			i = len(out) - 1
		}
		out[i] = plus(out[i], c.ChangeCount, 1)
	}
	return out
}

// plus adds some times the numbers of another count.
func plus(c, o store.ChangeCount, times int) store.ChangeCount {
	c.Created, c.Updated, c.Deleted = c.Created+times*o.Created, c.Updated+times*o.Updated, c.Deleted+times*o.Deleted
	return c
}

// rows is how many rows counts are about.
func rows(counts []store.ChangeCount) (n int) {
	for _, c := range counts {
		n += c.Created + c.Updated + c.Deleted
	}
	return n
}

// without returns what is left of counts without those that are shown.
func without(counts, shown []store.ChangeCount) []store.ChangeCount {
	out := slices.Clone(counts)
	for i := range out {
		for _, s := range shown {
			if s.Entity == out[i].Entity && s.Set == out[i].Set {
				out[i] = plus(out[i], s, -1)
			}
		}
	}
	return out
}

// sampleRows is how many rows of one kind a sample has at most.
const sampleRows = 200

// sample returns changes that stand for all, whose images take at most so many bytes: of what is done to the rows
// of one entity in one set, some that are evenly spread. Kinds share the bytes equally; a row that is larger than
// what is left of a share is left out.
func sample(changes []store.Change, most int64) []store.Change {
	type kind struct {
		entity, set string
		action      store.Action
		hidden      bool
	}
	byKind, kinds := map[kind][]int{}, []kind{}
	for i, c := range changes {
		k := kind{c.Entity, c.Set, c.Action, c.Hidden}
		if byKind[k] == nil {
			kinds = append(kinds, k)
		}
		byKind[k] = append(byKind[k], i)
	}
	var chosen []int
	for _, k := range kinds {
		of, share := byKind[k], most/int64(len(kinds))
		n := min(len(of), sampleRows)
		for j := range n {
			i := of[j*len(of)/n]
			if size := changeBytes(&changes[i]); size <= share {
				chosen, share = append(chosen, i), share-size
			}
		}
	}
	slices.Sort(chosen)
	out := make([]store.Change, len(chosen))
	for j, i := range chosen {
		out[j] = changes[i]
	}
	return out
}

// changeBytes is about how many bytes a plan keeps of a change.
func changeBytes(c *store.Change) int64 {
	const members = 80 // the names of its members
	return int64(len(c.Before) + len(c.After) + len(c.Entity) + len(c.Set) + len(c.ID) + members)
}

// countDifferences says what a later shape has more or less of, by the numbers alone.
func countDifferences(was, is []Counted) []string {
	var out []string
	compare := func(c Counted, verb string, before, now int) {
		entity := c.Entity
		if c.Hidden {
			entity = store.HiddenEntity
		}
		if before != now {
			out = append(out, fmt.Sprintf("otherwise: of %s in the set %s it now %s %s in place of %d", entity, plain(clipped(c.Set, dialogBounds.value)), verb, quantity(now, "row"), before))
		}
	}
	same := func(c Counted) func(Counted) bool {
		return func(o Counted) bool { return o.Entity == c.Entity && o.Set == c.Set && o.Hidden == c.Hidden }
	}
	both := slices.Clone(was)
	for _, c := range is {
		if !slices.ContainsFunc(was, same(c)) {
			both = append(both, c)
		}
	}
	for _, c := range both {
		var before, now store.ChangeCount
		if i := slices.IndexFunc(was, same(c)); i >= 0 {
			before = was[i].ChangeCount
		}
		if i := slices.IndexFunc(is, same(c)); i >= 0 {
			now = is[i].ChangeCount
		}
		compare(c, "deletes", before.Deleted, now.Deleted)
		compare(c, "updates", before.Updated, now.Updated)
		compare(c, "creates", before.Created, now.Created)
	}
	if len(out) == 0 {
		out = append(out, "otherwise: as many rows, of which some are others or have other values")
	}
	return out
}
