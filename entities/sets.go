package entities

import (
	"strings"

	"github.com/koan-go/koan/entities/backend"
	"github.com/koan-go/koan/entities/filter"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

const defaultSet = "default"

// declared tells whether an entity lives in a set.
func declared(r *catalog.Resource, set string) bool {
	if !backend.ValidSet.MatchString(set) {
		return false
	}
	if len(r.Sets) == 0 {
		return set == defaultSet
	}
	for _, pattern := range r.Sets {
		if auth.MatchSet(pattern, set) {
			return true
		}
	}
	return false
}

// checkSet refuses a set that an entity does not live in.
func checkSet(r *catalog.Resource, set string) error {
	if declared(r, set) {
		return nil
	}
	sets := r.Sets
	if len(sets) == 0 {
		sets = []string{defaultSet}
	}
	return fault.Newf(fault.UnknownSet, "%s has no set %s%s", r.Name, filter.Quote(set), fault.DidYouMean(set, sets)).
		WithHint("The sets of %s are %s.", r.Name, strings.Join(sets, ", ")).WithPath("/set")
}
