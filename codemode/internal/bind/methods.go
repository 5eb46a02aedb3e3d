package bind

import (
	"slices"
	"strings"
	"sync"

	"github.com/koan-go/koan/framework/catalog"
)

// Method is a method of SDK.Entities.<Name> as every language binds it: how its arguments become the input of a call, and
// the call's output what it returns. What comes behind Arguments are the options: an object, whose members are members
// of the input, or a text, which is the member `set`. Members that are not given, or undefined, are left out.
type Method struct {
	Name      string
	Operation string // of the entity, as in a catalog ID
	// Fixed are members of the input that the method sets itself, before all others.
	Fixed []Member
	// Arguments are the members of the input that are given by position.
	Arguments []string
	// Loose says that the last one of Arguments may be left out: an object in its place, with nothing behind it, is the
	// options.
	Loose bool
	// LoneSet says that a text which is the only argument is the options.
	LoneSet bool
	// Output is the member of the call's output that the method returns, "" for all of it.
	Output  string
	Returns catalog.Returned
	// Walks says that the method goes through all pages of the operation's rows (Walk), and returns the rows.
	Walks bool
	// OrNull is the method that returns null where this one throws not_found, "" if there is none.
	OrNull string
}

// Member is a member of a call's input.
type Member struct {
	Name  string
	Value any
}

// fixed are the members of the input that methods set themselves, by the method's name.
var fixed = map[string][]Member{"firstPage": {{"page", 1}}}

// Methods returns the methods of an operation of entities, the operation itself first; nil if there is none of that
// name. The caller must not change them.
func Methods(operation string) []Method { return methods()[operation] }

var methods = sync.OnceValue(func() map[string][]Method {
	out := map[string][]Method{}
	for op := range catalog.EntityOperations() {
		out[op.Name] = methodsOf(op)
	}
	return out
})

func methodsOf(op catalog.EntityOperation) []Method {
	out := make([]Method, 0, len(op.Methods))
	for _, m := range op.Methods {
		b := Method{
			Name: m.Name, Operation: op.Name, Fixed: fixed[m.Name], Arguments: slices.Concat(m.Leading, op.Arguments), Loose: len(m.Leading) > 0, LoneSet: op.Optional,
			Output: op.Output, Returns: m.Returns,
		}
		b.Walks = op.Methods[0].Returns == catalog.ReturnsPage && m.Returns != catalog.ReturnsPage
		if i := slices.IndexFunc(op.Methods, func(m catalog.Method) bool { return m.Returns == catalog.ReturnsEntityOrNull }); i >= 0 && m.Returns == catalog.ReturnsEntity {
			b.OrNull = op.Methods[i].Name
		}
		out = append(out, b)
	}
	return out
}

// The ends of the ids of operations that return pages of rows, and of those that return rows as they are stored.
var (
	pageEnds = ends(func(op catalog.EntityOperation) bool { return op.Methods[0].Returns == catalog.ReturnsPage })
	readEnds = ends(func(op catalog.EntityOperation) bool { return op.Access == catalog.AccessRead })
)

func ends(has func(catalog.EntityOperation) bool) (out []string) {
	for op := range catalog.EntityOperations() {
		if has(op) {
			out = append(out, "."+op.Name)
		}
	}
	return out
}

// ReturnsPage reports whether the operation with an id returns a page of rows.
func ReturnsPage(id string) bool { return endsIn(id, pageEnds) }

// ReturnsRows reports whether the operation with an id returns rows as they are stored.
func ReturnsRows(id string) bool { return endsIn(id, readEnds) }

func endsIn(id string, ends []string) bool {
	for _, end := range ends {
		if strings.HasSuffix(id, end) {
			return true
		}
	}
	return false
}
