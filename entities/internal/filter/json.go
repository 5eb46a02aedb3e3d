package filter

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// elementType is the type that a field's schema gives the elements of a list: "string",
// "integer", "number" or "boolean"; "" for unknown.
func elementType(f *catalog.Field) string {
	var s struct{ Items struct{ Type oneType } }
	if json.Unmarshal(f.Schema, &s) != nil { // none, or one that says nothing so simple
		return ""
	}
	if _, scalar := jsonTypes[string(s.Items.Type)]; !scalar {
		return ""
	}
	return string(s.Items.Type)
}

// oneType is the type that a schema names, alone or beside null.
type oneType string

// UnmarshalJSON implements json.Unmarshaler.
func (t *oneType) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = oneType(one)
		return nil
	}
	var several []string
	if err := json.Unmarshal(raw, &several); err != nil {
		return err
	}
	if several = slices.DeleteFunc(several, func(name string) bool { return name == "null" }); len(several) == 1 {
		*t = oneType(several[0])
	}
	return nil
}

// place is where something stands in a column that holds JSON.
type place struct {
	column *descriptor.Column
	path   []sqltext.Step
}

func (p place) of(a sqltext.Alias) func(*sqltext.Builder) {
	return func(b *sqltext.Builder) { jsonColumn(b, p.column, func() { b.Column(a, p.column.Name) }) }
}

// typed reads a place as one type; it is null where another one stands.
type typed struct {
	place
	as sqltext.JSONType
}

func (t typed) write(b *sqltext.Builder, a sqltext.Alias) { b.Dialect.JSON(b, t.of(a), t.path, t.as) }

func (t typed) bind(b *sqltext.Builder, v any) { b.Arg(v) }

func (t typed) nullable() bool { return true }

func (t typed) isNull(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	b.Raw("(")
	t.write(b, a)
	b.Raw(") IS ")
	if negate {
		b.Raw("NOT ")
	}
	b.Raw("NULL")
}

// nothing is true where null, or nothing, stands.
type nothing struct{ place }

func (n *nothing) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	if negate {
		b.Raw("NOT ")
	}
	b.Dialect.JSONNull(b, n.of(a), n.path)
}

// element is true where an array with a value stands.
type element struct {
	place
	value any
	as    sqltext.JSONType
}

func (n *element) where(b *sqltext.Builder, a sqltext.Alias, negate bool) {
	b.Dialect.JSONHas(b, n.of(a), n.path, n.value, n.as)
	if negate {
		b.Raw(" IS NOT TRUE")
		return
	}
	b.Raw(" IS TRUE")
}

// jsonField reads an operator of a field that holds JSON.
func (p *parser) jsonField(c *descriptor.Column, f *catalog.Field, op string, v any, at string) node {
	here := place{column: c}
	switch op {
	case "$eq", "$ne":
		if v == nil {
			return negated(&nothing{here}, op == "$ne")
		}
		way := "use $path"
		if f.Class() == catalog.ClassList {
			way = "use $has, $all, $size or $path"
		}
		p.wrong(at, Quote(f.Name)+" can be compared with null only; "+way, "null", v)
		return nil
	case "$path":
		return p.paths(here, v, at)
	}
	return jsonOperators[op](p, here, elementType(f), v, at)
}

// paths reads {"a.b[0]": condition, ...}.
func (p *parser) paths(root place, v any, at string) node {
	m, ok := v.(map[string]any)
	if !ok || len(m) == 0 {
		p.wrong(at, "$path takes an object of paths, each with a condition: {\"a.b[0]\": 1}", "object with a path", v)
		return nil
	}
	all := &group{}
	for _, key := range sortedKeys(m) {
		at := at + "/" + Escape(key)
		if !p.node(at) || !p.text(key, at) {
			return all
		}
		steps, err := ParsePath(key)
		if err != nil {
			p.fail(fault.Detail{Path: at, Message: "invalid path " + Quote(key) + ": " + err.Error()})
			continue
		}
		if n := p.at(place{root.column, steps}, m[key], at); n != nil {
			all.of = append(all.of, n)
		}
	}
	return all.simple()
}

// at reads what stands at a path in a filter: a value, or an object of operators.
func (p *parser) at(here place, v any, at string) node {
	m, ok := v.(map[string]any)
	if !ok {
		return p.jsonEqual(here, v, at, false)
	}
	if len(m) == 0 {
		p.wrong(at, "a condition needs an operator", "value, or object with an operator", v)
		return nil
	}
	all := &group{}
	allowed := catalog.ClassPath.Operators()
	for _, op := range sortedKeys(m) {
		at := at + "/" + Escape(op)
		if !p.node(at) {
			return all
		}
		if !slices.Contains(allowed, op) {
			p.fail(fault.Detail{Path: at, Message: "unknown operator " + Quote(op) + " of a path" + fault.DidYouMean(op, allowed)})
			continue
		}
		if n := jsonOperators[op](p, here, "", m[op], at); n != nil {
			all.of = append(all.of, n)
		}
	}
	return all.simple()
}

