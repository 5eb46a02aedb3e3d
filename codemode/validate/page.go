package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// pagers are the methods that give a page of entities, which is no array.
var pagers = []string{"collection", "firstPage", "page"}

// ofArrays are the members that scripts look for in a page because they take it
// for an array, or for the page of another library. All else may be there, since
// a script can give an object any member.
var ofArrays = strings.Fields("length map filter forEach find findIndex findLast some every reduce slice sort flatMap join includes concat at push toSorted data results rows records nodes edges total")

// ofPromises are the members that scripts look for in what a call of SDK gives
// because they take it for a promise.
var ofPromises = []string{"then", "catch", "finally"}

// NoPromise says what to do instead of chaining.
const NoPromise = "Calls of SDK are synchronous and give their value itself: write const x = SDK... (await in front of it does no harm); functions of @codemode/servers/* give promises."

const useItems = "The entities of a page are in its `items`; `all` gives an array, `each` goes through all of them."

// given is what a call of an entity's method gives, where something is known of it.
func given(callee value) value {
	if slices.Contains(pagers, callee.method) {
		return value{kind: page, entity: callee.entity, method: callee.method}
	}
	return value{}
}

// pageMember reports what a page does not have. Comparing its length with
// something is no question of whether it is there.
func (c *checker) pageMember(p value, name string, at file.Idx, test bool) (subject string, miss func()) {
	if slices.Contains(ofPromises, name) {
		subject = p.entity.Name + "." + p.method + "()." + name
		return subject, func() {
			c.fail(at, subject, UnknownMethod, p.entity.Name+"."+p.method+" gives a page, not a promise of one: it has no "+quote(name), NoPromise)
		}
	}
	if !slices.Contains(ofArrays, name) {
		return "", nil
	}
	if name != "length" || !test {
		subject = p.entity.Name + "." + p.method + "()." + name
	}
	return subject, func() {
		c.fail(at, subject, UnknownMethod, p.entity.Name+"."+p.method+" gives a page, which has no "+quote(name), useItems)
	}
}

// iterated walks what a script goes through by `for of` or `...`.
func (c *checker) iterated(s *scope, e ast.Expression) {
	if v := c.expr(s, e); v.kind == page {
		c.fail(e.Idx0(), "", UnknownMethod, v.entity.Name+"."+v.method+" gives a page, which cannot be iterated over", useItems)
	}
}
