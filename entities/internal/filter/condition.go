package filter

import (
	"slices"
	"strconv"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// condition reads what stands at a field: a value, or an object of operators.
func (p *parser) condition(c *descriptor.Column, f *catalog.Field, v any, at string) node {
	m, ok := v.(map[string]any)
	if !ok {
		return p.equal(c, f, v, at, false)
	}
	if len(m) == 0 {
		p.wrong(at, "a condition needs an operator", "value, or object with an operator", v)
		return nil
	}
	all := &group{}
	allowed := f.Class().Operators()
	for _, key := range sortedKeys(m) {
		here := at + "/" + Escape(key)
		if !p.node(here) {
			return all
		}
		if !slices.Contains(allowed, key) {
			message := "unknown operator " + Quote(key) + fault.DidYouMean(key, allowed)
			if belongsTo(key, catalog.AtField) {
				message = "operator " + key + " does not apply to " + Quote(f.Name) + " of type " + string(f.Type)
			}
			p.fail(fault.Detail{Path: here, Message: message})
			continue
		}
		if n := p.operator(c, f, key, m[key], here); n != nil {
			all.of = append(all.of, n)
		}
	}
	return all.simple()
}

// operator reads an operator that the field has.
func (p *parser) operator(c *descriptor.Column, f *catalog.Field, op string, v any, at string) node {
	if f.Type == catalog.TypeJSON {
		return p.jsonField(c, f, op, v, at)
	}
	return fieldOperators[op](p, c, f, v, at)
}

// null reads the operand of $null: true where a value is missing, and the other way round.
func (p *parser) null(missing node, v any, at string) node {
	yes, ok := v.(bool)
	if !ok {
		p.wrong(at, "$null takes true or false", "boolean", v)
		return nil
	}
	return negated(missing, !yes)
}

func (p *parser) between(c *descriptor.Column, f *catalog.Field, v any, at string) node {
	pair, ok := v.([]any)
	if !ok || len(pair) != 2 {
		p.wrong(at, "$between takes the lowest and the highest value", "array of two values", v)
		return nil
	}
	low, ok1 := p.value(c, f, pair[0], at+"/0")
	high, ok2 := p.value(c, f, pair[1], at+"/1")
	if !ok1 || !ok2 {
		return nil
	}
	return &group{of: []node{&compare{plain{c}, ">=", low}, &compare{plain{c}, "<=", high}}}
}

// equal is equality with a value or, where the field can be null, with null.
func (p *parser) equal(c *descriptor.Column, f *catalog.Field, v any, at string, negate bool) node {
	if f.Type == catalog.TypeJSON {
		return p.jsonField(c, f, "$eq", v, at)
	}
	if v == nil && (f.Nullable || c.Nullable) {
		return negated(&isNull{plain{c}}, negate)
	}
	if list, ok := v.([]any); ok {
		p.wrong(at, "a list of values needs $in", expected(c, f), list)
		return nil
	}
	arg, ok := p.value(c, f, v, at)
	if !ok {
		return nil
	}
	return negated(&compare{equalityColumn(c), "=", arg}, negate)
}

func (p *parser) list(c *descriptor.Column, f *catalog.Field, v any, at string, negate bool) node {
	items, ok := p.items(v, at)
	if !ok {
		return nil
	}
	in := &oneOf{operand: equalityColumn(c)}
	if c.Storage == descriptor.Day {
		in.operand = dayOperand{plain{c}}
	}
	null := false
	for i, item := range items {
		if item == nil && (f.Nullable || c.Nullable) {
			null = true
			continue
		}
		if arg, ok := p.value(c, f, item, at+"/"+strconv.Itoa(i)); ok {
			in.values = append(in.values, arg)
		}
	}
	in.entire = (null || !f.Nullable && !c.Nullable) && entire(f, in.values)
	if null {
		return negated(&group{or: true, of: []node{in, &isNull{plain{c}}}}, negate)
	}
	return negated(in, negate)
}

// listFolded reads a list of texts one of which an operand equals without regard to case.
func (p *parser) listFolded(o operand, v any, at string, text func(item any, at string) (string, bool)) node {
	items, ok := p.items(v, at)
	if !ok {
		return nil
	}
	in := &oneOf{operand: folded{o}}
	for i, item := range items {
		if s, ok := text(item, at+"/"+strconv.Itoa(i)); ok {
			in.values = append(in.values, s)
		}
	}
	return in
}

// entire reports whether a list has every value that a field can have.
func entire(f *catalog.Field, values []any) bool {
	all := len(f.Enum)
	switch f.Type {
	case catalog.TypeBool:
		all = 2
	case catalog.TypeEnum:
	default:
		return false
	}
	different := map[any]bool{}
	for _, v := range values {
		if _, isBytes := v.([]byte); isBytes { // an app's own type
			return false
		}
		different[v] = true
	}
	return all > 0 && len(different) == all
}

// items reads a list of values and counts them.
func (p *report) items(v any, at string) ([]any, bool) {
	items, ok := v.([]any)
	if !ok {
		p.wrong(at, "a list of values is required", "array", v)
		return nil, false
	}
	if p.values += len(items); p.values > MaxValues {
		p.limit(at, "the lists of the filter have too many values", "at most "+strconv.Itoa(MaxValues)+" together")
		return nil, false
	}
	return items, true
}

// text counts a string of the filter.
func (p *report) text(s, at string) bool {
	if p.bytes += len(s); p.bytes > MaxBytes {
		p.limit(at, "the strings of the filter are too long", "at most 262144 bytes together")
		return false
	}
	return true
}

func (p *parser) value(c *descriptor.Column, f *catalog.Field, v any, at string) (any, bool) {
	if s, ok := v.(string); ok && !p.text(s, at) {
		return nil, false
	}
	arg, d := Value(c, f, v, at)
	if d == nil {
		arg, d = Held(c, f, arg, at)
	}
	if d != nil {
		p.fail(*d)
		return nil, false
	}
	return arg, true
}

// part is a text that is looked for in a field: it is bound as it is, since a part
// of a value need not be one.
func (p *parser) part(f *catalog.Field, v any, at string) (string, bool) {
	if s, ok := v.(string); ok && !p.text(s, at) {
		return "", false
	}
	arg, d := Value(&descriptor.Column{Storage: descriptor.Text}, f, v, at)
	if d != nil {
		p.fail(*d)
		return "", false
	}
	return arg.(string), true
}

func negated(n node, yes bool) node {
	if yes {
		return &not{n}
	}
	return n
}
