package schema

import (
	"fmt"

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
		for _, c := range v.Causes {
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
		for _, name := range k.Properties {
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
