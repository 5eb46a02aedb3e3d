package read

import (
	"encoding/json"
	"sort"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/filter"
	"github.com/koan-go/koan/framework/catalog"
)

// object is a JSON Schema, or a part of one.
type object = map[string]any

// CollectionSchema is the input schema of the operation collection. What it
// refuses DecodeCollection refuses too; the decoder is stricter where a schema
// would have to be long: in relationships and in lists of names.
func CollectionSchema(e *descriptor.Entity, g filter.Graph) json.RawMessage {
	properties := object{
		"filter":   ref("filter"),
		"sort":     names("Fields; `-` before one sorts it downwards: " + quoted("-"+e.Key.Field)),
		"page":     object{"type": "integer", "minimum": 1, "maximum": MaxPage, "default": 1},
		"pageSize": object{"type": "integer", "minimum": 1, "maximum": MaxPageSize, "default": DefaultPageSize},
		"cursor":   object{"description": "Not supported by this build."},
		"count":    object{"type": "boolean", "default": true, "description": "false leaves totalCount out, which is faster."},
		"fields":   fieldsSchema(e),
		"set":      setSchema(),
	}
	if len(searchable(e)) > 0 {
		properties["q"] = object{"type": "string", "maxLength": MaxQuery, "description": "Words to look for."}
	}
	addWith(properties, e, g)
	return inputSchema(properties, nil, filterDefs(e, g))
}

// GetSchema is the input schema of the operation get-by-id. What it refuses
// DecodeGet refuses too.
func GetSchema(e *descriptor.Entity, g filter.Graph) json.RawMessage {
	properties := object{"id": idSchema(&e.Key), "fields": fieldsSchema(e), "set": setSchema()}
	addWith(properties, e, g)
	return inputSchema(properties, []string{"id"}, nil)
}

// CountSchema is the input schema of the operation count. What it refuses
// DecodeCount refuses too.
func CountSchema(e *descriptor.Entity, g filter.Graph) json.RawMessage {
	return inputSchema(object{"filter": ref("filter"), "set": setSchema()}, nil, filterDefs(e, g))
}

func inputSchema(properties object, required []string, defs object) json.RawMessage {
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	if defs != nil {
		s["$defs"] = defs
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic("read: a schema is not JSON: " + err.Error())
	}
	return raw
}

func ref(name string) object { return object{"$ref": "#/$defs/" + name} }

func quoted(s string) string { return "\"" + s + "\"" }

func setSchema() object { return object{"type": "string", "description": "The dataset."} }

func idSchema(c *descriptor.Column) object {
	if c.Storage == descriptor.Int {
		return object{"type": []string{"string", "integer"}}
	}
	return object{"type": "string"}
}

// names is a list of names in either form.
func names(description string) object {
	return object{"type": []string{"string", "array"}, "items": object{"type": "string"}, "minItems": 1, "description": description}
}

func fieldsSchema(e *descriptor.Entity) object {
	return names("Only these of: " + strings.Join(filter.FieldNames(e), ", "))
}

func addWith(properties object, e *descriptor.Entity, g filter.Graph) {
	edges := filter.EdgeNames(e, g)
	if len(edges) == 0 {
		return
	}
	properties["with"] = object{
		"type": []string{"string", "array", "object"}, "items": object{"type": "string"}, "minItems": 1,
		"description": "Relationships to read as well, of: " + strings.Join(edges, ", ") +
			`. "a,b.c", "all", or {edge: {limit, sort, filter, fields, with}}.`,
	}
}

