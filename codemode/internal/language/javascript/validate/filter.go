package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// The operators of filters, by where they may occur.
var (
	logic       = catalog.OperatorNames(catalog.InFilter)
	quantifiers = catalog.EdgeOperators()
	operators   = slices.Concat(catalog.OperatorNames(catalog.AtField), logic, quantifiers)
)

// class returns the class of the field at i.
func class(e *wire.Entity, i int) catalog.FieldClass { return catalog.FieldClass(e.Kind(i)) }

// filters finds mistakes in literal filters.
type filters struct {
	*fields
	*literals
}

// filter checks a filter object.
func (f *filters) filter(e *wire.Entity, arg term, depth int) {
	if depth > maxDepth {
		return
	}
	for key, v := range f.properties(arg) {
		if strings.HasPrefix(key.name, "$") {
			f.logic(e, key, v, depth)
			continue
		}
		f.condition(e, key, v, depth)
	}
}

func (f *filters) logic(e *wire.Entity, key key, v term, depth int) {
	op, ok := catalog.FilterOperatorNamed(key.name)
	switch {
	case !ok:
		f.noOperator(key, logic, operators)
	case op.Place == catalog.InFilter:
		f.operand(e, op, v, depth)
	default:
		f.fail(key.at, "", wire.DiagnosticUnknownOperator, quote(key.name)+" belongs to a field or a relationship", "Write {field: {"+key.name+": ...}}.")
	}
}

// operand checks the filters in an operator's operand.
func (f *filters) operand(e *wire.Entity, op catalog.FilterOperator, v term, depth int) {
	switch op.Takes {
	case catalog.OneFilter:
		f.filter(e, v, depth+1)
	case catalog.ListFilter:
		list, _ := f.elements(v)
		for _, one := range list {
			f.filter(e, one, depth+1)
		}
	}
}

// condition checks the condition on a field or a relationship.
func (f *filters) condition(e *wire.Entity, key key, v term, depth int) {
	switch i := slices.Index(e.Fields, key.name); {
	case i >= 0 && class(e, i) != catalog.ClassHidden:
		f.conditions(class(e, i), key.name, v)
	case slices.Contains(e.Edges, key.name):
		f.related(e, key.name, v, depth)
	case strings.Contains(key.name, "."):
		f.dotted(e, key)
	case key.name == "filter" || key.name == "where":
		f.fail(key.at, "", wire.DiagnosticUnknownField, e.Name+" has no field "+quote(key.name), "This is a filter already: write the fields without "+quote(key.name)+" around them, such as {"+anyField(e)+": ...}.")
	default:
		f.noField(e, key.name, slices.Concat(readable(e), e.Edges), key.at)
	}
}

// anyField returns the name of a field other than the id, if there is one.
func anyField(e *wire.Entity) string {
	names := readable(e)
	if len(names) > 1 {
		return names[1]
	}
	return "id"
}

// dotted reports a path in a filter, which takes names only.
func (f *filters) dotted(e *wire.Entity, key key) {
	first, rest, _ := strings.Cut(key.name, ".")
	if i := slices.Index(e.Fields, first); i >= 0 && class(e, i) != catalog.ClassHidden {
		f.fail(key.at, "", wire.DiagnosticUnknownField, quote(key.name)+" is not a field: a filter looks into "+quote(first)+" with $path", "Write {"+first+": {$path: {"+shown(rest)+": ...}}}.")
		return
	}
	if !slices.Contains(e.Edges, first) {
		f.noField(e, first, slices.Concat(readable(e), e.Edges), key.at)
		return
	}
	inner := "{" + shown(rest) + ": ...}"
	if e.ToMany(first) {
		inner = "{$some: " + inner + "}"
	}
	f.fail(key.at, "", wire.DiagnosticUnknownField, quote(key.name)+" is not a field: a filter names those of a relationship in an object", "Write {"+first+": "+inner+"}.")
}

func shown(name string) string { return strings.Trim(quote(name), "`") }

