package toolset

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// verb is what lists say about an operation of entities. What it takes is in the
// operation's own input schema.
type verb struct {
	summary string // of the tool for all entities, whose name is its title
	suffix  string // follows the operation's own title, which names the entity
}

// verbs are the words for the operations of entities.
var verbs = map[string]verb{
	"aggregate": {
		`Groups and computes in the database: {"groupBy":"status","count":true,"sum":"total"}; columns are the groups, count, sumTotal.`,
		".",
	},
	"collection":      {"Lists entities by page: filtered, searched (q), sorted, with related ones (with).", "."},
	"count":           {"Counts what matches a filter.", " by filter."},
	"create":          {"Creates one; conflict if its id or a unique key is taken.", "."},
	"delete":          {"Deletes one by id; returns how many were deleted.", "."},
	"delete-by-query": {"Deletes what matches, or nothing if more than maxAffected do.", "."},
	"delete-many":     {"Deletes by ids; returns how many were deleted.", "."},
	"get-by-id":       {"Returns one by its id.", " by id."},
	"new":             {"A model with defaults, not stored.", ", not stored."},
	"patch":           {"Changes the named fields of one.", "."},
	"update-by-query": {"Changes what matches, or nothing if more than maxAffected do.", "."},
	"upsert":          {"Creates one, or changes the one with the model's id; absent fields stay.", ": new, or with this id; absent fields stay."},
	"upsert-many":     {"Stores several models: all, or none.", ": all or none."},
}

// numberOf returns the schema of an operation's output that is a number; ok is false for
// one that is made of entities.
func numberOf(op string) (s object, ok bool) {
	known, _ := catalog.EntityOperationNamed(op)
	if len(known.Methods) == 0 || known.Methods[0].Returns != catalog.ReturnsNumber {
		return nil, false
	}
	return object{"type": "object", "properties": object{known.Output: simple("integer")}}, true
}

// parameter is how lists show a parameter of an operation of entities.
type parameter struct {
	name   string
	schema object // nil: the operation's own
	about  string // shown by generic tools only: else the entity's declaration says it
}

// parameters are in the order of the lists. Any other is shown with the operation's
// own schema.
var parameters = []parameter{
	{"entity", nil, ""},
	{"id", nil, ""},
	{"ids", nil, ""},
	{"model", simple("object"), ""},
	{"models", listOf("object"), ""},
	{"filter", simple("object"), "{field: value} or {field: {$gte: 1}}"},
	{"changes", simple("object"), ""},
	{"q", simple("string"), "words"},
	{"groupBy", groups(), ""},
	{"timeZone", simple("string"), ""},
	{"sum", names(), ""},
	{"avg", names(), ""},
	{"min", names(), ""},
	{"max", names(), ""},
	{"having", simple("object"), ""},
	{"sort", sorts(), `"-dueAt,name"`},
	{"limit", simple("integer"), ""},
	{"page", simple("integer"), ""},
	{"pageSize", simple("integer"), ""},
	{"cursor", simple("string"), "nextCursor"},
	{"count", simple("boolean"), ""},
	{"fields", names(), `"id,name"`},
	{"with", anyOfSchemas(simple("string"), listOf("string"), simple("object")), `"a,b.c"`},
	{"replace", simple("boolean"), "resets absent fields"},
	{"ifVersion", simple("integer"), "must match"},
	{"maxAffected", simple("integer"), ""},
	{"all", simple("boolean"), ""},
	{"set", simple("string"), ""},
}

// counting is the schema of an aggregate's count.
var counting = anyOfSchemas(simple("boolean"), simple("object"))

