package schema

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/koan-go/koan/framework/fault"
)

// reader makes violations of the tree of a validation error.
type reader struct {
	doc   any      // the schema
	names []string // that the schema knows at its top level
	all   bool     // of a union, all branches count, and not only the one that the value fits best
}

// violations flattens the tree into its leaves. A missing or unknown property gets its own path.
func (r *reader) violations(v *jsonschema.ValidationError) []fault.Detail {
	if keyword := unionOf(v); keyword != "" && !r.all {
		return r.union(v, keyword)
	}
	if len(v.Causes) > 0 {
		var out []fault.Detail
		for _, c := range ordered(v) {
			out = append(out, r.violations(c)...)
		}
		return out
	}
	at := pointer(v.InstanceLocation)
	var out []fault.Detail
	switch k := v.ErrorKind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			out = append(out, fault.Detail{Path: at + pointer([]string{name}), Message: fmt.Sprintf("%q is missing", name)})
		}
	case *kind.AdditionalProperties:
		for _, name := range slices.Sorted(slices.Values(k.Properties)) {
			near := ""
			if at == "" {
				near = fault.DidYouMean(name, r.names)
			}
			out = append(out, fault.Detail{Path: at + pointer([]string{name}), Message: fmt.Sprintf("there is no %q here", name) + near})
		}
	case *kind.RefCycle: // a definition by itself demands nothing, and is not the value's mistake
	default:
		out = append(out, violation(v.ErrorKind, at))
	}
	return out
}

// ordered returns the causes of an error. Those inside of members are in the order of the members' names: the validator
// goes through the members of an object in any order, and the same input has to get the same fault.
func ordered(v *jsonschema.ValidationError) []*jsonschema.ValidationError {
	out := slices.Clone(v.Causes)
	var places []int
	var inside []*jsonschema.ValidationError
	for i, c := range out {
		if len(c.InstanceLocation) > len(v.InstanceLocation) {
			places, inside = append(places, i), append(inside, c)
		}
	}
	slices.SortStableFunc(inside, func(a, b *jsonschema.ValidationError) int {
		return slices.CompareFunc(a.InstanceLocation, b.InstanceLocation, compareSteps)
	})
	for i, place := range places {
		out[place] = inside[i]
	}
	return out
}

// compareSteps compares positions in a list by their numbers, and names of members, which come after them.
func compareSteps(a, b string) int {
	m, notA := strconv.Atoi(a)
	n, notB := strconv.Atoi(b)
	switch {
	case notA == nil && notB == nil:
		return cmp.Or(cmp.Compare(m, n), cmp.Compare(a, b))
	case notA == nil:
		return -1
	case notB == nil:
		return 1
	}
	return cmp.Compare(a, b)
}

// unionOf returns the keyword of a union of which a value fits no branch, "" for any other error. Its
// causes are those of the branches, one for each.
func unionOf(v *jsonschema.ValidationError) string {
	if len(v.Causes) == 0 {
		return ""
	}
	switch v.ErrorKind.(type) {
	case *kind.AnyOf:
		return "anyOf"
	case *kind.OneOf:
		return "oneOf"
	}
	return ""
}
