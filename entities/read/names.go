package read

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/filter"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// named is one name of a list, with the place that it stands at.
type named struct{ name, at string }

// names reads a list of names: "a,b", or ["a","b"].
func (in *input) names(v any, at, what string) []named {
	var out []named
	switch v := v.(type) {
	case string:
		for _, name := range strings.Split(v, ",") {
			out = append(out, named{strings.TrimSpace(name), at})
		}
	case []any:
		for i, item := range v {
			here := at + "/" + strconv.Itoa(i)
			s, ok := item.(string)
			if !ok {
				in.wrong(here, what+" are named by strings", "string", item)
				continue
			}
			out = append(out, named{strings.TrimSpace(s), here})
		}
	default:
		in.wrong(at, what+" are a string such as \"a,b\", or an array", "string or array of strings", v)
		return nil
	}
	if len(out) == 0 {
		in.wrong(at, "at least one name is needed", "non-empty list", v)
	}
	return out
}

// sort reads "-expiresAt,name" or ["-expiresAt","name"]. The key breaks ties.
func (in *input) sort(e *descriptor.Entity, m map[string]any, at string) []term {
	v, ok := m["sort"]
	var out []term
	taken := map[string]bool{}
	if ok {
		at += "/sort"
		names := in.names(v, at, "sort fields")
		if len(names) > MaxSort {
			in.wrong(at, "a sort has at most "+strconv.Itoa(MaxSort)+" fields", "list", v)
			return nil
		}
		for _, n := range names {
			name, descending := strings.CutPrefix(n.name, "-")
			c := in.sortable(e, name, n.at)
			if c == nil {
				continue
			}
			if taken[name] {
				in.fail(n.at, filter.Quote(name)+" is in the sort twice")
			}
			taken[name] = true
			out = append(out, term{column: c, descending: descending})
		}
	}
	if !taken[e.Key.Field] {
		out = append(out, term{column: &e.Key})
	}
	return out
}

func (in *input) sortable(e *descriptor.Entity, name, at string) *descriptor.Column {
	f := e.Resource.Field(name)
	if !filter.Readable(f) || e.Column(name) == nil {
		in.fail(at, "unknown field "+filter.Quote(name)+" of "+e.Resource.Name+fault.DidYouMean(name, filter.FieldNames(e)))
		return nil
	}
	if f.Type == catalog.TypeJSON || f.Type == catalog.TypeBytes {
		in.fail(at, filter.Quote(name)+" of type "+string(f.Type)+" has no order")
		return nil
	}
	return e.Column(name)
}

// selection reads `fields` and `with`.
func (in *input) selection(e *descriptor.Entity, m map[string]any, at string, depth int) *selection {
	s := &selection{entity: e, layout: fullLayout(e)}
	if v, ok := m["fields"]; ok {
		s.layout = in.fields(e, v, at+"/fields")
	}
	if v, ok := m["with"]; ok && len(filter.EdgeNames(e, in.graph)) == 0 {
		in.fail(at+"/with", e.Resource.Name+" has no relationships")
	} else if ok {
		in.with(s, v, at+"/with", depth)
	}
	return s
}

func (in *input) fields(e *descriptor.Entity, v any, at string) *layout {
	chosen := map[string]bool{}
	for _, n := range in.names(v, at, "fields") {
		if f := e.Resource.Field(n.name); filter.Readable(f) {
			chosen[n.name] = true
			continue
		}
		if edge, _ := filter.Related(e, in.graph, n.name); edge != nil {
			in.fail(n.at, filter.Quote(n.name)+" is a relationship; name it in `with`")
			continue
		}
		in.fail(n.at, "unknown field "+filter.Quote(n.name)+" of "+e.Resource.Name+fault.DidYouMean(n.name, filter.FieldNames(e)))
	}
	return newLayout(e, chosen)
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }

func sorted(m map[string]any) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
