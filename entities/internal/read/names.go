package read

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/fault"
)

// named is one name of a list, with the place that it stands at.
type named struct{ name, at string }

// maxNames bounds a list of names, far beyond what there can be of them.
const maxNames = 1000

// names reads a list of names: "a,b", or ["a","b"].
func (in *input) names(v any, at, what string) []named {
	var out []named
	tooMany := func() []named {
		in.wrong(at, what+" must be at most "+strconv.Itoa(maxNames)+" names", "list", v)
		return nil
	}
	switch v := v.(type) {
	case string:
		if strings.Count(v, ",") >= maxNames {
			return tooMany()
		}
		for _, name := range strings.Split(v, ",") {
			out = append(out, named{strings.TrimSpace(name), at})
		}
	case []any:
		if len(v) > maxNames {
			return tooMany()
		}
		for i, item := range v {
			here := at + "/" + strconv.Itoa(i)
			s, ok := item.(string)
			if !ok {
				in.wrong(here, what+" must be named by strings", "string", item)
				continue
			}
			out = append(out, named{strings.TrimSpace(s), here})
		}
	default:
		in.wrong(at, what+" must be a string such as \"a,b\", or an array", "string or array of strings", v)
		return nil
	}
	if len(out) == 0 {
		in.wrong(at, "at least one name is required", "non-empty list", v)
	}
	return out
}

// selection reads `fields` and `with`.
func (in *input) selection(e *descriptor.Entity, m map[string]any, at string, depth int) *selection {
	s := &selection{entity: e, layout: fullLayout(e)}
	if v, ok := m["with"]; ok && len(filter.EdgeNames(e, in.graph)) == 0 {
		in.fail(at+"/with", e.Resource.Name+" has no relationships")
	} else if ok {
		in.with(s, v, at+"/with", depth)
	}
	if v, ok := m["fields"]; ok {
		in.fields(s, v, at+"/fields", depth)
	}
	return s
}

// fields reads "title,author.name": fields of the entity itself, and of what it is
// related to, which is read as well; a relationship that `with` does not name has
// only the fields that are named here.
func (in *input) fields(s *selection, v any, at string, depth int) {
	s.restrict()
	narrowed := map[*selection]bool{s: true}
	for _, n := range in.names(v, at, "fields") {
		here, level, path := s, depth, strings.Split(n.name, ".")
		for _, edge := range path[:len(path)-1] {
			before := len(here.relations)
			r := in.relation(here, edge, n.at, level)
			if r == nil {
				here = nil
				break
			}
			if len(here.relations) > before { // not in `with`: only what is named
				r.reads.restrict()
				narrowed[r.reads] = true
			}
			here, level = r.reads, level+1
		}
		if here == nil {
			continue
		}
		name := path[len(path)-1]
		if !in.readable(here.entity, name, n.at) {
			continue
		}
		if !narrowed[here] {
			here.restrict()
			narrowed[here] = true
		}
		here.chosen[name] = true
	}
	for one := range narrowed {
		one.layout = newLayout(one.entity, one.chosen)
	}
}

// restrict makes a selection one of named fields.
func (s *selection) restrict() {
	if s.chosen == nil {
		s.chosen = map[string]bool{}
	}
}

// readable reports a name that is not a field.
func (in *input) readable(e *descriptor.Entity, name, at string) bool {
	if filter.Readable(e.Resource.Field(name)) {
		return true
	}
	if edge, _ := filter.Related(e, in.graph, name); edge != nil {
		in.fail(at, filter.Quote(name)+" is a relationship; name it in `with`, or a field of it: "+filter.Quote(name+".id"))
		return false
	}
	in.fail(at, "unknown field "+filter.Quote(name)+" of "+e.Resource.Name+fault.DidYouMean(name, filter.FieldNames(e)))
	return false
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
