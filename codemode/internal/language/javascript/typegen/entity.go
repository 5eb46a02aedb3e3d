package typegen

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/codemode/internal/language/outline"
	"github.com/koan-go/koan/codemode/internal/language/shapes"
	"github.com/koan-go/koan/framework/catalog"
)

// generator makes the declarations of one View.
type generator struct {
	view   *catalog.View
	shapes []shapes.Shape      // the distinct sets of methods
	params map[string][]string // op -> what its input may hold, over all entities
	taken  map[string]bool     // names in the namespace Entities
	// operators are those that the schemas of filters name; empty if they name none,
	// which means all.
	operators map[string]bool
	alone     bool // the text is self-contained, without other entities
	compact   bool // nobody checks scripts with it
	// plain leaves out of methods what options do to their results: what reads the text pays
	// for each word.
	plain bool
}

type generatorKey struct{}

// newGenerator returns the generator of a view, which is made once and must be copied
// before it is changed.
func newGenerator(v *catalog.View) *generator {
	return catalog.Memo(v, generatorKey{}, func() *generator { return makeGenerator(v) })
}

func makeGenerator(v *catalog.View) *generator {
	g := &generator{view: v, shapes: shapes.Of(v), params: map[string][]string{}, taken: map[string]bool{}, operators: map[string]bool{}}
	for _, r := range v.Resources() {
		g.taken[r.Name] = true
		for _, op := range r.Operations {
			g.addParams(r.Name, op)
		}
	}
	return g
}

// addParams collects the members of an operation's input, so that types have exactly those
// that the operation accepts.
func (g *generator) addParams(entity, op string) {
	o := g.view.At(catalog.SurfaceScript).Operation(catalog.EntityID(entity, op))
	if o == nil {
		return
	}
	if op == "collection" || op == "count" {
		g.addOperators(o.Input)
	}
	eachKey(o.Input, func(depth int, parent, key, value string) {
		if depth != 2 || parent != "properties" || strings.HasPrefix(value, "false") { // false: known, and always refused
			return
		}
		if !slices.Contains(g.params[op], key) {
			g.params[op] = append(g.params[op], key)
		}
	})
}

// addOperators collects the filter operators that a schema names, in its keys or in its
// descriptions.
func (g *generator) addOperators(schema []byte) {
	for i := bytes.IndexByte(schema, '$'); i >= 0; {
		end := i + 1
		for end < len(schema) && (schema[end]|0x20 >= 'a' && schema[end]|0x20 <= 'z') {
			end++
		}
		if name := schema[i:end]; !g.operators[string(name)] && !schemaKeys[string(name)] && len(name) > 1 {
			g.operators[string(name)] = true
		}
		next := bytes.IndexByte(schema[end:], '$')
		if next < 0 {
			return
		}
		i = end + next
	}
}

// schemaKeys are words with a dollar sign that are JSON Schema's own.
var schemaKeys = map[string]bool{"$ref": true, "$defs": true, "$schema": true, "$id": true, "$comment": true, "$anchor": true}

func (g *generator) hasOperator(op string) bool { return len(g.operators) == 0 || g.operators[op] }

// typeNames are the types that an entity's methods are written with: model is what is read, input
// what is written.
type typeNames struct{ model, input, relation, set string }

func (g *generator) names(r *catalog.Resource) typeNames {
	t := typeNames{model: r.Name, input: "Input<" + r.Name + ">", relation: "never", set: `"default"`}
	if hasInput(r) || !g.plain && !r.ReadOnly {
		t.input = g.sibling(r.Name, "Input")
	}
	if relates(r) {
		t.relation = g.sibling(r.Name, "Relationship")
	}
	if len(r.Sets) > 0 {
		t.set = g.sibling(r.Name, "Set")
	}
	return t
}

// sibling names a type beside an entity's, without hiding another entity.
func (g *generator) sibling(entity, suffix string) string {
	name := entity + suffix
	for n := 2; g.taken[name]; n++ {
		name = entity + suffix + strconv.Itoa(n)
	}
	return name
}

// hasInput reports whether callers may write fields or relationships that they never
// read.
func hasInput(r *catalog.Resource) bool {
	return !r.ReadOnly && (slices.ContainsFunc(r.Fields, func(f catalog.Field) bool { return !f.Readable() && !f.ReadOnly }) ||
		slices.ContainsFunc(r.Edges, func(e catalog.Edge) bool { return e.WriteOnly }))
}

// relates reports whether an entity has relationships that can be read.
func relates(r *catalog.Resource) bool {
	return slices.ContainsFunc(r.Edges, func(e catalog.Edge) bool { return !e.WriteOnly })
}

// entity writes an entity's types and its constant; known reports which targets of edges
// the text declares.
func (g *generator) entity(r *catalog.Resource, known func(string) bool) string {
	t := g.names(r)
	for _, s := range g.shapes {
		if slices.Equal(s.Operations, shapes.Methods(r.Operations)) {
			args := t.model + ", " + t.relation + ", " + t.set
			if hasInput(r) {
				args += ", " + t.input
			}
			return g.fields(r, r.Name, known) + g.unions(r) + "    const " + r.Name + ": SDK." + s.Name + "<" + args + ">;\n"
		}
	}
	return ""
}

// unions writes the types of an entity's sets and relationships, and of its input if that
// has more than can be read or scripts are checked.
func (g *generator) unions(r *catalog.Resource) string {
	var b strings.Builder
	t := g.names(r)
	if len(r.Sets) > 0 {
		b.WriteString("    type " + t.set + " = " + setsType(r.Sets) + ";\n")
	}
	if relates(r) {
		b.WriteString("    type " + t.relation + " = " + relationType(r.Edges) + ";\n")
	}
	switch {
	case hasInput(r):
		b.WriteString(g.inputType(r, t))
	case !g.plain && !r.ReadOnly:
		b.WriteString("    type " + t.input + " = SDK.Input<" + r.Name + ">;\n")
	}
	return b.String()
}