// filterDefs are the definitions that a filter of the entity needs: one for the
// filter, one for each kind of field that it has.
func filterDefs(e *descriptor.Entity, g filter.Graph) object {
	defs, properties := object{}, object{}
	add := func(f *catalog.Field, c *descriptor.Column) {
		name, schema := fieldFilter(f, c)
		if f.Type != catalog.TypeEnum {
			defs[name] = schema
			schema = ref(name)
		}
		properties[f.Name] = schema
	}
	key := e.Resource.Key
	key.Type = catalog.TypeID
	add(&key, &e.Key)
	for i := range e.Resource.Fields {
		f := &e.Resource.Fields[i]
		if c := e.Column(f.Name); filter.Readable(f) && c != nil && f.Name != key.Name {
			add(f, c)
		}
	}
	for _, name := range filter.EdgeNames(e, g) {
		edge := e.Resource.Edge(name)
		if edge.Many {
			properties[name] = object{
				"type": "object", "minProperties": 1, "additionalProperties": false,
				"properties":  object{"$some": plainObject(), "$every": plainObject(), "$none": plainObject(), "$exists": object{"type": "boolean"}},
				"description": "Filters of " + edge.Target + ".",
			}
			continue
		}
		properties[name] = object{"type": []string{"object", "null"}, "description": "A filter of " + edge.Target + "."}
	}
	list := object{"type": "array", "minItems": 1, "items": ref("filter")}
	properties["$and"], properties["$or"], properties["$nor"], properties["$not"] = list, list, list, ref("filter")
	defs["filter"] = object{"type": "object", "properties": properties, "additionalProperties": false}
	return defs
}

func plainObject() object { return object{"type": "object"} }

// fieldFilter is the schema of what may stand at a field, and a name for it that
// equal schemas share.
func fieldFilter(f *catalog.Field, c *descriptor.Column) (string, object) {
	value, types := valueSchema(f, c)
	nullable := (f.Nullable || c.Nullable) && f.Type != catalog.TypeJSON // JSON is compared with null only
	name := string(f.Type)
	if f.Type == catalog.TypeID {
		name += "-" + string(c.Storage)
	}
	orNull := value
	if nullable {
		name += "-or-null"
		types = append(types, "null")
		orNull = withNull(value)
	}
	operators := object{}
	for _, op := range filter.OperatorsOf(f) {
		switch op {
		case "$null":
			operators[op] = object{"type": "boolean"}
		case "$in", "$nin":
			operators[op] = object{"type": "array", "items": orNull}
		case "$between":
			operators[op] = object{"type": "array", "items": value, "minItems": 2, "maxItems": 2}
		case "$eq", "$ne":
			operators[op] = orNull
		default:
			operators[op] = value
		}
	}
	types = append(types, "object")
	sort.Strings(types)
	s := object{"type": types, "properties": operators, "additionalProperties": false, "minProperties": 1}
	if f.Type == catalog.TypeEnum {
		s = object{"anyOf": []object{orNull, {"type": "object", "properties": operators, "additionalProperties": false, "minProperties": 1}}}
	}
	return name, s
}

func withNull(value object) object {
	if enum, ok := value["enum"].([]string); ok {
		all := []any{nil}
		for _, v := range enum {
			all = append(all, v)
		}
		return object{"enum": all}
	}
	out := object{}
	for k, v := range value {
		out[k] = v
	}
	if types, ok := value["type"].([]string); ok {
		out["type"] = append(append([]string{}, types...), "null")
	}
	return out
}

// valueSchema is the schema of one value of a field, and its types.
func valueSchema(f *catalog.Field, c *descriptor.Column) (object, []string) {
	one := func(types ...string) (object, []string) { return object{"type": types}, types }
	switch f.Type {
	case catalog.TypeBool:
		return one("boolean")
	case catalog.TypeInt:
		return one("integer", "string")
	case catalog.TypeFloat:
		return one("number")
	case catalog.TypeDecimal:
		return one("string", "number")
	case catalog.TypeEnum:
		return object{"enum": f.Enum}, nil
	case catalog.TypeJSON:
		return one("null")
	case catalog.TypeTime:
		return object{"type": []string{"string"}, "description": "RFC 3339"}, []string{"string"}
	case catalog.TypeID:
		if c.Storage == descriptor.Int {
			return one("string", "integer")
		}
	case catalog.TypeString, catalog.TypeText, catalog.TypeUUID, catalog.TypeBytes:
	}
	return one("string")
}
