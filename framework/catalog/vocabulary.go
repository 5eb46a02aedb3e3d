package catalog

import (
	"iter"
	"slices"
	"strings"
)

// This file is the vocabulary of entities: their operations, and the operators of
// filters. Tools, bindings, types, validation and documentation read it. Implementations
// are elsewhere, keyed by name; tests check that none is missing.

// Access says what an operation of entities does with their rows.
type Access uint8

const (
	AccessCompute Access = iota // it answers with numbers that are computed of rows
	AccessRead                  // it answers with rows
	AccessModel                 // it prepares a row that is not stored
	AccessCreate                // it creates rows, and changes none that are there
	AccessStore                 // it creates or changes rows
	AccessDelete
)

// Writes reports whether an operation needs the right to write.
func (a Access) Writes() bool { return a >= AccessModel }

// Returned says what a method of the SDK returns.
type Returned uint8

const (
	ReturnsPage     Returned = iota // {items, page, pageSize, totalCount, nextCursor, truncated}
	ReturnsIterator                 // over entities
	ReturnsList                     // of entities
	ReturnsEntity
	ReturnsEntityOrNull
	ReturnsModel  // an entity that is not stored
	ReturnsNumber // of entities
	ReturnsRows   // with the columns of an aggregate
)

// Method is a method of an entity in the SDK.
type Method struct {
	Name string
	// Leading are members of the operation's input that the method takes before all
	// other arguments; the last one is optional.
	Leading []string
	Returns Returned
}

// EntityOperation is one operation of entities (CONTRACT sections 2 and 3).
type EntityOperation struct {
	Name    string // as in ID.Op and in tools
	Access  Access
	Effects Effects
	// Arguments are the members of the input that methods take by position, before an
	// object of options. All are required, unless Optional is set.
	Arguments []string
	Optional  bool
	Options   []string
	// Output is the member of the output that methods return, "" for all of it.
	Output  string
	Methods []Method // the first one is the operation itself
	Routes  []Route
}

// Route is a route of the REST API to an operation of entities (CONTRACT section 11).
type Route struct {
	Method string // of HTTP
	// Item says that the path ends in the entity's id. Otherwise it is that of all entities,
	// with ":" and Suffix if there is one.
	Item   bool
	Suffix string
	// Body is the member of the input that the request's body is, "" for the whole input, or
	// for a method that has no body.
	Body string
	// Replace sets the member of this name.
	Replace bool
}

// Inputs are the members of the input.
func (o *EntityOperation) Inputs() []string { return slices.Concat(o.Arguments, o.Options) }

// ReturnsRows reports whether the operation returns stored rows.
func (o *EntityOperation) ReturnsRows() bool {
	return slices.Contains([]Returned{ReturnsPage, ReturnsList, ReturnsEntity}, o.Methods[0].Returns)
}

var (
	pageOptions      = []string{"filter", "q", "sort", "page", "pageSize", "cursor", "count", "fields", "with", "set"}
	aggregateOptions = []string{"filter", "groupBy", "timeZone", "count", "sum", "avg", "min", "max", "having", "sort", "limit", "set"}
	boundOptions     = []string{"maxAffected", "all", "set"}

	reading  = Effects{ReadOnly: true, Idempotent: true}
	storing  = Effects{Destructive: true}
	changing = Effects{Destructive: true, Idempotent: true}
)

