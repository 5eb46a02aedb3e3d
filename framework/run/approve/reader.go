package approve

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/run/store"
)

// SeenBy returns the plan as a principal reads it who decides about it, or made it. A plan has what
// its maker may read. Of that, others get what their own rights cover, too: entities and fields that
// they may not read are left out, and the text says of how many rows. What an action with the app's
// rights passes on is for those alone who may approve.
func (p *Plan) SeenBy(by auth.Principal, v *catalog.View) *Plan {
	seen := *p
	if !mayApprove(by) {
		seen = *p.forCaller()
	}
	if p.isOwnedBy(by) {
		return &seen
	}
	less := map[string]bool{} // entities of which values are withheld
	withhold := func(entity string) {
		if less[entity] = true; !p.Sampled() {
			seen.withheld.add(entity, 1)
		}
	}
	seen.Changes = slices.Clone(p.Changes)
	for i := range seen.Changes {
		c := &seen.Changes[i]
		if c.Hidden || c.Entity == "" {
			continue
		}
		r := v.Sees(c.Entity)
		if r == nil || !r.Shown() {
			withhold(nameFor(r))
			c.ID, c.Before, c.After, c.Hidden = "", nil, nil, r == nil
			continue
		}
		var cut [2]bool
		c.Before, cut[0] = readable(r, c.Before)
		c.After, cut[1] = readable(r, c.After)
		if cut[0] || cut[1] {
			withhold(c.Entity)
		}
	}
	seen.Counted = slices.Clone(p.Counted)
	for i := range seen.Counted { // a sample stands for all
		c := &seen.Counted[i]
		if c.Hidden || c.Entity == "" {
			continue
		}
		r := v.Sees(c.Entity)
		if name := nameFor(r); less[name] || r == nil || !r.Shown() {
			seen.withheld.add(name, rows([]store.ChangeCount{c.ChangeCount}))
		}
		c.Hidden = r == nil
	}
	seen.Differs = slices.DeleteFunc(slices.Clone(p.Differs), func(line string) bool { return namesUnseen(line, v) })
	return &seen
}

// namesUnseen reports whether a line names an entity that a View does not show. It may be of the plan
// before, and not among the changes of this one.
func namesUnseen(line string, v *catalog.View) bool {
	return slices.ContainsFunc(strings.Fields(line), func(word string) bool {
		if v.Snapshot().Resource(word) == nil {
			return false
		}
		r := v.Sees(word)
		return r == nil || !r.Shown()
	})
}

// nameFor is what an entity is called to whoever sees it, or does not.
func nameFor(r *catalog.Resource) string {
	if r == nil {
		return store.HiddenEntity
	}
	return r.Name
}

// readable returns an image without what a resource does not have, or may not be read, and whether
// that is less.
func readable(r *catalog.Resource, image json.RawMessage) (out json.RawMessage, less bool) {
	if len(image) == 0 {
		return image, false
	}
	kept := []byte{'{'}
	for name, value := range exact.All(image) {
		if !reads(r, name) {
			less = true
			continue
		}
		if len(kept) > 1 {
			kept = append(kept, ',')
		}
		kept = append(append(exact.AppendString(kept, name), ':'), value...)
	}
	if !less {
		return image, false
	}
	return append(kept, '}'), true
}

// reads reports whether a member of a resource's rows is there to be read.
func reads(r *catalog.Resource, name string) bool {
	if f := r.Field(name); f != nil {
		return f.Readable()
	}
	e := r.Edge(name)
	return e != nil && !e.WriteOnly
}
