package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
)

// ofArrays are the members of arrays, and of pages of other libraries, that scripts use on
// a page by mistake. Any other member may exist, since a script can add members to an
// object.
var ofArrays = strings.Fields("length map filter forEach find findIndex findLast some every reduce slice sort flatMap join includes concat at push toSorted data results rows records nodes edges total")

// ofPromises are the members of promises that scripts use on the result of a call by
// mistake.
var ofPromises = []string{"then", "catch", "finally"}

// NoPromise is the hint for members of promises on the result of a call.
const NoPromise = "Calls of SDK are synchronous and return their value: write const x = SDK... (an await before it does no harm); functions of @codemode/servers/* return promises."

// ReturnsPromise is the beginning of what is said of a promise of a module's function that is used as
// if it were the result.
const ReturnsPromise = "functions of @codemode/servers/* return a promise"

// UseItems is the hint for members of arrays on a page.
const UseItems = "The entities of a page are in its `items`; `all` returns an array, `each` iterates over all of them."

// resultOf returns the result of a call of an entity's method, as far as it is known.
func resultOf(callee value) value {
	_, m, ok := catalog.EntityMethod(callee.method)
	if callee.entity == nil || !ok {
		return value{}
	}
	switch m.Returns {
	case catalog.ReturnsPage:
		return value{kind: page, entity: callee.entity, method: callee.method}
	case catalog.ReturnsList, catalog.ReturnsRows:
		return value{kind: list, entity: callee.entity, method: callee.method}
	case catalog.ReturnsIterator:
		return value{kind: rows, entity: callee.entity, method: callee.method}
	case catalog.ReturnsEntity, catalog.ReturnsEntityOrNull:
		return value{kind: row, entity: callee.entity, method: callee.method}
	case catalog.ReturnsModel, catalog.ReturnsNumber: // a model is filled by the script
	}
	return value{}
}

// awaited returns the value of the promise of a module's function.
func awaited(v value) value {
	if op, ok := catalog.EntityOperationNamed(v.method); ok && v.entity != nil && op.Methods[0].Returns == catalog.ReturnsPage {
		return value{kind: page, entity: v.entity, method: v.method}
	}
	return value{}
}

// ofPages are the members of pages that scripts use on an array by mistake. Any other
// member may exist, since a script can add members to an array.
var ofPages = strings.Fields("items totalCount nextCursor pageSize truncated data results rows")

// listMember reports a member that an array does not have.
func (m *members) listMember(v value, name string, at file.Idx) (subject string, miss func()) {
	what := v.entity.Name + "." + v.method
	subject = what + "()." + name
	switch {
	case slices.Contains(ofPromises, name):
		return subject, func() {
			m.fail(at, subject, wire.DiagnosticUnknownMethod, what+" returns an array, not a promise of one: it has no "+quote(name), NoPromise)
		}
	case slices.Contains(ofPages, name):
		return subject, func() {
			m.fail(at, subject, wire.DiagnosticUnknownMethod, what+" returns an array, which has no "+quote(name), "It is the list itself: take its length, index it, or go through it with for...of.")
		}
	}
	return "", nil
}

// pendingMember reports a member that a promise does not have.
func (m *members) pendingMember(v value, name string, at file.Idx) (subject string, miss func()) {
	subject = v.id + "()." + name
	if slices.Contains(ofPromises, name) {
		return subject, nil
	}
	return subject, func() {
		m.fail(at, subject, wire.DiagnosticUnknownMethod, ReturnsPromise+", which has no "+quote(name), "Await it first: (await f(...))."+name+".")
	}
}

// unawaited reports an expression that is the promise of a module's function where the script uses what
// is always the same of all promises.
func (m *members) unawaited(v value, e ast.Expression, what string) value {
	if v.kind == pending {
		m.fail(e.Idx0(), "", wire.DiagnosticUnawaitedPromise, ReturnsPromise+", which "+what, "Await it first.")
	}
	return v
}

// truth walks an expression of which the script tests whether it is true.
func (w *expressions) truth(s *scope, e ast.Expression) {
	w.unawaited(w.test(s, e), e, "is always true")
}

// pageMember reports a member that a page does not have. A comparison of its length is not
// a test for its existence.
func (m *members) pageMember(p value, name string, at file.Idx, test bool) (subject string, miss func()) {
	if slices.Contains(ofPromises, name) {
		subject = p.entity.Name + "." + p.method + "()." + name
		return subject, func() {
			m.fail(at, subject, wire.DiagnosticUnknownMethod, p.entity.Name+"."+p.method+" returns a page, not a promise of one: it has no "+quote(name), NoPromise)
		}
	}
	if !slices.Contains(ofArrays, name) {
		return "", nil
	}
	if name != "length" || !test {
		subject = p.entity.Name + "." + p.method + "()." + name
	}
	return subject, func() {
		m.fail(at, subject, wire.DiagnosticUnknownMethod, p.entity.Name+"."+p.method+" returns a page, which has no "+quote(name), UseItems)
	}
}

// iterated walks the operand of `for of` or `...`, and returns what its elements are.
func (w *expressions) iterated(s *scope, e ast.Expression) value {
	v := w.expr(s, e)
	switch v.kind {
	case page:
		w.fail(e.Idx0(), "", wire.DiagnosticUnknownMethod, v.entity.Name+"."+v.method+" returns a page, which cannot be iterated over", UseItems)
	case pending:
		w.fail(e.Idx0(), "", wire.DiagnosticUnknownMethod, ReturnsPromise+", which cannot be iterated over", "Await it first.")
	}
	return rowsIn(v)
}
