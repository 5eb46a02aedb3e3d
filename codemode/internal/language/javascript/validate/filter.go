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

// filter checks a filter object.
func (c *checker) filter(e *wire.Entity, arg term, depth int) {
	if depth > maxDepth {
		return
	}
	for key, v := range c.properties(arg) {
		if strings.HasPrefix(key.name, "$") {
			c.logic(e, key, v, depth)
			continue
		}
		c.condition(e, key, v, depth)
	}
}

func (c *checker) logic(e *wire.Entity, key key, v term, depth int) {
	op, ok := catalog.FilterOperatorNamed(key.name)
	switch {
	case !ok:
		c.noOperator(key, logic, operators)
	case op.Place == catalog.InFilter:
		c.operand(e, op, v, depth)
	default:
		c.fail(key.at, "", wire.DiagnosticUnknownOperator, quote(key.name)+" belongs to a field or a relationship", "Write {field: {"+key.name+": ...}}.")
	}
}

// operand checks the filters in an operator's operand.
func (c *checker) operand(e *wire.Entity, op catalog.FilterOperator, v term, depth int) {
	switch op.Takes {
	case catalog.OneFilter:
		c.filter(e, v, depth+1)
	case catalog.ListFilter:
		list, _ := c.elements(v)
		for _, one := range list {
			c.filter(e, one, depth+1)
		}
	}
}

// condition checks the condition on a field or a relationship.
func (c *checker) condition(e *wire.Entity, key key, v term, depth int) {
	switch i := slices.Index(e.Fields, key.name); {
	case i >= 0 && class(e, i) != catalog.ClassHidden:
		c.conditions(class(e, i), key.name, v)
	case slices.Contains(e.Edges, key.name):
		c.related(e, key.name, v, depth)
	case strings.Contains(key.name, "."):
		c.dotted(e, key)
	case key.name == "filter" || key.name == "where":
		c.fail(key.at, "", wire.DiagnosticUnknownField, e.Name+" has no field "+quote(key.name), "This is a filter already: write the fields without "+quote(key.name)+" around them, such as {"+anyField(e)+": ...}.")
	default:
		c.noField(e, key.name, slices.Concat(readable(e), e.Edges), key.at)
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
func (c *checker) dotted(e *wire.Entity, key key) {
	first, rest, _ := strings.Cut(key.name, ".")
	if i := slices.Index(e.Fields, first); i >= 0 && class(e, i) != catalog.ClassHidden {
		c.fail(key.at, "", wire.DiagnosticUnknownField, quote(key.name)+" is not a field: a filter looks into "+quote(first)+" with $path", "Write {"+first+": {$path: {"+shown(rest)+": ...}}}.")
		return
	}
	if !slices.Contains(e.Edges, first) {
		c.noField(e, first, slices.Concat(readable(e), e.Edges), key.at)
		return
	}
	inner := "{" + shown(rest) + ": ...}"
	if e.ToMany(first) {
		inner = "{$some: " + inner + "}"
	}
	c.fail(key.at, "", wire.DiagnosticUnknownField, quote(key.name)+" is not a field: a filter names those of a relationship in an object", "Write {"+first+": "+inner+"}.")
}

func shown(name string) string { return strings.Trim(quote(name), "`") }

// conditions checks the operators of one field.
func (c *checker) conditions(of catalog.FieldClass, field string, v term) {
	may := of.Operators()
	for inner := range c.properties(v) {
		switch {
		case slices.Contains(may, inner.name):
		case slices.Contains(operators, inner.name):
			c.fail(inner.at, "", wire.DiagnosticUnknownOperator, quote(inner.name)+" does not apply to "+quote(field), availableNames(may))
		case strings.HasPrefix(inner.name, "$"):
			c.noOperator(inner, may, operators)
		case of == catalog.ClassJSON || of == catalog.ClassList:
			c.fail(inner.at, "", wire.DiagnosticUnknownOperator, "a filter looks into "+quote(field)+" with $path, also for "+quote(inner.name), "Write {"+field+": {$path: {"+shown(inner.name)+": ...}}}.")
		case of != 0: // the field is known not to be an object
			c.noOperator(inner, may, operators)
		}
	}
}

// related checks the condition on a relationship.
func (c *checker) related(e *wire.Entity, edge string, v term, depth int) {
	target, many := c.leadsTo(e, edge), e.ToMany(edge)
	for inner, sub := range c.properties(v) {
		op, known := catalog.FilterOperatorNamed(inner.name)
		quantified := known && op.Place == catalog.AtMany
		switch {
		case known && op.Place == catalog.AtEdge:
		case quantified && (many || e.Kinds == ""):
			if target != nil {
				c.operand(target, op, sub, depth)
			}
		case known && !quantified && (many || e.Kinds != "" && op.Place == catalog.AtField):
			c.misplaced(target, edge, many, op, inner.at)
		case many && strings.HasPrefix(inner.name, "$"):
			c.noOperator(inner, quantifiers, operators)
		case many:
			c.fail(inner.at, "", wire.DiagnosticUnknownOperator, "a relationship to many takes $some, $every, $none or $exists around "+quote(inner.name), "Write {"+edge+": {$some: {"+shown(inner.name)+": ...}}}.")
		case quantified:
			c.fail(inner.at, "", wire.DiagnosticUnknownOperator, quote(inner.name)+" is for relationships to many; "+quote(edge)+" is to one", "Write {"+edge+": {field: ...}}.")
		case target == nil:
		case strings.HasPrefix(inner.name, "$"):
			if e.Kinds != "" || !known {
				c.logic(target, inner, sub, depth+1)
			}
		default:
			c.condition(target, inner, sub, depth+1)
		}
	}
}

// misplaced reports an operator that a relationship does not take, with the condition that may be
// meant: equality is that of the id.
func (c *checker) misplaced(target *wire.Entity, edge string, many bool, op catalog.FilterOperator, at file.Idx) {
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
	c.fail(at, "", wire.DiagnosticUnknownOperator, quote(op.Name)+" does not apply to "+quote(edge)+", a relationship to "+to, hint)
}

// noOperator reports an operator that does not exist or does not fit, with those that do.
func (c *checker) noOperator(key key, may, near []string) {
	suggestion := fault.DidYouMean(key.name, may)
	if suggestion == "" {
		suggestion = fault.DidYouMean(key.name, near)
	}
	c.fail(key.at, "", wire.DiagnosticUnknownOperator, "there is no filter operator "+quote(key.name)+suggestion, availableNames(may))
}

// operator reports a name that is not an operator.
func (c *checker) operator(name string, at file.Idx) {
	if !slices.Contains(operators, name) {
		c.noOperator(key{name, at}, catalog.OperatorNames(catalog.AtField), operators)
	}
}
