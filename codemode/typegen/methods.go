package typegen

import (
	"slices"
	"strings"
)

// generics writes the interfaces of the entities' methods, once for each set of
// methods that an entity has.
func (g *generator) generics() string {
	if len(g.shapes) == 0 {
		return ""
	}
	var b strings.Builder
	if g.brief {
		b.WriteString(briefTypes)
	} else {
		b.WriteString(filterTypes(g.hasOperator, g.alone))
	}
	if len(g.params["aggregate"]) > 0 {
		b.WriteString(aggregateTypes)
	}
	if len(g.params["collection"]) > 0 {
		b.WriteString("  interface Query<T, R extends string, S extends string> { " + g.members("collection", typeNames{"T", "T", "R", "S"}) + " }\n")
	}
	for _, s := range g.shapes {
		ops, extends := s.ops, ""
		if base := g.base(s); base != nil {
			ops = slices.DeleteFunc(slices.Clone(ops), func(op string) bool { return slices.Contains(base.ops, op) })
			extends = " extends " + base.name + "<T, R, S, I>"
		}
		b.WriteString("  interface " + s.name + "<T, R extends string, S extends string, I = T>" + extends + " {\n")
		for _, line := range g.methods(ops, typeNames{"T", "I", "R", "S"}) {
			b.WriteString("    " + line + "\n")
		}
		b.WriteString("  }\n")
	}
	return b.String()
}

// methods are the signatures that ops become, one line each.
func (g *generator) methods(ops []string, t typeNames) []string {
	query := "query?: Query<" + t.model + ", " + t.relation + ", " + t.set + "> | " + t.set
	var out []string
	for _, op := range methodOps(ops) {
		options := g.options(op, t)
		switch op {
		case "collection":
			out = append(out,
				"collection("+query+"): Page<"+t.model+">;",
				"/** pageSize "+pageSizes+" */ firstPage(pageSize?: number, "+query+"): Page<"+t.model+">;",
				"/** page from 1 */ page(page: number, pageSize?: number, "+query+"): Page<"+t.model+">;",
				"/** all items, page by page */ each("+query+"): Items<"+t.model+">;",
				"/** at most 10,000, else it throws */ all("+query+"): "+t.model+"[];")
		case "get-by-id":
			out = append(out,
				"/** throws not_found */ getById(id: Id, "+options+"): "+t.model+";",
				"findById(id: Id, "+options+"): "+t.model+" | null;")
		case "count":
			out = append(out, "count(filter?: Filter<"+t.model+">, "+options+"): number;")
		case "aggregate":
			out = append(out, "/** columns: the groups, count, sumField ... */ aggregate("+strings.Replace(g.options(op, t), "options?", "query?", 1)+"): { [column: string]: any }[];")
		case "new":
			out = append(out, "/** a model with defaults, not stored */ \"new\"("+options+"): "+t.model+";")
		case "upsert":
			out = append(out, "/** absent fields keep their values */ upsert(model: Input<"+t.input+">, "+options+"): "+t.model+";")
		case "upsert-many":
			out = append(out, "upsertMany(models: Input<"+t.input+">[], "+options+"): "+t.model+"[];")
		case "patch":
			out = append(out, "patch(id: Id, changes: Input<"+t.input+">, "+options+"): "+t.model+";")
		case "update-by-query":
			out = append(out, "updateByQuery(filter: Filter<"+t.model+">, changes: Input<"+t.input+">, "+options+"): number;")
		case "delete-by-query":
			out = append(out, "deleteByQuery(filter: Filter<"+t.model+">, "+options+"): number;")
		case "delete":
			out = append(out, "/** how many were deleted */ delete(id: Id, "+options+"): number;")
		case "delete-many":
			out = append(out, "deleteMany(ids: Id[], "+options+"): number;")
		}
	}
	return out
}

const pageSizes = "50, at most 200"

// positional are the inputs that methods take by place.
var positional = map[string][]string{
	"get-by-id": {"id"}, "count": {"filter"}, "upsert": {"model"}, "upsert-many": {"models"}, "patch": {"id", "changes"},
	"update-by-query": {"filter", "changes"}, "delete-by-query": {"filter"}, "delete": {"id"}, "delete-many": {"ids"},
}

// options writes the last parameter of a method: an object, or a set's name.
func (g *generator) options(op string, t typeNames) string {
	members := g.members(op, t)
	if members == "" {
		return "options?: " + t.set
	}
	return "options?: { " + members + " } | " + t.set
}

// inputs are what the operations of entities take, in the order of the types.
var inputs = []struct {
	name string
	kind func(t typeNames) string
}{
	{"filter", func(t typeNames) string { return "Filter<" + t.model + ">" }},
	{"q", text("string")},
	{"groupBy", groups},
	{"having", text("{ [column: string]: any }")},
	{"sum", fieldNames},
	{"avg", fieldNames},
	{"min", fieldNames},
	{"max", fieldNames},
	{"sort", text("Fields")},
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

// members writes what an operation's input may hold, save what the method takes
// by place.
func (g *generator) members(op string, t typeNames) string {
	var out []string
	for _, in := range inputs {
		if slices.Contains(g.params[op], in.name) && !slices.Contains(positional[op], in.name) {
			kind := in.kind
			if op == "aggregate" && in.name == "count" {
				kind = counts
			}
			out = append(out, in.name+"?: "+kind(t))
		}
	}
	return strings.Join(out, "; ")
}