func (p *parser) jsonEqual(here place, v any, at string, negate bool) node {
	if v == nil {
		return negated(&nothing{here}, negate)
	}
	arg, as, ok := p.scalar(v, at)
	if !ok {
		return nil
	}
	is := node(&compare{typed{here, as}, "=", arg})
	if n, ok := largeInteger(v); ok {
		is = &group{or: true, of: []node{is, &compare{typed{here, sqltext.JSONNumber}, "=", n}}}
	}
	return negated(is, negate)
}

// largeInteger returns the number that a text stands for in what reads return.
func largeInteger(v any) (int64, bool) {
	s, ok := v.(string)
	if !ok || !IsLargeInteger(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

func (p *parser) jsonList(here place, v any, at string, negate bool) node {
	items, ok := p.items(v, at)
	if !ok {
		return nil
	}
	either := &group{or: true}
	lists := map[sqltext.JSONType]*oneOf{}
	admit := func(as sqltext.JSONType, arg any) {
		if lists[as] == nil {
			lists[as] = &oneOf{operand: typed{here, as}}
			either.of = append(either.of, lists[as])
		}
		lists[as].values = append(lists[as].values, arg)
	}
	for i, item := range items {
		if item == nil {
			either.of = append(either.of, &nothing{here})
			continue
		}
		arg, as, ok := p.scalar(item, at+"/"+strconv.Itoa(i))
		if !ok {
			continue
		}
		admit(as, arg)
		if n, ok := largeInteger(item); ok {
			admit(sqltext.JSONNumber, n)
		}
	}
	return negated(either, negate)
}

func (p *parser) jsonBetween(here place, v any, at string) node {
	pair, ok := v.([]any)
	if !ok || len(pair) != 2 {
		p.wrong(at, "$between takes the lowest and the highest value", "array of two values", v)
		return nil
	}
	low, as, ok1 := p.scalar(pair[0], at+"/0")
	high, as2, ok2 := p.scalar(pair[1], at+"/1")
	if !ok1 || !ok2 {
		return nil
	}
	if as != as2 || as == sqltext.JSONBool {
		p.wrong(at, "$between takes two numbers, or two strings", "two numbers, or two strings", v)
		return nil
	}
	return &group{of: []node{&compare{typed{here, as}, ">=", low}, &compare{typed{here, as}, "<=", high}}}
}

func (p *parser) has(here place, want string, v any, at string) node {
	arg, as, ok := p.scalar(v, at)
	if !ok {
		return nil
	}
	n, isLarge := largeInteger(v)
	switch {
	case isLarge && want == "":
		return &group{or: true, of: []node{&element{here, arg, as}, &element{here, n, sqltext.JSONNumber}}}
	case isLarge && jsonTypes[want] == sqltext.JSONNumber:
		return &element{here, n, sqltext.JSONNumber}
	case want != "" && jsonTypes[want] != as:
		p.wrong(at, "the elements of "+Quote(here.column.Field)+" are of type "+want, want, v)
		return nil
	}
	return &element{here, arg, as}
}

var jsonTypes = map[string]sqltext.JSONType{
	"string": sqltext.JSONText, "integer": sqltext.JSONNumber, "number": sqltext.JSONNumber, "boolean": sqltext.JSONBool,
}

// jsonText checks a text that is compared with what stands in JSON; message says that it
// must be one.
func (p *parser) jsonText(message string, v any, at string) (string, bool) {
	if _, ok := v.(string); !ok {
		p.wrong(at, message, "a string", v)
		return "", false
	}
	arg, _, ok := p.scalar(v, at)
	if !ok {
		return "", false
	}
	return arg.(string), true
}

// scalar checks a value that is compared with what stands in JSON.
func (p *parser) scalar(v any, at string) (arg any, as sqltext.JSONType, ok bool) {
	switch v := v.(type) {
	case string:
		if !p.text(v, at) {
			return nil, 0, false
		}
		if strings.ContainsRune(v, 0) {
			p.wrong(at, "a string must not contain NUL characters", "a string without NUL", v)
			return nil, 0, false
		}
		return v, sqltext.JSONText, true
	case bool:
		return v, sqltext.JSONBool, true
	case json.Number:
		if n, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return n, sqltext.JSONNumber, true
		}
		if x, err := v.Float64(); err == nil {
			return x, sqltext.JSONNumber, true
		}
	}
	p.wrong(at, "a value in JSON can only be compared with a string, a number, true or false", "a string, number or boolean", v)
	return nil, 0, false
}
