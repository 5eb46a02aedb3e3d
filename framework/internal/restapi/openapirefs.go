package restapi

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema/subschema"
)

// references turns what a schema refers to within itself into components of the document, in
// which its own paths and anchors mean nothing.
type references struct {
	all     *components
	doc     node
	owner   string
	anchors map[string]string // pointers by name
	names   map[string]string // components by pointer
}

// withComponents returns a schema whose references are to components, which it adds.
func (b *components) withComponents(doc any, owner string) any {
	root, ok := doc.(node)
	if !ok {
		return doc
	}
	r := &references{b, root, owner, map[string]string{}, map[string]string{}}
	subschema.Each(root, func(path string, s node) {
		for _, keyword := range []string{"$anchor", "$dynamicAnchor", "$id"} { // older drafts have anchors in $id
			if name, ok := s[keyword].(string); ok {
				r.anchors[strings.TrimPrefix(name, "#")] = path
			}
		}
		if s["$recursiveAnchor"] == true {
			r.anchors[""] = path
		}
	})
	return r.resolve(root)
}

// resolve replaces the references in a schema, and leaves out what would change their meaning.
func (r *references) resolve(s any) any {
	object, ok := s.(node)
	if !ok {
		return s
	}
	out := maps.Clone(object)
	for _, keyword := range []string{"$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$comment"} {
		delete(out, keyword)
	}
	for _, keyword := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if to, ok := out[keyword].(string); ok {
			delete(out, keyword)
			if name := r.component(to); name != "" {
				out["$ref"] = reference(name)["$ref"]
			}
		}
	}
	delete(out, "$defs")
	delete(out, "definitions")
	return subschema.Replace(out, r.resolve)
}

// component returns the name of the component of a reference, "" if the schema has no such part.
func (r *references) component(to string) string {
	pointer, ok := r.pointer(to)
	if !ok {
		return ""
	}
	if name := r.names[pointer]; name != "" {
		return name
	}
	target, ok := fault.At(r.doc, pointer)
	if !ok {
		return ""
	}
	steps := fault.Steps(pointer)
	if len(steps) > 1 && (steps[0] == "$defs" || steps[0] == "definitions") {
		steps = steps[1:]
	}
	if len(steps) == 0 {
		steps = []string{"self"}
	}
	name := r.all.take(r.owner + "_" + componentName(strings.Join(steps, "_")))
	r.names[pointer] = name // before its schema is read, which may refer to itself
	r.all.schemas[name] = r.all.refer(r.resolve(target), r.owner)
	return name
}

// pointer returns the JSON Pointer that a reference means.
func (r *references) pointer(to string) (pointer string, ok bool) {
	base, fragment, _ := strings.Cut(to, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return "", false
	}
	at, named := r.anchors[base]
	switch {
	case fragment == "" && base == "":
		return r.anchors[""], true
	case base != "" && !named:
		return "", false
	case fragment == "" || fragment[0] == '/':
		return at + fragment, true
	}
	at, named = r.anchors[fragment]
	return at, named
}

// take returns the name of a new component: the given one, with a number if it is taken.
func (b *components) take(want string) string {
	name := want
	for i := 2; b.schemas[name] != nil; i++ {
		name = want + strconv.Itoa(i)
	}
	b.schemas[name] = node{}
	return name
}

// componentName is a name as components may have it.
func componentName(name string) string {
	return strings.Map(func(r rune) rune {
		if slices.Contains([]rune(".-_"), r) || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