// entityOperations are all of them, in the order of the contract.
var entityOperations = []EntityOperation{
	{
		Name: "collection", Access: AccessRead, Effects: reading, Options: pageOptions,
		Methods: []Method{
			{"collection", nil, ReturnsPage},
			{"firstPage", []string{"pageSize"}, ReturnsPage},
			{"page", []string{"page", "pageSize"}, ReturnsPage},
			{"each", nil, ReturnsIterator},
			{"all", nil, ReturnsList},
		},
		Routes: []Route{{Method: "GET"}, {Method: "POST", Suffix: "query"}},
	},
	{
		Name: "get-by-id", Access: AccessRead, Effects: reading, Arguments: []string{"id"}, Options: []string{"fields", "with", "set"},
		Methods: []Method{{"getById", nil, ReturnsEntity}, {"findById", nil, ReturnsEntityOrNull}},
		Routes:  []Route{{Method: "GET", Item: true}},
	},
	{
		Name: "count", Access: AccessCompute, Effects: reading, Arguments: []string{"filter"}, Optional: true, Options: []string{"set"},
		Output: "count", Methods: []Method{{"count", nil, ReturnsNumber}},
		Routes: []Route{{Method: "POST", Suffix: "count"}},
	},
	{
		Name: "aggregate", Access: AccessCompute, Effects: reading, Options: aggregateOptions,
		Output: "rows", Methods: []Method{{"aggregate", nil, ReturnsRows}},
		Routes: []Route{{Method: "POST", Suffix: "aggregate"}},
	},
	{
		Name: "new", Access: AccessModel, Effects: reading, Options: []string{"set"},
		Methods: []Method{{"new", nil, ReturnsModel}},
		Routes:  []Route{{Method: "POST", Suffix: "new"}},
	},
	{
		Name: "create", Access: AccessCreate, Effects: Effects{}, Arguments: []string{"model"}, Options: []string{"set"},
		Methods: []Method{{"create", nil, ReturnsEntity}},
		Routes:  []Route{{Method: "POST", Suffix: "create"}},
	},
	{
		Name: "upsert", Access: AccessStore, Effects: storing, Arguments: []string{"model"}, Options: []string{"replace", "ifVersion", "set"},
		Methods: []Method{{"upsert", nil, ReturnsEntity}},
		Routes:  []Route{{Method: "POST", Body: "model"}, {Method: "PUT", Item: true, Body: "model", Replace: true}},
	},
	{
		Name: "upsert-many", Access: AccessStore, Effects: storing, Arguments: []string{"models"}, Options: []string{"set"},
		Output: "items", Methods: []Method{{"upsertMany", nil, ReturnsList}},
		Routes: []Route{{Method: "POST", Suffix: "upsert-many"}},
	},
	{
		Name: "patch", Access: AccessStore, Effects: changing, Arguments: []string{"id", "changes"}, Options: []string{"ifVersion", "set"},
		Methods: []Method{{"patch", nil, ReturnsEntity}},
		Routes:  []Route{{Method: "PATCH", Item: true, Body: "changes"}},
	},
	{
		Name: "update-by-query", Access: AccessStore, Effects: changing, Arguments: []string{"filter", "changes"}, Options: boundOptions,
		Output: "updated", Methods: []Method{{"updateByQuery", nil, ReturnsNumber}},
		Routes: []Route{{Method: "POST", Suffix: "update-by-query"}},
	},
	{
		Name: "delete-by-query", Access: AccessDelete, Effects: changing, Arguments: []string{"filter"}, Options: boundOptions,
		Output: "deleted", Methods: []Method{{"deleteByQuery", nil, ReturnsNumber}},
		Routes: []Route{{Method: "POST", Suffix: "delete-by-query"}},
	},
	{
		Name: "delete", Access: AccessDelete, Effects: changing, Arguments: []string{"id"}, Options: []string{"ifVersion", "set"},
		Output: "deleted", Methods: []Method{{"delete", nil, ReturnsNumber}},
		Routes: []Route{{Method: "DELETE", Item: true}},
	},
	{
		Name: "delete-many", Access: AccessDelete, Effects: changing, Arguments: []string{"ids"}, Options: []string{"set"},
		Output: "deleted", Methods: []Method{{"deleteMany", nil, ReturnsNumber}},
		Routes: []Route{{Method: "POST", Suffix: "delete-many"}},
	},
}

// EntityOperations are all operations of entities, in the order of the contract.
func EntityOperations() iter.Seq[EntityOperation] { return slices.Values(entityOperations) }

// EntityOperationNames returns the names of all operations of entities.
func EntityOperationNames() []string {
	var out []string
	for op := range EntityOperations() {
		out = append(out, op.Name)
	}
	return out
}

// EntityOperationNamed returns an operation by its name; ok is false if there is none.
func EntityOperationNamed(name string) (op EntityOperation, ok bool) {
	for op := range EntityOperations() {
		if op.Name == name {
			return op, true
		}
	}
	return op, false
}

// EntityInputs returns the members of the input of an operation of entities.
func EntityInputs(op string) []string {
	known, _ := EntityOperationNamed(op)
	return known.Inputs()
}

// EntityMethod returns a method of entities by its name, and the operation that it
// calls; ok is false if there is none.
func EntityMethod(name string) (op EntityOperation, m Method, ok bool) {
	for op := range EntityOperations() {
		for _, m := range op.Methods {
			if m.Name == name {
				return op, m, true
			}
		}
	}
	return op, m, false
}

// MethodUsage is how a method of entities is called, "" for none of that name.
func MethodUsage(name string) string {
	op, m, ok := EntityMethod(name)
	if !ok {
		return ""
	}
	arguments := append(slices.Concat(m.Leading, op.Arguments), "{"+strings.Join(op.Options, ", ")+"}")
	return name + "(" + strings.Join(arguments, ", ") + ")"
}

// FieldClass says which filter operators a field has. Bindings carry it as a letter; 0 is
// a field whose class is not known.
type FieldClass byte

const (
	ClassText   FieldClass = 't' // equality, order, and parts of a text
	ClassOrder  FieldClass = 'o' // equality and order
	ClassEqual  FieldClass = 'e' // equality
	ClassJSON   FieldClass = 'j' // null, and what is inside
	ClassList   FieldClass = 'l' // that, and the elements
	ClassWhole  FieldClass = 'w' // null
	ClassPath   FieldClass = 'p' // the value at a path in JSON, of any type
	ClassHidden FieldClass = 'h' // nothing: it is written and never read
)