// filterHelp explains the filter language.
var filterHelp = `{status: "open", total: {$gte: 10}}: siblings are joined by and. Operators: ` + spaced(catalog.ClassOrder.Operators()) +
	"; texts " + spaced(catalog.ClassText.Beyond(catalog.ClassOrder)) + "; lists " + spaced(catalog.ClassList.Beyond(catalog.ClassJSON)) +
	"; JSON " + spaced(catalog.ClassJSON.Beyond(catalog.ClassWhole)) + ` {"a.b[0]": 1}; ` + spaced(catalog.OperatorNames(catalog.InFilter, catalog.ListFilter)) +
	" [filters], " + spaced(catalog.OperatorNames(catalog.InFilter, catalog.OneFilter)) + ", " + spaced(catalog.OperatorNames(catalog.InFilter, catalog.SearchText)) +
	` "words". Relationships: to-one {product: {name: "x"}}, to-many {lines: {$some: {…}}}, also ` + spaced(catalog.EdgeOperators()[1:]) + "."

func spaced(names []string) string { return strings.Join(names, " ") }

// simple returns the schema of any value of one type. An object has properties, if none
// are named: OpenAI takes a schema without for a mistake.
func simple(kind string) object {
	s := object{"type": kind}
	if kind == "object" {
		s["properties"] = object{}
	}
	return s
}

func described(s object, text string) object {
	if text != "" {
		s["description"] = text
	}
	return s
}

func listOf(kind string) object {
	return object{"type": "array", "items": simple(kind)}
}

// names is the schema of names of fields: separated by commas, or a list.
func names() object { return anyOfSchemas(simple("string"), listOf("string")) }

// sorts is the schema of a sort: names, or a list in which {field, nulls} may stand as well.
func sorts() object {
	return anyOfSchemas(simple("string"), object{"type": "array", "items": anyOf("string", "object")})
}

// groups is the schema of what an aggregate groups by: names, {field, by, as}, or a list
// of both.
func groups() object {
	return anyOfSchemas(simple("string"), simple("object"), object{"type": "array", "items": anyOf("string", "object")})
}

func anyOfSchemas(branches ...object) object { return object{"anyOf": branches} }

// signature is what lists read of an operation's input schema.
type signature struct {
	Properties map[string]json.RawMessage `json:"properties"`
	Required   []string                   `json:"required"`
}

func signatureOf(input json.RawMessage) signature {
	var s signature
	_ = json.Unmarshal(input, &s) // a snapshot has checked that it is JSON
	return s
}

// ordered is an object that keeps the order of its members.
type ordered []namedSchema

type namedSchema struct {
	name   string
	schema object
}

// MarshalJSON implements json.Marshaler.
func (o ordered) MarshalJSON() ([]byte, error) {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(encoded(m.name))
		b.WriteByte(':')
		b.Write(encoded(m.schema))
	}
	b.WriteByte('}')
	return []byte(b.String()), nil
}

// shown returns the schema that lists show for a parameter of an op. own are the
// parameter's schemas, of one entity or several.
func shown(op, name string, own []json.RawMessage, explain bool) object {
	if op == "aggregate" && name == "count" {
		return counting
	}
	if at := place(name); at < len(parameters) && parameters[at].schema != nil {
		if explain {
			return parameters[at].explained()
		}
		return parameters[at].schema
	}
	c := &converter{}
	var branches []any
	for _, schema := range own {
		var doc any
		if json.Unmarshal(schema, &doc) == nil {
			branches = append(branches, doc)
		}
	}
	c.doc = object{"anyOf": branches}
	s := c.convert(c.doc, 0)
	if s == nil {
		return anything("")
	}
	delete(s, "maxItems") // too large to matter to a model
	return s
}

// explained returns a parameter's schema with its description.
func (p parameter) explained() object {
	s := maps.Clone(p.schema)
	if branches, ok := s["anyOf"].([]object); ok {
		first := described(maps.Clone(branches[0]), p.about)
		return anyOfSchemas(append([]object{first}, branches[1:]...)...)
	}
	return described(s, p.about)
}

// place returns a parameter's place in the order of lists.
func place(name string) int {
	at := slices.IndexFunc(parameters, func(p parameter) bool { return p.name == name })
	if at < 0 {
		return len(parameters)
	}
	return at
}
