package validate

import (
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

// aggregate finds mistakes in the options of one call of aggregate.
type aggregate struct {
	*options
	entity *wire.Entity
	names  []string // the known columns of the result
	open   bool     // it may have other columns
}

// aggregate checks the options of an aggregate, or the name of a set.
func (o *options) aggregate(e *wire.Entity, arg term) {
	if _, ok := plainText(arg.Expression); ok {
		o.set(e, arg)
		return
	}
	a := &aggregate{options: o, entity: e, open: !allMembersKnown(arg.Expression)}
	a.columns(arg)
	if !a.open {
		a.uses(arg)
	}
}

// columns checks the groups and what is computed, which name fields, and collects the columns of the result.
func (a *aggregate) columns(arg term) {
	takes := catalog.EntityInputs("aggregate")
	counted := false
	for key, v := range a.properties(arg) {
		switch {
		case !slices.Contains(takes, key.name):
			a.fail(key.at, "", wire.DiagnosticUnknownOption, "there is no option "+quote(key.name)+didYouMean(suggest(key.name, takes, otherOptions[key.name])), availableNames(takes))
		case key.name == "set":
			a.set(a.entity, v)
		case key.name == "filter":
			a.filter(a.entity, v, 0)
		case key.name == groupBy:
			a.groups(v)
		case key.name == counting:
			counted = true
			a.counts(v)
		case slices.Contains(measures, key.name):
			a.measure(key.name, v)
		}
	}
	if !counted { // the result has a count if nothing else is computed
		a.names = append(a.names, counting)
	}
}

// uses checks sort and having, which name columns of the result.
func (a *aggregate) uses(arg term) {
	for key, v := range a.properties(arg) {
		switch key.name {
		case having:
			a.having(v, 0)
		case "sort":
			for name, at := range a.sorted(v) {
				a.column(strings.TrimPrefix(name, "-"), at)
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

func (a *aggregate) groups(v term) {
	if list, ok := v.Expression.(*ast.ArrayLiteral); ok {
		for _, one := range list.Value {
			a.groups(term{one, v.scope})
		}
		return
	}
	if _, ok := v.Expression.(*ast.ObjectLiteral); ok {
		a.bucket(v)
		return
	}
	a.open = a.open || !known(v.Expression)
	for name, at := range a.listed(v) {
		a.path(a.entity, name, at)
		a.names = append(a.names, name)
	}
}

// bucket checks {field, by, as}.
func (a *aggregate) bucket(o term) {
	texts := map[string]string{}
	for key, v := range a.properties(o) {
		lit, ok := plainText(v.Expression)
		if !ok {
			a.open = true
			continue
		}
		texts[key.name] = lit
		if key.name == "field" {
			a.path(a.entity, lit, v.Idx0())
		}
	}
	a.open = a.open || !allMembersKnown(o.Expression)
	name := texts["as"]
	if name == "" {
		name = texts["field"] + capital(texts["by"])
	}
	a.names = append(a.names, name)
}

// counts checks true, or {all, distinct}.
func (a *aggregate) counts(v term) {
	if _, ok := v.Expression.(*ast.ObjectLiteral); !ok {
		_, flag := v.Expression.(*ast.BooleanLiteral)
		a.open = a.open || !flag
		a.names = append(a.names, counting)
		return
	}
	a.open = a.open || !allMembersKnown(v.Expression)
	for key, v := range a.properties(v) {
		switch key.name {
		case "all":
			a.names = append(a.names, counting)
		case distinct:
			a.measure(distinct, v)
		}
	}
}

func (a *aggregate) measure(call string, v term) {
	a.open = a.open || !known(v.Expression)
	for name, at := range a.listed(v) {
		a.path(a.entity, name, at)
		a.names = append(a.names, call+capital(name))
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
func (a *aggregate) having(arg term, depth int) {
	if depth > maxDepth {
		return
	}
	if list, ok := a.elements(arg); ok {
		for _, one := range list {
			a.having(one, depth+1)
		}
		return
	}
	for key, v := range a.properties(arg) {
		op, _ := catalog.FilterOperatorNamed(key.name)
		switch {
		case op.Place == catalog.InFilter && (op.Takes == catalog.OneFilter || op.Takes == catalog.ListFilter):
			a.having(v, depth+1)
		case strings.HasPrefix(key.name, "$"):
			a.operator(key.name, key.at)
		case a.column(key.name, key.at):
			for inner := range a.properties(v) {
				if strings.HasPrefix(inner.name, "$") {
					a.operator(inner.name, inner.at)
				}
			}
		}
	}
}

func (a *aggregate) column(name string, at file.Idx) bool {
	if slices.Contains(a.names, name) {
		return true
	}
	a.fail(at, "", wire.DiagnosticUnknownField, "the aggregate has no column "+quote(name)+fault.DidYouMean(name, a.names), availableNames(a.names))
	return false
}
