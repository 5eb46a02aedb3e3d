package typegen

import (
	"slices"
	"strings"

	"github.com/koan-go/koan/codemode/internal/language/shapes"
	"github.com/koan-go/koan/framework/catalog"
)

// generics writes the interfaces of the entities' methods, once for each set of
// methods that an entity has.
func (g *generator) generics() string {
	if len(g.shapes) == 0 {
		return ""
	}
	var b strings.Builder
	generic := typeNames{"T", "I", "R", "S"}
	if g.compact {
		b.WriteString(compactTypes)
	} else {
		b.WriteString(filterTypes(g.hasOperator, g.alone, kinds{g.has(isDay), g.has(isNumeric), g.has(isWide), g.hasInherited()}))
	}
	if len(g.params["aggregate"]) > 0 {
		b.WriteString(aggregateTypes)
	}
	if len(g.params["collection"]) > 0 {
		choice := ""
		if g.chosen("collection") {
			choice = `, F extends string = string, W extends string = Steps<R>, E extends string = Exclude<R, "all">`
		}
		b.WriteString("  interface Query<T, R extends string, S extends string" + choice + "> { " + g.members("collection", generic) + " }\n")
	}
	for _, s := range g.shapes {
		ops, extends := s.Operations, ""
		if base := shapes.Base(g.shapes, s); base != nil {
			ops, extends = s.Beyond(base), " extends "+base.Name+"<T, R, S, I>"
		}
		b.WriteString("  interface " + s.Name + "<T, R extends string, S extends string, I = Input<T>>" + extends + " {\n")
		for _, line := range g.methods(ops, generic) {
			b.WriteString("    " + line + "\n")
		}
		b.WriteString("  }\n")
	}
	return b.String()
}

// methods are the signatures that ops become, one line each.
func (g *generator) methods(ops []string, t typeNames) []string {
	var out []string
	for _, name := range shapes.Methods(ops) {
		op, _ := catalog.EntityOperationNamed(name)
		for _, m := range op.Methods {
			out = append(out, methodNotes[m.Name]+g.method(op, m, t))
		}
	}
	return out
}

// methodNotes say what the types of methods cannot.
var methodNotes = map[string]string{
	"firstPage": "/** pageSize 50, at most 200 */ ",
	"page":      "/** page from 1 */ ",
	"each":      "/** all items, page by page */ ",
	"all":       "/** throws beyond 10,000 rows */ ",
	"getById":   "/** throws not_found */ ",
	"aggregate": "/** columns: the groups, count, sumField ... */ ",
	"new":       "/** a model with defaults, not stored: create or upsert stores it */ ",
	"create":    "/** conflict if its id or a unique key is taken */ ",
	"upsert":    "/** absent fields keep their values */ ",
	"delete":    "/** how many were deleted */ ",
}

// method is the signature of a method: positional arguments, options and result.
func (g *generator) method(op catalog.EntityOperation, m catalog.Method, t typeNames) string {
	var parameters []string
	for i, name := range m.Leading {
		parameters = append(parameters, parameter(name, i == len(m.Leading)-1, t))
	}
	for _, name := range op.Arguments {
		parameters = append(parameters, parameter(name, op.Optional, t))
	}
	options := g.options(op, t)
	name := m.Name
	if name == "new" { // else it declares a constructor
		name = quote(name)
	}
	if g.chosen(op.Name) {
		name += "<F extends string = never, W extends Steps<" + t.relation + "> = never, E extends Exclude<" + t.relation + `, "all"> = never>`
		t.model = "Read<" + t.model + ", F, W, E>"
	}
	return name + "(" + strings.Join(append(parameters, options), ", ") + "): " + returned(m.Returns, t) + ";"
}

// chosen reports whether options of an operation decide what its results have: its fields and
// relationships. Then its types have parameters: F, the names of fields, and those of relationships,
// W in texts and E in an object.
func (g *generator) chosen(op string) bool {
	return !g.plain && (slices.Contains(g.params[op], "fields") || slices.Contains(g.params[op], "with"))
}

// parameter is a positional argument of a method.
func parameter(name string, optional bool, t typeNames) string {
	if optional {
		return name + "?: " + argumentType(name, t)
	}
	return name + ": " + argumentType(name, t)
}

