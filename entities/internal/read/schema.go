package read

import (
	"encoding/json"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
)

// object is a JSON Schema, or a part of one.
type object = map[string]any

// CollectionSchema is the input schema of the operation collection. What it
// refuses DecodeCollection refuses too, but for sets; the decoder is stricter
// where a schema would have to be long.
func CollectionSchema(e *descriptor.Entity, g filter.Graph) json.RawMessage {
	properties := object{
		"filter":   filterSchema(e, g),
		"sort":     sortSchema("Fields, of to-one relationships too (`owner.name`); `-` before one sorts it downwards: " + quoted("-"+e.Key.Field)),
		"page":     object{"type": "integer", "minimum": 1, "maximum": maxPage, "default": 1},
		"pageSize": object{"type": "integer", "minimum": 1, "maximum": maxPageSize, "default": defaultPageSize},
		"cursor":   object{"type": []string{"string", "null"}, "maxLength": MaxCursor, "description": "The nextCursor of the page before, with the same filter, q, sort and set; null begins."},
		"count":    object{"type": "boolean", "description": "totalCount: with pages unless false, which is faster; with a cursor only if true."},
		"fields":   fieldsSchema(e, g),
		"set":      SetSchema(&e.Resource),
	}
	if len(filter.Searchable(e)) > 0 {
		properties["q"] = object{"type": "string", "maxLength": filter.MaxQuery, "description": "Words to look for: each starts a word of some text. Best first, unless sorted."}
	}
	addWith(properties, e, g)
	return inputSchema(properties, nil)
}

// GetSchema is the input schema of the operation get-by-id. What it refuses
// DecodeGet refuses too.
func GetSchema(e *descriptor.Entity, g filter.Graph) json.RawMessage {
	properties := object{"id": IDSchema(&e.Key), "fields": fieldsSchema(e, g), "set": SetSchema(&e.Resource)}
	addWith(properties, e, g)
	return inputSchema(properties, []string{"id"})
}

// CountSchema is the input schema of the operation count. What it refuses
// DecodeCount refuses too.
func CountSchema(e *descriptor.Entity, g filter.Graph) json.RawMessage {
	return inputSchema(object{"filter": filterSchema(e, g), "set": SetSchema(&e.Resource)}, nil)
}

func inputSchema(properties object, required []string) json.RawMessage {
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic("read: a schema is not JSON: " + err.Error())
	}
	return raw
}

func quoted(s string) string { return "\"" + s + "\"" }

// SetSchema names the sets of a resource. A set that it does not have is refused
// as unknown_set where sets are opened, not by the decoders.
func SetSchema(r *catalog.Resource) object {
	switch {
	case len(r.Sets) == 0:
		return object{"type": "string", "enum": []string{"default"}}
	case strings.Contains(strings.Join(r.Sets, ""), "*"):
		return object{"type": "string", "description": "The dataset: " + strings.Join(r.Sets, ", ") + "."}
	}
	return object{"type": "string", "enum": r.Sets}
}

// IDSchema is an id as inputs take it: its string form, and the native one.
func IDSchema(c *descriptor.Column) object {
	if c.IsInteger() {
		return object{"type": []string{"string", "integer"}}
	}
	return object{"type": "string"}
}

// names is a list of names in either form.
func names(description string) object {
	return object{"type": []string{"string", "array"}, "items": object{"type": "string"}, "minItems": 1, "description": description}
}

// sortSchema is a sort: names, and objects that say where nulls go.
func sortSchema(description string) object {
	return object{
		"type": []string{"string", "array", "object"}, "items": object{"type": []string{"string", "object"}}, "minItems": 1, "description": description,
		"properties": object{"field": object{"type": "string"}, "nulls": object{"enum": nullPlaces}}, "required": []string{"field"}, "additionalProperties": false,
	}
}

func fieldsSchema(e *descriptor.Entity, g filter.Graph) object {
	about := "Only these of: " + strings.Join(filter.FieldNames(e), ", ")
	if edges := filter.EdgeNames(e, g); len(edges) > 0 {
		about += "; or of related entities: " + quoted(edges[0]+".id")
	}
	return names(about)
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

// filterSchema is one level of a filter: its fields with their types, and the
// relationships. It has no references and does not recurse, since clients differ
// in what they understand of those, and every listed tool pays for its length.
func filterSchema(e *descriptor.Entity, g filter.Graph) object {
	properties := object{}
	add := func(f *catalog.Field, c *descriptor.Column) {
		types := append(valueTypes(f, c), "object")
		if f.Nullable || c.Nullable || f.Type == catalog.TypeJSON {
			types = append(types, "null")
		}
		s := object{"type": types}
		if f.Type == catalog.TypeEnum {
			s["description"] = strings.Join(f.Enum, ", ")
		}
		properties[f.Name] = s
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
		s := object{"type": []string{"object", "null"}, "description": "A filter of " + edge.Target + "."}
		if edge.Many {
			s = object{"type": "object", "minProperties": 1, "description": "$some, $every or $none with a filter of " + edge.Target + ", or $exists."}
		}
		properties[name] = s
	}
	for op := range catalog.FilterOperators() {
		switch {
		case op.Takes == catalog.ListFilter:
			properties[op.Name] = object{"type": "array", "minItems": 1, "items": object{"type": "object"}}
		case op.Takes == catalog.OneFilter && op.Place == catalog.InFilter:
			properties[op.Name] = object{"type": "object"}
		case op.Takes == catalog.SearchText && len(filter.Searchable(e)) > 0:
			properties[op.Name] = object{"type": "string", "maxLength": filter.MaxQuery}
		}
	}
	about := "Each field takes a value, or an object of operators: " + strings.Join(catalog.ClassOrder.Operators(), " ") +
		"; texts also " + strings.Join(catalog.ClassText.Beyond(catalog.ClassOrder), " ")
	lists, documents := jsonFields(e)
	if lists {
		about += "; JSON " + strings.Join(catalog.ClassList.Beyond(catalog.ClassJSON), " ")
	} else if documents {
		about += "; JSON"
	}
	if documents {
		about += " " + strings.Join(catalog.ClassJSON.Beyond(catalog.ClassWhole), " ") + " {\"a.b[0]\": condition}"
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false, "description": about + ". All of them must hold."}
}

// jsonFields reports whether an entity has fields that filters look into, and such
// that may be lists.
func jsonFields(e *descriptor.Entity) (lists, documents bool) {
	for i := range e.Resource.Fields {
		switch e.Resource.Fields[i].Class() {
		case catalog.ClassList:
			lists, documents = true, true
		case catalog.ClassJSON:
			documents = true
		}
	}
	return lists, documents
}

// valueTypes are the JSON types of a field's values.
func valueTypes(f *catalog.Field, c *descriptor.Column) []string {
	switch f.Type {
	case catalog.TypeBool:
		return []string{"boolean"}
	case catalog.TypeInt:
		return []string{"integer", "string"}
	case catalog.TypeFloat:
		return []string{"number"}
	case catalog.TypeDecimal:
		return []string{"string", "number"}
	case catalog.TypeJSON:
		return nil
	case catalog.TypeID:
		if c.IsInteger() {
			return []string{"string", "integer"}
		}
	case catalog.TypeString, catalog.TypeText, catalog.TypeEnum, catalog.TypeTime, catalog.TypeDay, catalog.TypeUUID, catalog.TypeBytes:
	}
	return []string{"string"}
}
