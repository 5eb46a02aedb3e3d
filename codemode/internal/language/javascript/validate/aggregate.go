package validate

import (
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// Names of members that the options of aggregate have.
const (
	groupBy  = "groupBy"
	having   = "having"
	counting = "count"
	distinct = "distinct"
)

var measures = []string{"sum", "avg", "min", "max"}

// result holds the known columns of an aggregate's result.
type result struct {
	names []string
	open  bool // it may have other columns
}

// aggregate checks the options of an aggregate: groups and computed columns name fields,
// sort and having name columns of its result.
func (c *checker) aggregate(e *wire.Entity, arg term) {
	if _, ok := plainText(arg.Expression); ok {
		c.set(e, arg)
		return
	}
	got := result{open: !allMembersKnown(arg.Expression)}
	takes := catalog.EntityInputs("aggregate")
	counted := false
	for key, v := range c.properties(arg) {
		switch {
		case !slices.Contains(takes, key.name):
			c.fail(key.at, "", wire.DiagnosticUnknownOption, "there is no option "+quote(key.name)+didYouMean(suggest(key.name, takes, otherOptions[key.name])), availableNames(takes))
		case key.name == "set":
			c.set(e, v)
		case key.name == "filter":
			c.filter(e, v, 0)
		case key.name == groupBy:
			c.groups(e, &got, v)
		case key.name == counting:
			counted = true
			c.counts(e, &got, v)
		case slices.Contains(measures, key.name):
			c.measure(e, &got, key.name, v)
		}
	}
	if !counted { // the result has a count if nothing else is computed
		got.names = append(got.names, counting)
	}
	if got.open {
		return
	}
	for key, v := range c.properties(arg) {
		switch key.name {
		case having:
			c.having(&got, v, 0)
		case "sort":
			for name, at := range c.listed(v) {
				c.column(&got, strings.TrimPrefix(name, "-"), at)
			}
		}
	}
}

// allMembersKnown reports whether all members of an object literal are known; a missing object has
// none.
func allMembersKnown(e ast.Expression) bool {
	if e == nil {
		return true
	}
	o, ok := e.(*ast.ObjectLiteral)
	if !ok {
		return false
	}
	for _, p := range o.Value {
		switch p := p.(type) {
		case *ast.PropertyShort:
		case *ast.PropertyKeyed:
			if _, ok := literalKey(p); !ok {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// known reports whether an expression is a literal name, or a list of them.
func known(v ast.Expression) bool {
	if list, ok := v.(*ast.ArrayLiteral); ok {
		return !slices.ContainsFunc(list.Value, func(one ast.Expression) bool { return !known(one) })
	}
	_, ok := plainText(v)
	return ok
}

// listed returns the names in "a,b" or ["a", "b"], with the place of each literal.
func (c *checker) listed(v term) iter.Seq2[string, file.Idx] {
	return func(yield func(string, file.Idx) bool) {
		for lit := range c.texts(v) {
			for name := range strings.SplitSeq(lit.value, ",") {
				if name = strings.TrimSpace(name); name != "" && !yield(name, lit.at) {
					return
				}
			}
		}
	}
}

func (c *checker) groups(e *wire.Entity, got *result, v term) {
	if list, ok := v.Expression.(*ast.ArrayLiteral); ok {
		for _, one := range list.Value {
			c.groups(e, got, term{one, v.scope})
		}
		return
	}
	if _, ok := v.Expression.(*ast.ObjectLiteral); ok {
		c.bucket(e, got, v)
		return
	}
	got.open = got.open || !known(v.Expression)
	for name, at := range c.listed(v) {
		c.path(e, name, at)
		got.names = append(got.names, name)
	}
}

// bucket checks {field, by, as}.
func (c *checker) bucket(e *wire.Entity, got *result, o term) {
	texts := map[string]string{}
	for key, v := range c.properties(o) {
		lit, ok := plainText(v.Expression)
		if !ok {
			got.open = true
			continue
		}
		texts[key.name] = lit
		if key.name == "field" {
			c.path(e, lit, v.Idx0())
		}
	}
	got.open = got.open || !allMembersKnown(o.Expression)
	name := texts["as"]
	if name == "" {
		name = texts["field"] + capital(texts["by"])
	}
	got.names = append(got.names, name)
}

// counts checks true, or {all, distinct}.
func (c *checker) counts(e *wire.Entity, got *result, v term) {
	if _, ok := v.Expression.(*ast.ObjectLiteral); !ok {
		_, flag := v.Expression.(*ast.BooleanLiteral)
		got.open = got.open || !flag
		got.names = append(got.names, counting)
		return
	}
	got.open = got.open || !allMembersKnown(v.Expression)
	for key, v := range c.properties(v) {
		switch key.name {
		case "all":
			got.names = append(got.names, counting)
		case distinct:
			c.measure(e, got, distinct, v)
		}
	}
}

func (c *checker) measure(e *wire.Entity, got *result, call string, v term) {
	got.open = got.open || !known(v.Expression)
	for name, at := range c.listed(v) {
		c.path(e, name, at)
		got.names = append(got.names, call+capital(name))
	}
}

func capital(name string) string {
	r, size := utf8.DecodeRuneInString(name)
	if size == 0 {
		return ""
	}
	return string(unicode.ToUpper(r)) + name[size:]
}

// having checks a filter over columns.
func (c *checker) having(got *result, arg term, depth int) {
	if depth > maxDepth {
		return
	}
	if list, ok := c.elements(arg); ok {
		for _, one := range list {
			c.having(got, one, depth+1)
		}
		return
	}
	for key, v := range c.properties(arg) {
		op, _ := catalog.FilterOperatorNamed(key.name)
		switch {
		case op.Place == catalog.InFilter && (op.Takes == catalog.OneFilter || op.Takes == catalog.ListFilter):
			c.having(got, v, depth+1)
		case strings.HasPrefix(key.name, "$"):
			c.operator(key.name, key.at)
		case c.column(got, key.name, key.at):
			for inner := range c.properties(v) {
				if strings.HasPrefix(inner.name, "$") {
					c.operator(inner.name, inner.at)
				}
			}
		}
	}
}

func (c *checker) column(got *result, name string, at file.Idx) bool {
	if slices.Contains(got.names, name) {
		return true
	}
	c.fail(at, "", wire.DiagnosticUnknownField, "the aggregate has no column "+quote(name)+fault.DidYouMean(name, got.names), availableNames(got.names))
	return false
}
