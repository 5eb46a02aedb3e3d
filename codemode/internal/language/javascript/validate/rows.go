package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// Functions of arrays and iterators over rows: the first argument of callbacks is a row, of
// comparisons both are; the others return rows, or one.
var (
	rowCallbacks   = strings.Fields("map filter forEach find findLast findIndex findLastIndex some every flatMap")
	rowComparisons = strings.Fields("sort toSorted")
	returnRows     = strings.Fields("filter sort toSorted slice reverse toReversed toArray take drop")
	returnRow      = strings.Fields("find findLast at pop shift")
)

// reshape are functions that add members to an object without naming them in an assignment.
var reshape = map[string][]string{
	"Object":  {"assign", "defineProperty", "defineProperties", "setPrototypeOf", "groupBy"},
	"Reflect": {"set", "defineProperty", "setPrototypeOf"},
}

// rowsIn returns the rows that a value is a list of, of kind other for none.
func rowsIn(v value) value {
	if v.kind == rows || v.kind == list && v.method != "aggregate" {
		return value{kind: row, entity: v.entity, method: v.method}
	}
	return value{}
}

// rowMember returns the value of a member of a row. One that the entity has not is reported, unless
// the script may have added it itself.
func (m *members) rowMember(v value, name string, at file.Idx) (got value, subject string, miss func()) {
	e := v.entity
	subject = "row " + e.Name + "." + name
	if target := m.byName[e.Targets[name]]; target != nil {
		got = value{kind: row, entity: target, method: v.method}
		if slices.Contains(e.Many, name) {
			got.kind = rows
		}
	}
	names := append(slices.Clone(e.Fields), e.Edges...)
	if len(e.Fields) == 0 || slices.Contains(names, name) || m.names.anyMember || m.names.members[name] {
		return got, subject, nil
	}
	return got, subject, func() {
		slices.Sort(names)
		m.fail(at, subject, wire.DiagnosticUnknownField, e.Name+" has no field "+quote(name)+fault.DidYouMean(name, names), availableNames(slices.Compact(names)))
	}
}

// ofRows returns what a call of a function of rows returns.
func ofRows(owner value, function string) value {
	switch one := rowsIn(owner); {
	case one.kind != row:
	case slices.Contains(returnRow, function):
		return one
	case slices.Contains(returnRows, function):
		return value{kind: rows, entity: one.entity, method: one.method}
	}
	return value{}
}

// callOfRows walks the arguments of a call of an object's function: the first one may be a callback
// that gets rows.
func (w *expressions) callOfRows(s *scope, e *ast.CallExpression, owner value, function string) {
	one := rowsIn(owner)
	given := []value{one}
	switch {
	case one.kind != row || len(e.ArgumentList) == 0:
		given = nil
	case slices.Contains(rowComparisons, function):
		given = append(given, one)
	case !slices.Contains(rowCallbacks, function):
		given = nil
	}
	for i, argument := range e.ArgumentList {
		if w.given = nil; i == 0 {
			w.given = given
		}
		w.expr(s, argument)
	}
	w.given = nil
}

// parameters declares what a function gets, as far as that is known.
func (w *statements) parameters(s *scope, list []*ast.Binding, given []value) {
	for i, p := range list {
		if i < len(given) && p.Initializer == nil {
			w.target(s, p.Target, given[i], token.LET)
			continue
		}
		w.target(s, p.Target, value{}, 0)
		w.expr(s, p.Initializer)
	}
}