// conditions checks the operators of one field.
func (f *filters) conditions(of catalog.FieldClass, field string, v term) {
	may := of.Operators()
	for inner := range f.properties(v) {
		switch {
		case slices.Contains(may, inner.name):
		case slices.Contains(operators, inner.name):
			f.fail(inner.at, "", wire.DiagnosticUnknownOperator, quote(inner.name)+" does not apply to "+quote(field), availableNames(may))
		case strings.HasPrefix(inner.name, "$"):
			f.noOperator(inner, may, operators)
		case of == catalog.ClassJSON || of == catalog.ClassList:
			f.fail(inner.at, "", wire.DiagnosticUnknownOperator, "a filter looks into "+quote(field)+" with $path, also for "+quote(inner.name), "Write {"+field+": {$path: {"+shown(inner.name)+": ...}}}.")
		case of != 0: // the field is known not to be an object
			f.noOperator(inner, may, operators)
		}
	}
}

// related checks the condition on a relationship.
func (f *filters) related(e *wire.Entity, edge string, v term, depth int) {
	target, many := f.leadsTo(e, edge), e.ToMany(edge)
	for inner, sub := range f.properties(v) {
		op, known := catalog.FilterOperatorNamed(inner.name)
		quantified := known && op.Place == catalog.AtMany
		switch {
		case known && op.Place == catalog.AtEdge:
		case quantified && (many || e.Kinds == ""):
			if target != nil {
				f.operand(target, op, sub, depth)
			}
		case known && !quantified && (many || e.Kinds != "" && op.Place == catalog.AtField):
			f.misplaced(target, edge, many, op, inner.at)
		case many && strings.HasPrefix(inner.name, "$"):
			f.noOperator(inner, quantifiers, operators)
		case many:
			f.fail(inner.at, "", wire.DiagnosticUnknownOperator, "a relationship to many takes $some, $every, $none or $exists around "+quote(inner.name), "Write {"+edge+": {$some: {"+shown(inner.name)+": ...}}}.")
		case quantified:
			f.fail(inner.at, "", wire.DiagnosticUnknownOperator, quote(inner.name)+" is for relationships to many; "+quote(edge)+" is to one", "Write {"+edge+": {field: ...}}.")
		case target == nil:
		case strings.HasPrefix(inner.name, "$"):
			if e.Kinds != "" || !known {
				f.logic(target, inner, sub, depth+1)
			}
		default:
			f.condition(target, inner, sub, depth+1)
		}
	}
}

// misplaced reports an operator that a relationship does not take, with the condition that may be
// meant: equality is that of the id.
func (f *filters) misplaced(target *wire.Entity, edge string, many bool, op catalog.FilterOperator, at file.Idx) {
	inner, to := "{"+op.Name+": ...}", "one"
	if op.Place == catalog.AtField {
		field := "field"
		if slices.Contains(catalog.ClassEqual.Operators(), op.Name) && target != nil {
			field = target.Fields[0]
		}
		inner = "{" + field + ": " + inner + "}"
	}
	if many {
		inner, to = "{$some: "+inner+"}", "many"
	}
	hint := "Write {" + edge + ": " + inner + "}."
	switch {
	case op.Name == "$null":
		hint = "{" + edge + ": {$exists: false}} is true where there is none."
	case many && slices.Contains(catalog.ClassList.Beyond(catalog.ClassJSON), op.Name): // of a list in one field
		hint = availableNames(quantifiers)
	}
	f.fail(at, "", wire.DiagnosticUnknownOperator, quote(op.Name)+" does not apply to "+quote(edge)+", a relationship to "+to, hint)
}

// noOperator reports an operator that does not exist or does not fit, with those that do.
func (f *filters) noOperator(key key, may, near []string) {
	suggestion := fault.DidYouMean(key.name, may)
	if suggestion == "" {
		suggestion = fault.DidYouMean(key.name, near)
	}
	f.fail(key.at, "", wire.DiagnosticUnknownOperator, "there is no filter operator "+quote(key.name)+suggestion, availableNames(may))
}

// operator reports a name that is not an operator.
func (f *filters) operator(name string, at file.Idx) {
	if !slices.Contains(operators, name) {
		f.noOperator(key{name, at}, catalog.OperatorNames(catalog.AtField), operators)
	}
}