// OperatorPlace says where in a filter an operator may be used.
type OperatorPlace uint8

const (
	AtField  OperatorPlace = iota
	InFilter               // beside the names of fields and relationships
	AtMany                 // at a relationship to many
	AtEdge                 // at any relationship
)

// Operand is what an operator takes.
type Operand uint8

const (
	OneValue   Operand = iota // a value of the field
	ListValues                // a list of such values
	TwoValues                 // the lowest and the highest
	Flag                      // true or false
	PartOfText                // a string
	ListTexts                 // a list of strings
	Length                    // an integer from 0
	PathObject                // {"a.b[0]": a value or operators}
	OneFilter                 // a filter
	ListFilter                // a list of filters
	SearchText                // words
)

// FilterOperator is one operator of the filter language (CONTRACT section 3).
type FilterOperator struct {
	Name  string
	Takes Operand
	Place OperatorPlace
	// Classes are the letters of the field classes that have it, "" if fields do not have
	// it.
	Classes string
}

// The classes that operators have in common.
const (
	everything = scalars + documents + "w"
	scalars    = ordered + "e"
	ordered    = "top"
	documents  = "jl"
)

// filterOperators are all of them, in the order of the contract.
var filterOperators = []FilterOperator{
	{"$eq", OneValue, AtField, everything},
	{"$ne", OneValue, AtField, everything},
	{"$in", ListValues, AtField, scalars},
	{"$nin", ListValues, AtField, scalars},
	{"$lt", OneValue, AtField, ordered},
	{"$lte", OneValue, AtField, ordered},
	{"$gt", OneValue, AtField, ordered},
	{"$gte", OneValue, AtField, ordered},
	{"$between", TwoValues, AtField, ordered},
	{"$ieq", PartOfText, AtField, "tp"},
	{"$iin", ListTexts, AtField, "tp"},
	{"$contains", PartOfText, AtField, "tp"},
	{"$icontains", PartOfText, AtField, "tp"},
	{"$startsWith", PartOfText, AtField, "tp"},
	{"$endsWith", PartOfText, AtField, "tp"},
	{"$null", Flag, AtField, everything},
	{"$has", OneValue, AtField, "lp"},
	{"$all", ListValues, AtField, "lp"},
	{"$size", Length, AtField, "lp"},
	{"$path", PathObject, AtField, documents},
	{"$and", ListFilter, InFilter, ""},
	{"$or", ListFilter, InFilter, ""},
	{"$nor", ListFilter, InFilter, ""},
	{"$not", OneFilter, InFilter, ""},
	{"$search", SearchText, InFilter, ""},
	{"$some", OneFilter, AtMany, ""},
	{"$every", OneFilter, AtMany, ""},
	{"$none", OneFilter, AtMany, ""},
	{"$exists", Flag, AtEdge, ""},
}

// FilterOperators are all operators, in the order of the contract.
func FilterOperators() iter.Seq[FilterOperator] { return slices.Values(filterOperators) }

// FilterOperatorNamed returns an operator by its name; ok is false if there is none.
func FilterOperatorNamed(name string) (op FilterOperator, ok bool) {
	i := slices.IndexFunc(filterOperators, func(op FilterOperator) bool { return op.Name == name })
	if i < 0 {
		return op, false
	}
	return filterOperators[i], true
}

// OperatorNames returns the names of the operators of a place, and only of those that
// take one of some operands if any are given.
func OperatorNames(place OperatorPlace, takes ...Operand) []string {
	return operatorNames(func(op FilterOperator) bool {
		return op.Place == place && (len(takes) == 0 || slices.Contains(takes, op.Takes))
	})
}

// EdgeOperators returns the names of the operators of a relationship to many.
func EdgeOperators() []string { return slices.Concat(OperatorNames(AtMany), OperatorNames(AtEdge)) }

func operatorNames(keep func(FilterOperator) bool) []string {
	var out []string
	for op := range FilterOperators() {
		if keep(op) {
			out = append(out, op.Name)
		}
	}
	return out
}

// Operators returns the names of the operators of a class of fields, in the order of the
// contract; for class 0 those of all classes. Callers must not change the slice.
func (c FieldClass) Operators() []string { return operatorsByClass[c] }

// Beyond returns the operators of the class that base does not have.
func (c FieldClass) Beyond(base FieldClass) []string {
	return slices.DeleteFunc(slices.Clone(c.Operators()), func(name string) bool { return slices.Contains(base.Operators(), name) })
}

// operatorsByClass is made once, since filters are parsed with every call.
var operatorsByClass = func() map[FieldClass][]string {
	out := map[FieldClass][]string{0: OperatorNames(AtField)}
	for _, c := range []FieldClass{ClassText, ClassOrder, ClassEqual, ClassJSON, ClassList, ClassWhole, ClassPath} {
		out[c] = operatorNames(func(op FilterOperator) bool { return strings.IndexByte(op.Classes, byte(c)) >= 0 })
	}
	return out
}()
