package restapi

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/koan-go/koan/framework/catalog"
)

// Filters, `with` and `having` refer to each other as entities do, which inputs of tools leave out for
// clients that do not know references. Clients made from the document get all of them as types.

// anyObject admits objects with any members: to generators of clients, one without this has none.
func anyObject() node { return node{"type": "object", "additionalProperties": true} }

func closed(properties node) node {
	return node{"type": "object", "properties": properties, "additionalProperties": false}
}

func anyOf(choices ...any) node { return joinChoices(node{"anyOf": choices}) }

// entityTypes are the components of one entity, "" for those that it has not.
type entityTypes struct{ row, filter, with string }

// nameTypes takes the names of the entities' components, which refer to each other.
func (b *builder) nameTypes(t *table) {
	for _, name := range t.names() {
		e := t.entities[name]
		types := entityTypes{}
		if e.Shown() {
			types.row = b.take(e.Name)
		}
		if e.Readable() {
			types.filter = b.take(e.Name + "Filter")
			if len(readableEdges(e.Resource)) > 0 {
				types.with = b.take(e.Name + "With")
			}
		}
		b.types[e.Name] = types
	}
}

func readableEdges(r *catalog.Resource) []catalog.Edge {
	var out []catalog.Edge
	for _, e := range r.Edges {
		if !e.WriteOnly {
			out = append(out, e)
		}
	}
	return out
}

// readTypes describes the entity's filters, `with` and `having`, and has its operations refer to
// them.
func (b *builder) readTypes(e *entity) {
	types := b.types[e.Name]
	if types.filter != "" {
		b.schemas[types.filter] = b.filter(e.Resource)
	}
	if types.with != "" {
		b.schemas[types.with] = b.with(e.Resource)
	}
	for _, routes := range e.routes {
		for _, r := range routes {
			for member, name := range map[string]string{"filter": types.filter, "with": types.with} {
				if s := memberOf(r.operation, member); s != nil && name != "" {
					b.known[canonical(s)] = name
				}
			}
			if s := memberOf(r.operation, "having"); s != nil {
				b.known[canonical(s)] = b.having()
			}
		}
	}
}

// shared returns the name of a component that entities share, which is made at its first use.
func (b *builder) shared(want string, schema func() node) string {
	name, made := b.common[want]
	if !made {
		name = b.take(want)
		b.common[want] = name
		b.schemas[name] = schema()
	}
	return name
}

// rowOutput returns the schema of a row that the entity's operations return, nil if there is none.
func rowOutput(v *catalog.Sight, entity string) node {
	for _, op := range []string{"get-by-id", "upsert", "patch", "create", "new"} {
		if op := v.Operation(catalog.EntityID(entity, op)); op != nil {
			var row node
			_ = json.Unmarshal(op.Output, &row) // a snapshot has checked that it is JSON
			return row
		}
	}
	for _, op := range []string{"collection", "upsert-many"} {
		if op := v.Operation(catalog.EntityID(entity, op)); op != nil {
			var page struct {
				Properties struct{ Items struct{ Items node } }
			}
			_ = json.Unmarshal(op.Output, &page)
			return page.Properties.Items.Items
		}
	}
	return nil
}

// row has the relationships of a row refer to the entities that they lead to.
func (b *builder) row(r *catalog.Resource, row node) node {
	properties, _ := row["properties"].(node)
	properties = maps.Clone(properties)
	for _, e := range readableEdges(r) {
		if properties[e.Name] == nil {
			continue
		}
		target := b.target(e.Target, func(t entityTypes) string { return t.row })
		properties[e.Name] = anyOf(target, node{"type": "null"})
		if e.Many {
			properties[e.Name] = node{"type": "array", "items": target}
		}
	}
	row = maps.Clone(row)
	row["properties"] = properties
	return row
}

// target returns a component of the entity that a relationship leads to, or any object where the
// caller reaches it in no other way.
func (b *builder) target(entity string, which func(entityTypes) string) node {
	if name := which(b.types[entity]); name != "" {
		return reference(name)
	}
	return anyObject()
}

// filter describes the filter of an entity.
func (b *builder) filter(r *catalog.Resource) node {
	self := b.target(r.Name, func(t entityTypes) string { return t.filter })
	properties := node{}
	for op := range catalog.FilterOperators() {
		if op.Place == catalog.InFilter && (op.Takes != catalog.SearchText || r.Searchable) {
			properties[op.Name] = operand(op.Takes, node{}, self)
		}
	}
	for _, e := range readableEdges(r) {
		target := b.target(e.Target, func(t entityTypes) string { return t.filter })
		if !e.Many {
			properties[e.Name] = anyOf(target, b.exists(), node{"type": "null"})
			continue
		}
		many := node{}
		for _, name := range catalog.EdgeOperators() {
			op, _ := catalog.FilterOperatorNamed(name)
			many[name] = operand(op.Takes, node{}, target)
		}
		properties[e.Name] = closed(many)
	}
	key := r.Key
	key.Type = catalog.TypeID
	for _, f := range append([]catalog.Field{key}, r.Fields...) {
		if class := f.Class(); class != catalog.ClassHidden {
			properties[f.Name] = b.condition(&f, class)
		}
	}
	return closed(properties)
}

// exists describes the operators of a relationship to one.
func (b *builder) exists() node {
	return reference(b.shared("Exists", func() node {
		properties := node{}
		for _, name := range catalog.OperatorNames(catalog.AtEdge) {
			op, _ := catalog.FilterOperatorNamed(name)
			properties[name] = operand(op.Takes, node{}, node{})
		}
		return closed(properties)
	}))
}

