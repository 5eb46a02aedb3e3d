package typegen

import (
	"bytes"
	"encoding/json"
	"sort"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// Bounds on what a schema may make of itself: it can come from anywhere.
const (
	maxSchemaDepth   = 24
	maxSchemaNodes   = 4000
	maxSchemaMembers = 400
)

// namespace collects the types of one domain.
type namespace struct {
	taken map[string]bool
	types []string
}

func (n *namespace) unique(name string) string {
	out := name
	for i := 2; n.taken[out]; i++ {
		out = name + strconv.Itoa(i)
	}
	n.taken[out] = true
	return out
}

// input is root, and tells whether the input may be left out.
func (n *namespace) input(schema json.RawMessage, name, domain string) (kind string, optional bool) {
	var s struct {
		Required []string `json:"required"`
	}
	optional = json.Unmarshal(schema, &s) == nil && len(s.Required) == 0
	return n.root(schema, name, domain), optional
}

// root gives the type of a whole schema: a name where it deserves one.
func (n *namespace) root(schema json.RawMessage, name, domain string) string {
	doc, ok := decode(schema)
	if !ok {
		return "unknown"
	}
	c := &converter{doc: doc, space: n, domain: domain, names: map[string]string{}, edges: map[string][]string{}}
	if obj, ok := doc.(map[string]any); !ok || len(obj) == 0 {
		return c.convert(doc, position{})
	}
	c.base = name
	qualified := domain + "." + c.name("#", name)
	c.flush()
	return qualified
}

// jsonFieldType gives the type of an entity's JSON field, in one expression.
func jsonFieldType(schema json.RawMessage) string {
	if len(schema) == 0 {
		return "unknown"
	}
	doc, ok := decode(schema)
	if !ok {
		return "unknown"
	}
	c := &converter{doc: doc}
	return c.convert(doc, position{})
}

func decode(schema json.RawMessage) (any, bool) {
	if len(schema) == 0 {
		return nil, false
	}
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var doc any
	return doc, dec.Decode(&doc) == nil
}

// converter turns one schema document into types. Without a namespace, what
// needs a name becomes unknown.
type converter struct {
	doc    any
	space  *namespace
	domain string
	base   string
	nodes  int
	names  map[string]string   // pointer -> type's name
	queue  []string            // pointers whose types are to be written
	edges  map[string][]string // pointer -> pointers that it directly is
}

// position is where in the types a schema stands.
type position struct {
	owner  string // the pointer whose type is being written, "" for none
	inside bool   // within an object, array or tuple, where a type may name itself
	depth  int
}

func (p position) within() position { return position{p.owner, true, p.depth + 1} }

func (p position) beside() position { return position{p.owner, p.inside, p.depth + 1} }

// name gives the type name of a pointer's schema and queues the type.
func (c *converter) name(pointer, want string) string {
	if name, ok := c.names[pointer]; ok {
		return name
	}
	name := c.space.unique(catalog.Identifier(want))
	c.names[pointer] = name
	c.queue = append(c.queue, pointer)
	return name
}

// flush writes the queued types.
func (c *converter) flush() {
	for len(c.queue) > 0 {
		pointer := c.queue[0]
		c.queue = c.queue[1:]
		schema, _ := resolve(c.doc, pointer)
		note := ""
		if obj, ok := schema.(map[string]any); ok {
			note = comment("    ", str(obj["description"]))
		}
		c.space.types = append(c.space.types, note+"    type "+c.names[pointer]+" = "+c.convert(schema, position{owner: pointer})+";\n")
	}
}

// convert gives the type of a schema.
func (c *converter) convert(schema any, p position) string {
	c.nodes++
	if p.depth > maxSchemaDepth || c.nodes > maxSchemaNodes {
		return "unknown /* too deep */"
	}
	switch s := schema.(type) {
	case bool:
		if s {
			return "unknown"
		}
		return "never"
	case map[string]any:
		kind := c.object(s, p)
		if s["nullable"] == true && kind != "unknown" {
			kind = union([]string{kind, "null"})
		}
		return kind
	}
	return "unknown"
}

func (c *converter) object(s map[string]any, p position) string {
	if ref, ok := s["$ref"].(string); ok {
		return c.reference(ref, p)
	}
	if v, ok := s["const"]; ok {
		return literal(v, 0)
	}
	if list, ok := s["enum"].([]any); ok {
		return enum(list)
	}
	var parts []string
	for _, key := range []string{"oneOf", "anyOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			parts = append(parts, c.combine(list, p, union))
		}
	}
	if list, ok := s["allOf"].([]any); ok && len(list) > 0 {
		parts = append(parts, c.combine(list, p, intersection))
	}
	if own := c.own(s, p); own != "" {
		parts = append(parts, own)
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return intersection(parts)
}

func (c *converter) combine(list []any, p position, join func([]string) string) string {
	if len(list) > maxSchemaMembers {
		return "unknown /* too many alternatives */"
	}
	kinds := make([]string, len(list))
	for i, one := range list {
		kinds[i] = c.convert(one, p.beside())
	}
	return join(kinds)
}

// own gives what `type` and the keywords of objects and arrays say, "" for
// nothing.
func (c *converter) own(s map[string]any, p position) string {
	var kinds []string
	switch t := s["type"].(type) {
	case string:
		kinds = []string{t}
	case []any:
		for _, one := range t {
			kinds = append(kinds, str(one))
		}
	default:
		switch {
		case s["properties"] != nil || s["additionalProperties"] != nil || s["patternProperties"] != nil:
			kinds = []string{"object"}
		case s["items"] != nil || s["prefixItems"] != nil:
			kinds = []string{"array"}
		default:
			return ""
		}
	}
	out := make([]string, len(kinds))
	for i, k := range kinds {
		out[i] = c.kind(k, s, p)
	}
	return union(out)
}

func (c *converter) kind(k string, s map[string]any, p position) string {
	switch k {
	case "string", "boolean", "null":
		return k
	case "integer", "number":
		return "number"
	case "array":
		return c.array(s, p)
	case "object":
		return c.members(s, p)
	}
	return "unknown"
}

func (c *converter) array(s map[string]any, p position) string {
	items, hasItems := s["items"]
	prefix, _ := s["prefixItems"].([]any)
	if list, ok := items.([]any); ok && prefix == nil { // the tuples of draft 7
		prefix, items, hasItems = list, s["additionalItems"], s["additionalItems"] != nil
	}
	if len(prefix) == 0 {
		if !hasItems {
			return "unknown[]"
		}
		return list(c.convert(items, p.within()))
	}
	if len(prefix) > maxSchemaMembers {
		return "unknown[]"
	}
	parts := make([]string, len(prefix))
	for i, one := range prefix {
		parts[i] = c.convert(one, p.within())
	}
	switch {
	case items == false:
	case hasItems:
		parts = append(parts, "..."+list(c.convert(items, p.within())))
	default:
		parts = append(parts, "...unknown[]")
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// members writes an object type.
func (c *converter) members(s map[string]any, p position) string {
	props, _ := s["properties"].(map[string]any)
	required := map[string]bool{}
	if list, ok := s["required"].([]any); ok {
		for _, one := range list {
			required[str(one)] = true
		}
	}
	names := make([]string, 0, len(props))
	for name := range props {
		names = append(names, name)
	}
	sort.Strings(names)
	var parts []string
	if len(names) > maxSchemaMembers {
		names = names[:maxSchemaMembers]
		parts = append(parts, "[more: string]: unknown")
	}
	for _, name := range names {
		mark := "?"
		if required[name] {
			mark = ""
		}
		parts = append(parts, note(props[name])+property(name)+mark+": "+c.convert(props[name], p.within()))
	}
	if index := c.index(s, len(names) > 0, p); index != "" {
		parts = append(parts, index)
	}
	if len(parts) == 0 {
		return "{ [key: string]: never }"
	}
	return "{ " + strings.Join(parts, "; ") + " }"
}

// index writes the index signature. Beside named members it must admit their
// types, so it says unknown.
func (c *converter) index(s map[string]any, named bool, p position) string {
	more, ok := s["additionalProperties"]
	if patterns, _ := s["patternProperties"].(map[string]any); len(patterns) > 0 {
		return "[key: string]: unknown"
	}
	switch {
	case more == false:
		return ""
	case !ok && named:
		return ""
	case !ok || named:
		return "[key: string]: unknown"
	}
	return "[key: string]: " + c.convert(more, p.within())
}

// reference gives the name of what a $ref leads to.
func (c *converter) reference(ref string, p position) string {
	if c.space == nil || ref != "#" && !strings.HasPrefix(ref, "#/") {
		return "unknown /* reference */"
	}
	if _, ok := resolve(c.doc, ref); !ok {
		return "unknown /* broken reference */"
	}
	if !p.inside && p.owner != "" {
		if ref == p.owner || c.leads(ref, p.owner, map[string]bool{}) {
			return "unknown /* circular */"
		}
		c.edges[p.owner] = append(c.edges[p.owner], ref)
	}
	last := ref[strings.LastIndexByte(ref, '/')+1:]
	return c.name(ref, c.base+catalog.Pascal(catalog.Identifier(last)))
}

// leads tells whether the type of a pointer is, without any structure between,
// that of another.
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
	if pointer == "#" {
		return doc, true
	}
	at := doc
	for _, step := range strings.Split(strings.TrimPrefix(pointer, "#/"), "/") {
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				return nil, false
			}
			at = next
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}
