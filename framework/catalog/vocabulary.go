package catalog

import (
	"iter"
	"slices"
	"strings"
)

// This file is the vocabulary of entities: what a filter can ask. Tools, bindings,
// types, validation and documentation read it. What an operator does stays with those
// that do it, keyed by its name; tests hold that none is missing there.

// FieldClass says what a filter may ask of a field. Bindings carry it as a letter; 0
// stands for a field of which that is not known.
type FieldClass byte

const (
	ClassText   FieldClass = 't' // equality, order, and parts of a text
	ClassOrder  FieldClass = 'o' // equality and order
	ClassEqual  FieldClass = 'e' // equality
	ClassJSON   FieldClass = 'j' // null, and what is inside
	ClassList   FieldClass = 'l' // that, and the elements
	ClassWhole  FieldClass = 'w' // null
	ClassPath   FieldClass = 'p' // what stands at a path in JSON, whatever its type
	ClassHidden FieldClass = 'h' // nothing: it is written and never read
)

// OperatorPlace says where in a filter an operator stands.
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
	// Classes are the letters of the field classes that it fits, "" where it stands at
	// no field.
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

// OperatorNames returns the names of the operators that stand in a place, of those only
// that take one of some operands if any are given.
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

// Operators returns the names of the operators that fields of a class have, in the
// order of the contract; of class 0 all that fields have. Callers must not change it.
func (c FieldClass) Operators() []string { return operatorsByClass[c] }

// Beyond returns the operators that a class has and another one has not.
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
