package typegen

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// Bounds on the types of a schema, which can come from anywhere.
const (
	maxSchemaDepth   = 24
	maxSchemaNodes   = 4000
	maxSchemaMembers = 400
)

// namespace collects the types of one domain.
type namespace struct {
	taken   map[string]bool
	types   []string
	integer string // the name of the type of integers of any size, "" as long as nothing has one
}

// wideInteger returns the name of the type of what calls take for an integer.
func (n *namespace) wideInteger() string {
	if n.integer == "" {
		n.integer = n.unique("Integer")
		n.types = append(n.types, "    /** An integer: beyond 2^53 a BigInt, or its digits. */\n    type "+n.integer+" = number | bigint | string;\n")
	}
	return n.integer
}

func (n *namespace) unique(name string) string {
	out := name
	for i := 2; n.taken[out]; i++ {
		out = name + strconv.Itoa(i)
	}
	n.taken[out] = true
	return out
}

// input returns the type of an operation's whole input, and reports whether it is optional.
func (n *namespace) input(op *catalog.Operation, name, domain string) (kind string, optional bool) {
	var s struct {
		Required []string `json:"required"`
	}
	optional = json.Unmarshal(op.Input, &s) == nil && len(s.Required) == 0
	// An input without a decoder of its own is read by its schema (schema.Cache.Integers).
	return n.root(op.Input, name, &converter{written: true, wide: op.Decode == nil, domain: domain}), optional
}

// output returns the type of an operation's whole output.
func (n *namespace) output(op *catalog.Operation, name, domain string) string {
	return n.root(op.Output, name, &converter{domain: domain})
}

// root returns the type of a whole schema: a name if it is an object, else an expression.
func (n *namespace) root(schema json.RawMessage, name string, c *converter) string {
	doc, ok := decode(schema)
	if !ok {
		return "unknown"
	}
	c.doc, c.space, c.names, c.edges = doc, n, map[string]string{}, map[string][]string{}
	if obj, ok := doc.(map[string]any); !ok || len(obj) == 0 {
		return c.convert(doc, position{})
	}
	c.base = name
	qualified := c.domain + "." + c.name("#", name)
	c.flush()
	return qualified
}

// jsonFieldType returns the type of an entity's JSON field, in one expression.
func jsonFieldType(schema json.RawMessage) string {
	doc, ok := decode(schema)
	if !ok {
		return "unknown"
	}
	c := &converter{doc: doc, written: true}
	c.open = c.hasID(doc)
	return c.convert(doc, position{})
}

// hasID reports whether a schema, or the elements of a list, have a member "id". An
// object with an id is an entity to the types of filters, so these are written as
// objects with any members.
func (c *converter) hasID(schema any) bool {
	s := c.target(schema)
	if items, ok := s["items"]; ok {
		s = c.target(items)
	}
	props, _ := s["properties"].(map[string]any)
	_, ok := props["id"]
	return ok
}

