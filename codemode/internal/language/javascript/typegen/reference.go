package typegen

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// reference returns the type of the target of a $ref: a name, or without a namespace the
// type itself.
func (c *converter) reference(ref string, p position) string {
	pointer, ok := c.local(ref)
	if !ok {
		return unsaid("a reference to another document")
	}
	schema, ok := resolve(c.doc, pointer)
	if !ok {
		return unsaid("a reference to nothing")
	}
	if c.space == nil {
		if slices.Contains(c.around, pointer) {
			return unsaid("recursive")
		}
		c.around = append(c.around, pointer)
		kind := c.convert(schema, p.beside())
		c.around = c.around[:len(c.around)-1]
		return kind
	}
	if !p.inside && p.owner != "" {
		if pointer == p.owner || c.leads(pointer, p.owner, map[string]bool{}) {
			return unsaid("circular")
		}
		c.edges[p.owner] = append(c.edges[p.owner], pointer)
	}
	last := pointer[strings.LastIndexByte(pointer, '/')+1:]
	return c.name(pointer, c.base+catalog.Pascal(catalog.Identifier(last)))
}

// local returns the pointer of a reference into this document: "#", "#/$defs/a%20b",
// "#anchor", and the same after the document's own $id.
func (c *converter) local(ref string) (pointer string, ok bool) {
	if root, isObject := c.doc.(map[string]any); isObject {
		if id := strings.TrimSuffix(str(root["$id"]), "#"); id != "" && (ref == id || strings.HasPrefix(ref, id+"#")) {
			ref = "#" + strings.TrimPrefix(strings.TrimPrefix(ref, id), "#")
		}
	}
	if !strings.HasPrefix(ref, "#") {
		return "", false
	}
	fragment, err := url.PathUnescape(ref[1:])
	switch {
	case err != nil:
		return ref, true
	case fragment == "" || strings.HasPrefix(fragment, "/"):
		return "#" + fragment, true
	}
	if c.anchors == nil {
		c.anchors = map[string]string{}
		nodes := 0
		c.findAnchors(c.doc, "#", &nodes)
	}
	pointer, ok = c.anchors[fragment]
	return pointer, ok
}

// findAnchors collects the pointers of the schemas with an $anchor; of duplicates the
// first counts.
func (c *converter) findAnchors(at any, pointer string, nodes *int) {
	if *nodes++; *nodes > maxSchemaNodes || len(pointer) > maxPointer {
		return
	}
	switch at := at.(type) {
	case map[string]any:
		for _, key := range []string{"$anchor", "$dynamicAnchor"} {
			if name, ok := at[key].(string); ok && c.anchors[name] == "" {
				c.anchors[name] = pointer
			}
		}
		for _, key := range sortedNames(at) {
			c.findAnchors(at[key], pointer+"/"+fault.Step(key), nodes)
		}
	case []any:
		for i, one := range at {
			c.findAnchors(one, pointer+"/"+strconv.Itoa(i), nodes)
		}
	}
}

// maxPointer bounds a pointer in bytes.
const maxPointer = 4096

// leads reports whether the type of a pointer is only a reference to that of another.
func (c *converter) leads(from, to string, seen map[string]bool) bool {
	if from == to {
		return true
	}
	if seen[from] {
		return false
	}
	seen[from] = true
	for _, next := range c.edges[from] {
		if c.leads(next, to, seen) {
			return true
		}
	}
	return false
}

// resolve follows a JSON Pointer in a fragment.
func resolve(doc any, pointer string) (any, bool) {
	return fault.At(doc, strings.TrimPrefix(pointer, "#"))
}
