package schema

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/koan-go/koan/framework/fault"
)

// union returns what a value misses of the branch of a union that was meant: the one whose constants
// it has, else the nearest.
func (r *reader) union(v *jsonschema.ValidationError, keyword string) []fault.Detail {
	all := misfits(v)
	best := nearest(all)
	meant := slices.DeleteFunc(slices.Clone(all), func(m *misfit) bool { return m.types != nil })
	at := pointer(v.InstanceLocation)
	switch path, shared := sharedConstant(meant); {
	case len(meant) == 0:
		return []fault.Detail{violation(&kind.Type{Got: best.got, Want: wantedTypes(all)}, at)}
	case shared && (len(meant) > 1 || path == at):
		return []fault.Detail{constants(path, at, meant, wantedTypes(all))}
	case len(meant) > 1 && len(meant) <= 4 && !slices.ContainsFunc(meant, func(m *misfit) bool { return len(m.missing) < m.count || m.count != best.count }):
		if slices.ContainsFunc(meant, func(m *misfit) bool { return !slices.Equal(m.missing, best.missing) }) { // none of them more than another
			return []fault.Detail{{Path: at, Message: "must have " + missing(meant)}}
		}
		return []fault.Detail{{Path: at + pointer(best.missing[:1]), Message: "must have " + missing(meant)}}
	}
	out := r.violations(v.Causes[best.branch])
	if len(meant) > 1 {
		name := r.nameOf(v.SchemaURL+"/"+keyword, best.branch, len(all))
		for i := range out {
			out[i].Message += ", " + name
		}
	}
	return out
}

// misfit is what a value misses of a branch of a union.
type misfit struct {
	branch  int
	types   []string         // those that the branch takes, where the value is of another one
	got     string           // the type of the value then
	wrong   map[string][]any // constants that the value does not have, by their paths
	weight  int              // of these: one of an enum may be wrong in the branch that was meant
	missing []string         // members of the value itself
	count   int              // of all that is wrong
}

func misfits(v *jsonschema.ValidationError) []*misfit {
	out := make([]*misfit, len(v.Causes))
	for i, cause := range v.Causes {
		out[i] = &misfit{branch: i, wrong: map[string][]any{}}
		out[i].add(cause, len(v.InstanceLocation))
	}
	return out
}

// add adds what is wrong at a place. depth is that of the value of the union.
func (m *misfit) add(v *jsonschema.ValidationError, depth int) {
	causes := v.Causes
	if unionOf(v) != "" {
		inner := misfits(v)
		causes = causes[nearest(inner).branch:][:1]
		if len(v.InstanceLocation) == depth && !slices.ContainsFunc(inner, func(m *misfit) bool { return m.types == nil }) {
			causes = v.Causes // all of their types count
		}
	}
	for _, c := range causes {
		m.add(c, depth)
	}
	if len(causes) > 0 {
		return
	}
	m.count++
	path, here := pointer(v.InstanceLocation), len(v.InstanceLocation) == depth
	switch k := v.ErrorKind.(type) {
	case *kind.Type:
		if here {
			m.types, m.got = append(m.types, k.Want...), k.Got
		}
	case *kind.Const:
		m.wrong[path] = append(m.wrong[path], k.Want)
		m.weight += 2
	case *kind.Enum:
		m.wrong[path] = append(m.wrong[path], k.Want...)
		m.weight++
	case *kind.AdditionalProperties:
		m.count += len(k.Properties) - 1
	case *kind.Required:
		m.count += len(k.Missing) - 1
		if here {
			m.missing = append(m.missing, k.Missing...)
		}
	}
}

// nearest returns the branch that a value fits best.
func nearest(all []*misfit) *misfit {
	return slices.MinFunc(all, func(a, b *misfit) int {
		switch {
		case (a.types == nil) != (b.types == nil):
			if a.types == nil {
				return -1
			}
			return 1
		case a.weight != b.weight:
			return a.weight - b.weight
		}
		return a.count - b.count
	})
}

// wantedTypes returns the types of the branches that take no value of the type that came.
func wantedTypes(all []*misfit) (types []string) {
	for _, m := range all {
		for _, t := range m.types {
			if !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	return types
}

// sharedConstant returns the path of a constant that the value has in no branch.
func sharedConstant(all []*misfit) (path string, ok bool) {
	if len(all) == 0 {
		return "", false
	}
	for _, path := range slices.Sorted(maps.Keys(all[0].wrong)) {
		if !slices.ContainsFunc(all, func(m *misfit) bool { return m.wrong[path] == nil }) {
			return path, true
		}
	}
	return "", false
}

// constants is the violation of a value that is no constant of any branch; types are those of the other
// branches of a union at the path at.
func constants(path, at string, all []*misfit, types []string) fault.Detail {
	var values []any
	for _, m := range all {
		values = append(values, m.wrong[path]...)
	}
	d := violation(&kind.Enum{Want: values}, path)
	if path == at && len(types) > 0 {
		d.Expected += " or " + strings.Join(types, " or ")
		d.Message = "must be " + d.Expected
	}
	return d
}

// missing says which members the branches ask for.
func missing(all []*misfit) string {
	var sets []string
	for _, m := range all {
		names := make([]string, len(m.missing))
		for i, name := range m.missing {
			names[i] = strconv.Quote(name)
		}
		if set := strings.Join(names, " and "); !slices.Contains(sets, set) {
			sets = append(sets, set)
		}
	}
	return strings.Join(sets, ", or ")
}

// nameOf says which branch of a union is meant: by its constant member, its title or its definition's
// name, else by its number.
func (r *reader) nameOf(unionURL string, branch, branches int) string {
	_, path, _ := strings.Cut(unionURL, "#")
	path += "/" + strconv.Itoa(branch)
	defined := ""
	for range 8 { // references to references
		unescaped, err := url.PathUnescape(path)
		if err != nil {
			break
		}
		found, _ := fault.At(r.doc, unescaped)
		s, ok := found.(map[string]any)
		if !ok {
			break
		}
		if of := constantOf(s); of != "" {
			return "where " + of
		}
		if title, ok := s["title"].(string); ok && title != "" {
			return "in the form " + fault.Clip(title, 80)
		}
		ref, _ := s["$ref"].(string)
		if path, ok = strings.CutPrefix(ref, "#"); !ok || path == "" {
			break
		}
		defined = path[strings.LastIndexByte(path, '/')+1:]
	}
	if defined != "" {
		return "in the form " + fault.Clip(defined, 80)
	}
	return fmt.Sprintf("in the form %d of %d", branch+1, branches)
}

// constantOf says which constant member an object has, "" if it has none.
func constantOf(s map[string]any) string {
	properties, _ := s["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		p, _ := properties[name].(map[string]any)
		value, ok := p["const"]
		if values, one := p["enum"].([]any); !ok && one && len(values) == 1 {
			value, ok = values[0], true
		}
		if ok {
			return name + " is " + fault.Clip(text(value), 80)
		}
	}
	return ""
}