// condition describes what a field of a filter takes: a value, or operators.
func (b *builder) condition(f *catalog.Field, class catalog.FieldClass) node {
	value := valueOf(f)
	name := conditionNames[class]
	if name == "" {
		name = catalog.Pascal(string(f.Type))
		if f.Type == catalog.TypeText || f.Type == catalog.TypeEnum {
			name = "String"
		}
		if class == catalog.ClassEqual {
			name += "Equality"
		}
	}
	choices := []any{b.operators(name+"Conditions", class, value)}
	if len(value) > 0 {
		choices = append([]any{value}, choices...)
	}
	if f.Nullable || f.Type == catalog.TypeJSON {
		choices = append(choices, node{"type": "null"})
	}
	return anyOf(choices...)
}

// conditionNames name the classes of fields whose values may be of any type.
var conditionNames = map[catalog.FieldClass]string{catalog.ClassJSON: "Json", catalog.ClassList: "List", catalog.ClassWhole: "Whole"}

// operators returns the component of the operators of a class of fields.
func (b *builder) operators(name string, class catalog.FieldClass, value node) node {
	return reference(b.shared(name, func() node {
		properties := node{}
		for _, operator := range class.Operators() {
			op, _ := catalog.FilterOperatorNamed(operator)
			of := value
			if slices.Contains([]string{"$eq", "$ne"}, operator) && len(value) > 0 {
				of = anyOf(value, node{"type": "null"})
			}
			properties[operator] = operand(op.Takes, of, node{})
		}
		return closed(properties)
	}))
}

// operand describes what an operator takes.
func operand(takes catalog.Operand, value, filter node) node {
	switch takes {
	case catalog.OneValue:
		return value
	case catalog.ListValues:
		return node{"type": "array", "items": value}
	case catalog.TwoValues:
		return node{"type": "array", "items": value, "minItems": 2, "maxItems": 2}
	case catalog.Flag:
		return node{"type": "boolean"}
	case catalog.PartOfText, catalog.SearchText:
		return node{"type": "string"}
	case catalog.ListTexts:
		return node{"type": "array", "items": node{"type": "string"}}
	case catalog.Length:
		return node{"type": "integer", "minimum": 0}
	case catalog.PathObject:
		return anyObject()
	case catalog.OneFilter:
		return filter
	case catalog.ListFilter:
		return node{"type": "array", "items": filter, "minItems": 1}
	}
	panic("restapi: an operand without a schema")
}

// valueOf describes a value that a filter compares a field with, {} for any.
func valueOf(f *catalog.Field) node {
	switch f.Type {
	case catalog.TypeBool:
		return node{"type": "boolean"}
	case catalog.TypeInt:
		if f.BeyondNumbers() {
			return anyOf(node{"type": "integer", "format": "int64"}, node{"type": "string"})
		}
		return node{"type": "integer", "format": "int64"}
	case catalog.TypeFloat:
		return node{"type": "number", "format": "double"}
	case catalog.TypeDecimal:
		return anyOf(node{"type": "string"}, node{"type": "number", "format": "double"})
	case catalog.TypeJSON:
		return node{}
	case catalog.TypeString, catalog.TypeText, catalog.TypeEnum, catalog.TypeTime, catalog.TypeDay, catalog.TypeUUID, catalog.TypeID, catalog.TypeBytes:
	}
	return node{"type": "string"}
}

// with describes which relationships of an entity are read, and what of them.
func (b *builder) with(r *catalog.Resource) node {
	properties := node{}
	for _, e := range readableEdges(r) {
		query := node{"fields": names()}
		if filter := b.types[e.Target].filter; filter != "" {
			query["filter"] = reference(filter)
		}
		if with := b.types[e.Target].with; with != "" {
			query["with"] = reference(with)
		}
		if e.Many {
			query["limit"], query["sort"] = node{"type": "integer", "minimum": 1}, sorts()
		}
		properties[e.Name] = anyOf(node{"type": "boolean", "const": true}, closed(query))
	}
	s := anyOf(node{"type": "string"}, node{"type": "array", "items": node{"type": "string"}}, closed(properties))
	s["description"] = "Relationships to read as well: `a,b.c`, `all`, a list of names, or an object by name."
	return s
}

// names describes names of fields, separated by commas or in a list.
func names() node {
	return anyOf(node{"type": "string"}, node{"type": "array", "items": node{"type": "string"}})
}

// sorts describes a sort: names, or objects that say where nulls go.
func sorts() node {
	by := closed(node{"field": node{"type": "string"}, "nulls": node{"type": "string", "enum": []string{"first", "last"}}})
	by["required"] = []string{"field"}
	return anyOf(node{"type": "string"}, by, node{"type": "array", "items": anyOf(node{"type": "string"}, by)})
}

// having returns the component of a filter over the columns of an aggregate, whose names depend on it.
func (b *builder) having() string {
	return b.shared("Having", func() node {
		text, number, flag, null := node{"type": "string"}, node{"type": "number", "format": "double"}, node{"type": "boolean"}, node{"type": "null"}
		self := reference(b.common["Having"])
		term := b.shared("HavingTerm", func() node {
			operators := b.operators("HavingConditions", catalog.ClassText, anyOf(text, number, flag))
			return anyOf(text, number, flag, null, operators, self, node{"type": "array", "items": self})
		})
		return node{
			"type": "object", "additionalProperties": reference(term),
			"description": "A filter over the columns of the result: `{count: {$gt: 1}}`, `{$or: [...]}`.",
		}
	})
}