// returned is the result type of a method.
func returned(what catalog.Returned, t typeNames) string {
	switch what {
	case catalog.ReturnsPage:
		return "Page<" + t.model + ">"
	case catalog.ReturnsIterator:
		return "Items<" + t.model + ">"
	case catalog.ReturnsList:
		return t.model + "[]"
	case catalog.ReturnsEntity:
		return t.model
	case catalog.ReturnsModel:
		return t.input
	case catalog.ReturnsEntityOrNull:
		return t.model + " | null"
	case catalog.ReturnsNumber:
		return "number"
	case catalog.ReturnsRows:
		return "{ [column: string]: any }[]"
	}
	panic("typegen: a result without a type")
}

// options writes the last parameter of a method: an object, or a set's name. The options of
// pages have a named type, since several methods take them.
func (g *generator) options(op catalog.EntityOperation, t typeNames) string {
	members := g.members(op.Name, t)
	switch {
	case op.Name == "collection":
		choice := ""
		if g.chosen(op.Name) {
			choice = ", F, W, E"
		}
		return "query?: Query<" + t.model + ", " + t.relation + ", " + t.set + choice + "> | " + t.set
	case op.Name == "aggregate":
		return "query?: { " + members + " } | " + t.set
	case members == "":
		return "options?: " + t.set
	}
	return "options?: { " + members + " } | " + t.set
}

// inputs are the inputs of the operations of entities, in the order of the types.
var inputs = []struct {
	name string
	kind func(t typeNames) string
}{
	{"id", text("Id")},
	{"ids", text("Id[]")},
	{"model", written},
	{"models", func(t typeNames) string { return written(t) + "[]" }},
	{"changes", written},
	{"filter", func(t typeNames) string { return "Filter<" + t.model + ">" }},
	{"q", text("string")},
	{"groupBy", groups},
	{"timeZone", text("string")},
	{"having", text("{ [column: string]: any }")},
	{"sum", fieldNames},
	{"avg", fieldNames},
	{"min", fieldNames},
	{"max", fieldNames},
	{"sort", text("Sort")},
	{"limit", text("number")},
	{"page", text("number")},
	{"pageSize", text("number")},
	{"cursor", text("string | null")},
	{"count", text("boolean")},
	{"fields", text("Fields")},
	{"with", func(t typeNames) string { return "With<" + t.model + ", " + t.relation + ">" }},
	{"replace", text("boolean")},
	{"ifVersion", text("number")},
	{"maxAffected", text("number")},
	{"all", text("boolean")},
	{"set", func(t typeNames) string { return t.set }},
}

func text(s string) func(typeNames) string { return func(typeNames) string { return s } }

// argumentType is the type of a member of an input.
func argumentType(name string, t typeNames) string {
	for _, in := range inputs {
		if in.name == name {
			return in.kind(t)
		}
	}
	return "any"
}

// written is the type of an entity as it is written.
func written(t typeNames) string { return t.input }

// ones are the fields and relationships that may have one value.
func ones(t typeNames) string {
	if t.relation == "never" {
		return "Plain<" + t.model + ">"
	}
	return "Plain<" + t.model + "> | Exclude<" + t.relation + `, "all">`
}

// groups are what an aggregate groups by: also times in buckets.
func groups(t typeNames) string { return "Groups<" + ones(t) + ">" }

// fieldNames are names of fields.
func fieldNames(t typeNames) string { return "Names<Plain<" + t.model + ">>" }

// counts are what an aggregate counts, where others take a flag.
func counts(t typeNames) string {
	return "boolean | { all?: boolean; distinct?: Names<" + ones(t) + "> }"
}

// members writes the members of an operation's input, except for positional arguments.
func (g *generator) members(op string, t typeNames) string {
	var out []string
	known, _ := catalog.EntityOperationNamed(op)
	for _, in := range inputs {
		if slices.Contains(g.params[op], in.name) && !slices.Contains(known.Arguments, in.name) {
			kind := in.kind
			switch {
			case op == "aggregate" && in.name == "count":
				kind = counts
			case in.name == "fields" && g.chosen(op):
				kind = text("F | readonly F[]")
			case in.name == "with" && g.chosen(op):
				kind = func(t typeNames) string { return "With<" + t.model + ", " + t.relation + ", W, E>" }
			}
			out = append(out, in.name+"?: "+kind(t))
		}
	}
	return strings.Join(out, "; ")
}