// setsType is the union of an entity's sets.
func setsType(sets []string) string {
	parts := make([]string, len(sets))
	for i, s := range sets {
		parts[i] = setType(s)
	}
	return strings.Join(parts, " | ")
}

// relationType is the union of an entity's relationships, and of "all".
func relationType(edges []catalog.Edge) string {
	var b strings.Builder
	for _, e := range edges {
		if !e.WriteOnly {
			b.WriteString(quote(e.Name) + " | ")
		}
	}
	return b.String() + `"all"`
}

// inputType writes what callers may write of an entity, with what they never read. It is an
// interface, since several declarations of it merge.
func (g *generator) inputType(r *catalog.Resource, t typeNames) string {
	var b strings.Builder
	b.WriteString("    interface " + t.input + " extends SDK.Input<" + t.model + "> {\n")
	for i := range r.Fields {
		if f := &r.Fields[i]; !f.Readable() && !f.ReadOnly {
			b.WriteString(comment("      ", fieldNotes(f)) + "      " + property(f.Name) + "?: " + g.writtenKind(f) + ";\n")
		}
	}
	for _, e := range r.Edges {
		if e.WriteOnly {
			b.WriteString(comment("      ", outline.EdgeNotes(e)) + "      " + property(e.Name) + "?: any;\n")
		}
	}
	return b.String() + "    }\n"
}

// fields writes the interface of an entity's readable fields.
func (g *generator) fields(r *catalog.Resource, name string, known func(string) bool) string {
	var b strings.Builder
	b.WriteString(comment("    ", r.Description))
	b.WriteString("    interface " + name + " {\n")
	key := r.Key
	key.Immutable = false // goes without saying
	b.WriteString(g.field(&key))
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Readable() {
			b.WriteString(g.field(f))
		}
	}
	for _, e := range r.Edges {
		if e.WriteOnly {
			continue
		}
		b.WriteString(comment("      ", outline.EdgeNotes(e)))
		kind := e.Target + " | null"
		switch {
		case !known(e.Target):
			kind = "any"
		case e.Many:
			kind = e.Target + "[]"
		case e.Required:
			kind = e.Target
		}
		b.WriteString("      " + property(e.Name) + "?: " + kind + ";\n")
	}
	b.WriteString("    }\n")
	return b.String()
}

// field writes a field of what is read, where none is missing.
func (g *generator) field(f *catalog.Field) string {
	return comment("      ", fieldNotes(f)) + "      " + property(f.Name) + ": " + g.kind(f) + ";\n"
}

// writtenKind is the type of a field in what is written.
func (g *generator) writtenKind(f *catalog.Field) string {
	kind := g.kind(f)
	switch {
	case g.compact || isUnsaid(kind):
		return kind
	case f.Type == catalog.TypeTime:
		kind += " | Date"
	case isNumeric(f):
		kind += " | number"
	}
	if inherited(f.Name) {
		kind += " | {}[" + quote(f.Name) + "]"
	}
	return kind
}

// kind is the type of a field's values.
func (g *generator) kind(f *catalog.Field) string {
	kind := fieldType(f)
	switch {
	case g.compact: // nobody checks operators
	case f.Type == catalog.TypeTime:
		kind = "SDK.Time"
	case isDay(f):
		kind = "SDK.Day"
	case isNumeric(f):
		kind = "SDK.Numeric"
	}
	if f.Nullable && !isUnsaid(kind) {
		kind += " | null"
	}
	return kind
}

// isDay reports whether a field has a day.
func isDay(f *catalog.Field) bool { return f.Type == catalog.TypeDay }

// isNumeric reports whether a field has a string for which a number is taken.
func isNumeric(f *catalog.Field) bool { return f.Type == catalog.TypeDecimal || f.Numeric }

// isWide reports whether a field has numbers, and strings of digits beyond 2^53.
func isWide(f *catalog.Field) bool { return f.Wide && f.BeyondNumbers() }

// has reports whether some entity has a field of a kind.
func (g *generator) has(kind func(*catalog.Field) bool) bool {
	return slices.ContainsFunc(g.view.Resources(), func(r *catalog.Resource) bool {
		return kind(&r.Key) || slices.ContainsFunc(r.Fields, func(f catalog.Field) bool { return kind(&f) })
	})
}

// inherited reports whether each object of JavaScript inherits a member of this name. TypeScript
// checks the inherited member against the type that the name has in a literal's type, so that type
// must admit it, or no literal without the member passes.
func inherited(name string) bool {
	switch name {
	case "constructor", "toString", "toLocaleString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable":
		return true
	}
	return false
}

// hasInherited reports whether some entity has a field or a relationship with an inherited name.
func (g *generator) hasInherited() bool {
	return g.has(func(f *catalog.Field) bool { return inherited(f.Name) }) ||
		slices.ContainsFunc(g.view.Resources(), func(r *catalog.Resource) bool {
			return slices.ContainsFunc(r.Edges, func(e catalog.Edge) bool { return inherited(e.Name) })
		})
}

func fieldType(f *catalog.Field) string {
	if kind, ok := f.TypeScript(); ok {
		return kind
	}
	return jsonFieldType(f.Schema)
}

// fieldNotes say in one line what a type cannot.
func fieldNotes(f *catalog.Field) string {
	if isWide(f) {
		return outline.FieldNotes(f, "a string beyond 2^53: Number(it), BigInt(it)")
	}
	return outline.FieldNotes(f)
}
