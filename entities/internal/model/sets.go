package model

import (
	"slices"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// DefaultSet is the set of calls that name none.
const DefaultSet = "default"

// DeclaredSets are the sets that entities name, sorted: none of their patterns, but the
// default one where it matches.
func DeclaredSets(g *descriptor.Graph) []string {
	var out []string
	for _, e := range g.Entities {
		for _, set := range e.Resource.Sets {
			if database.ValidSet(set) && !slices.Contains(out, set) { // no name has a *
				out = append(out, set)
			}
		}
		if LivesIn(&e.Resource, DefaultSet) && !slices.Contains(out, DefaultSet) {
			out = append(out, DefaultSet)
		}
	}
	slices.Sort(out)
	return out
}

// LivesIn reports whether an entity lives in a set.
func LivesIn(r *catalog.Resource, set string) bool {
	return database.ValidSet(set) && r.LivesIn(set)
}

// CheckSet refuses a set that an entity does not live in.
func CheckSet(r *catalog.Resource, set string) error {
	if LivesIn(r, set) {
		return nil
	}
	sets := r.Sets
	if len(sets) == 0 {
		sets = []string{DefaultSet}
	}
	var named []string // a pattern is no name to mean
	for _, s := range sets {
		if !strings.Contains(s, "*") {
			named = append(named, s)
		}
	}
	hint := "The sets of " + r.Name + " are " + strings.Join(sets, ", ") + "."
	if len(named) < len(sets) && !database.ValidSet(set) {
		hint += " A name has at most 48 characters of a-z, 0-9, _ and -."
	}
	return fault.Newf(fault.UnknownSet, "%s has no set %s%s", r.Name, filter.Quote(set), fault.DidYouMean(set, named)).
		WithHint("%s", hint).WithPath("/set")
}