// target follows references to an object.
func (c *converter) target(schema any) map[string]any {
	s, _ := schema.(map[string]any)
	for range maxSchemaDepth {
		ref, ok := s["$ref"].(string)
		if !ok {
			break
		}
		pointer, _ := c.local(ref)
		next, _ := resolve(c.doc, pointer)
		s, _ = next.(map[string]any)
	}
	return s
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

// converter turns one schema document into types. Without a namespace, references are
// replaced by the types of their targets.
type converter struct {
	doc    any
	space  *namespace
	domain string
	base   string
	nodes  int
	open   bool // objects have any members
	// written says that scripts write such values, as literals or otherwise, and wide that their
	// integers may be BigInts and strings of digits.
	written, wide bool
	names         map[string]string   // pointer -> type's name
	queue         []string            // pointers whose types are to be written
	edges         map[string][]string // pointer -> pointers that it directly is
	// anchors are the pointers of anchors, collected at the first use.
	anchors map[string]string
	around  []string // without a namespace: the references that are being written out
}

// unsaid is the type for schemas that TypeScript cannot express or that exceed a bound,
// with a warning.
func unsaid(why string) string { return "unknown /** " + why + " */" }

// isUnsaid reports whether a type admits everything.
func isUnsaid(kind string) bool { return kind == "unknown" || strings.HasPrefix(kind, "unknown /**") }

// position is the position of a schema in the types.
type position struct {
	owner  string // the pointer whose type is being written, "" for none
	inside bool   // within an object, array or tuple, where a type may name itself
	depth  int
}

func (p position) within() position { return position{p.owner, true, p.depth + 1} }

func (p position) beside() position { return position{p.owner, p.inside, p.depth + 1} }

// name returns the type name of a pointer's schema and queues the type.
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

// convert returns the type of a schema.
func (c *converter) convert(schema any, p position) string {
	c.nodes++
	if p.depth > maxSchemaDepth || c.nodes > maxSchemaNodes {
		return unsaid("the schema goes deeper")
	}
	switch s := schema.(type) {
	case bool:
		if s {
			return "unknown"
		}
		return "never"
	case map[string]any:
		kind := c.object(s, p)
		if s["nullable"] == true && !isUnsaid(kind) {
			kind = union([]string{kind, "null"})
		}
		return kind
	}
	return "unknown"
}

// object returns the type of a schema that is an object, from all of its keywords.
func (c *converter) object(s map[string]any, p position) string {
	var parts []string
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if ref, ok := s[key].(string); ok {
			parts = append(parts, c.reference(ref, p))
		}
	}
	value, isConst := s["const"]
	values, isEnum := s["enum"].([]any)
	switch {
	case isConst:
		parts = append(parts, literal(value, 0))
	case isEnum:
		parts = append(parts, enum(values))
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		if list, ok := s[key].([]any); ok && len(list) > 0 {
			parts = append(parts, c.combine(list, p, union))
		}
	}
	if list, ok := s["allOf"].([]any); ok && len(list) > 0 {
		parts = append(parts, c.combine(list, p, intersection))
	}
	if !isConst && !isEnum {
		if own := c.own(s, p); own != "" {
			parts = append(parts, own)
		}
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return intersection(parts)
}

func (c *converter) combine(list []any, p position, join func([]string) string) string {
	if len(list) > maxSchemaMembers {
		return unsaid(strconv.Itoa(len(list)) + " alternatives are too many to list")
	}
	kinds := make([]string, len(list))
	for i, one := range list {
		kinds[i] = c.convert(one, p.beside())
	}
	return join(kinds)
}

// own returns the type by `type` and the keywords of objects and arrays, "" if there are
// none.
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
	case "integer":
		if c.wide && !staysSafe(s) {
			return c.space.wideInteger()
		}
		return "number"
	case "number":
		return "number"
	case "array":
		return c.array(s, p)
	case "object":
		return c.members(s, p)
	}
	return "unknown"
}

// staysSafe reports whether an integer's bounds are such that a number of JavaScript holds it.
func staysSafe(s map[string]any) bool {
	within := func(bounds ...string) bool {
		for _, name := range bounds {
			if n, ok := s[name].(json.Number); ok {
				x, err := n.Float64()
				return err == nil && x <= 1<<53 && x >= -(1<<53)
			}
		}
		return false
	}
	return within("minimum", "exclusiveMinimum") && within("maximum", "exclusiveMaximum")
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
		return "unknown[] /** a tuple of " + strconv.Itoa(len(prefix)) + " */"
	}
	parts := make([]string, len(prefix))
	for i, one := range prefix {
		parts[i] = c.convert(one, p.within())
	}
	most, bounded := s["maxItems"].(json.Number)
	switch {
	case items == false, bounded && most.String() == strconv.Itoa(len(prefix)):
	case hasItems:
		parts = append(parts, "..."+list(c.convert(items, p.within())))
	default:
		parts = append(parts, "...unknown[]")
	}
	return "[" + strings.Join(parts, ", ") + "]"
}
