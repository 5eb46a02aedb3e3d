package validate

import (
	"slices"
	"strings"

	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/framework/fault"
)

// The operators of filters (CONTRACT section 3), by where they stand.
var (
	logic       = strings.Fields("$and $or $nor $not $search")
	quantifiers = strings.Fields("$some $every $none $exists")
	equalOps    = strings.Fields("$eq $ne $in $nin $null")
	orderOps    = slices.Concat(equalOps, strings.Fields("$lt $lte $gt $gte $between"))
	textOps     = slices.Concat(orderOps, strings.Fields("$contains $icontains $startsWith $endsWith"))
	jsonOps     = strings.Fields("$eq $ne $null $path")
	listOps     = slices.Concat(jsonOps, strings.Fields("$has $all $size"))
	fieldOps    = slices.Concat(textOps, strings.Fields("$has $all $size $path"))
	operators   = slices.Concat(fieldOps, logic, quantifiers)
)

// operatorsOf returns the operators that a field takes: all, where its kind is not
// known.
func operatorsOf(kind byte) []string {
	switch kind {
	case wire.TextField:
		return textOps
	case wire.OrderField:
		return orderOps
	case wire.EqualField:
		return equalOps
	case wire.JSONField:
		return jsonOps
	case wire.ListField:
		return listOps
	case wire.WholeField:
		return jsonOps[:3]
	}
	return fieldOps
}

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
	switch {
	case key.name == "$not":
		c.filter(e, v, depth+1)
	case key.name == "$search":
	case slices.Contains(logic, key.name):
		list, _ := c.elements(v)
		for _, one := range list {
			c.filter(e, one, depth+1)
		}
	case slices.Contains(operators, key.name):
		c.fail(key.at, "", UnknownOperator, quote(key.name)+" belongs to a field or a relationship", "Write {field: {"+key.name+": ...}}.")
	default:
		c.noOperator(key, logic, operators)
	}
}

// condition checks what stands at a field or a relationship.
func (c *checker) condition(e *wire.Entity, key key, v term, depth int) {
	switch i := slices.Index(e.Fields, key.name); {
	case i >= 0 && e.Kind(i) != wire.HiddenField:
		c.conditions(e.Kind(i), key.name, v)
	case slices.Contains(e.Edges, key.name):
		c.related(e, key.name, v, depth)
	case strings.Contains(key.name, "."):
		c.dotted(e, key)
	default:
		c.noField(e, key.name, slices.Concat(readable(e), e.Edges), key.at)
	}
}

// dotted reports a path where a filter takes names only.
func (c *checker) dotted(e *wire.Entity, key key) {
	first, rest, _ := strings.Cut(key.name, ".")
	if i := slices.Index(e.Fields, first); i >= 0 && e.Kind(i) != wire.HiddenField {
		c.fail(key.at, "", UnknownField, "a filter names fields of JSON with $path", "Write {"+first+": {$path: {"+shown(rest)+": ...}}}.")
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
	c.fail(key.at, "", UnknownField, "a filter names fields of a relationship in an object", "Write {"+first+": "+inner+"}.")
}

func shown(name string) string { return strings.Trim(quote(name), "`") }

// conditions checks the operators of one field.
func (c *checker) conditions(kind byte, field string, v term) {
	may := operatorsOf(kind)
	for inner := range c.properties(v) {
		switch {
		case slices.Contains(may, inner.name):
		case slices.Contains(operators, inner.name):
			c.fail(inner.at, "", UnknownOperator, quote(inner.name)+" does not apply to "+quote(field), has(may))
		case strings.HasPrefix(inner.name, "$"):
			c.noOperator(inner, may, operators)
		case kind == wire.JSONField || kind == wire.ListField:
			c.fail(inner.at, "", UnknownOperator, "a filter looks into "+quote(field)+" with $path", "Write {"+field+": {$path: {"+shown(inner.name)+": ...}}}.")
		case kind != 0: // what is known to be no object
			c.noOperator(inner, may, operators)
		}
	}
}

// related checks what stands at a relationship.
func (c *checker) related(e *wire.Entity, edge string, v term, depth int) {
	target, many := c.leadsTo(e, edge), e.ToMany(edge)
	for inner, sub := range c.properties(v) {
		quantified := slices.Contains(quantifiers, inner.name)
		switch {
		case inner.name == "$exists":
		case quantified && (many || e.Kinds == ""):
			if target != nil {
				c.filter(target, sub, depth+1)
			}
		case many && strings.HasPrefix(inner.name, "$"):
			c.noOperator(inner, quantifiers, operators)
		case many:
			c.fail(inner.at, "", UnknownOperator, "a relationship to many takes $some, $every, $none or $exists around "+quote(inner.name), "Write {"+edge+": {$some: {"+shown(inner.name)+": ...}}}.")
		case quantified:
			c.fail(inner.at, "", UnknownOperator, quote(inner.name)+" is for relationships to many; "+quote(edge)+" is to one", "Write {"+edge+": {field: ...}}.")
		case target == nil:
		case strings.HasPrefix(inner.name, "$"):
			if e.Kinds != "" || !slices.Contains(operators, inner.name) {
				c.logic(target, inner, sub, depth+1)
			}
		default:
			c.condition(target, inner, sub, depth+1)
		}
	}
}

// noOperator reports an operator that is none, with what may stand there.
func (c *checker) noOperator(key key, may, near []string) {
	suggestion := fault.DidYouMean(key.name, may)
	if suggestion == "" {
		suggestion = fault.DidYouMean(key.name, near)
	}
	c.fail(key.at, "", UnknownOperator, "there is no filter operator "+quote(key.name)+suggestion, has(may))
}

// operator reports a name that is no operator at all.
func (c *checker) operator(name string, at file.Idx) {
	if !slices.Contains(operators, name) {
		c.noOperator(key{name, at}, fieldOps, operators)
	}
}
