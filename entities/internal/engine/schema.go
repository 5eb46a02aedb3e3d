package engine

import (
	"encoding/json"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
)

// object is a JSON object under construction. encoding/json sorts its keys, so
// that a schema's bytes are always the same.
type object = map[string]any

func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("entities: a schema is not JSON: " + err.Error()) // made of constants and checked values
	}
	return b
}

// input is an object schema that knows no other members.
func input(properties object, required ...string) json.RawMessage {
	s := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return encode(s)
}

func withDescription(s object, text string) object {
	if text != "" {
		s["description"] = text
	}
	return s
}

// fieldSchema is a field's value, on input or output.
func (k *kind) fieldSchema(f *catalog.Field, output bool) object {
	s := object{}
	types := []string{}
	switch f.Type {
	case catalog.TypeBool:
		types = []string{"boolean"}
	case catalog.TypeInt:
		types = []string{"integer"}
		if f.Max == nil || *f.Max > filter.MaxSafe || f.Min == nil || *f.Min < -filter.MaxSafe {
			types = []string{"integer", "string"}
		}
	case catalog.TypeFloat:
		types = []string{"number"}
	case catalog.TypeID:
		types = []string{"string"}
		if !output && k.Entity.Column(f.Name).Storage == descriptor.Int && k.Entity.Column(f.Name).Form == nil {
			types = []string{"string", "integer"}
		}
	case catalog.TypeTime:
		types, s["format"] = []string{"string"}, "date-time"
	case catalog.TypeUUID:
		types, s["format"] = []string{"string"}, "uuid"
	case catalog.TypeBytes:
		types, s["contentEncoding"] = []string{"string"}, "base64"
	case catalog.TypeDecimal:
		types = []string{"string"}
		if !output {
			types = []string{"string", "number"}
		}
	case catalog.TypeJSON:
		return k.jsonSchema(f)
	case catalog.TypeString, catalog.TypeText, catalog.TypeEnum:
		types = []string{"string"}
	}
	if !output {
		limits(s, f)
	}
	if f.Type == catalog.TypeEnum {
		values := make([]any, 0, len(f.Enum)+1)
		for _, v := range f.Enum {
			values = append(values, v)
		}
		if f.Nullable {
			values = append(values, nil)
		}
		s["enum"] = values
	}
	if f.Nullable {
		types = append(types, "null")
	}
	s["type"] = types
	if len(types) == 1 {
		s["type"] = types[0]
	}
	return k.annotate(s, f, output)
}

func limits(s object, f *catalog.Field) {
	if f.MinLength != nil {
		s["minLength"] = *f.MinLength
	}
	if f.MaxLength != nil {
		s["maxLength"] = *f.MaxLength
	}
	if f.Pattern != "" {
		s["pattern"] = f.Pattern
	}
	if f.Min != nil {
		s["minimum"] = *f.Min
	}
	if f.Max != nil {
		s["maximum"] = *f.Max
	}
}

func (k *kind) annotate(s object, f *catalog.Field, output bool) object {
	if output {
		return withDescription(s, f.Description)
	}
	if f.Default != nil {
		s["default"] = f.Default
	}
	if f.Example != nil {
		s["examples"] = []any{f.Example}
	}
	if f.ReadOnly {
		s["readOnly"] = true
	}
	if f.WriteOnly || f.Sensitive {
		s["writeOnly"] = true
	}
	return withDescription(s, f.Description)
}

func (k *kind) jsonSchema(f *catalog.Field) object {
	s := object{}
	if f.Schema != nil && string(f.Schema) != "true" {
		s["anyOf"] = []any{f.Schema}
		if f.Nullable {
			s["anyOf"] = []any{f.Schema, object{"type": "null"}}
		}
	}
	return withDescription(s, f.Description)
}

// modelProperties are what can stand in a model.
func (k *kind) modelProperties(withID bool) object {
	p := object{}
	if withID {
		p[k.key().Name] = read.IDSchema(&k.Entity.Key)
	}
	for i := range k.Entity.Resource.Fields {
		f := &k.Entity.Resource.Fields[i]
		p[f.Name] = k.fieldSchema(f, false)
	}
	for i := range k.edges {
		e := &k.edges[i]
		s := edgeSchema(e)
		if e.json.ReadOnly {
			s["readOnly"] = true
		}
		if e.json.WriteOnly {
			s["writeOnly"] = true
		}
		p[e.json.Name] = withDescription(s, e.json.Description)
	}
	return p
}

// edgeSchema is what is written to an edge.
func edgeSchema(e *edge) object {
	id := read.IDSchema(&e.target.Entity.Key)
	one := []any{id, object{"type": "object", "required": []string{"id"}, "properties": object{"id": id}}}
	if !e.json.Many {
		if !e.json.Required {
			one = append(one, object{"type": "null"})
		}
		return object{"anyOf": one}
	}
	list := object{"type": "array", "items": object{"anyOf": one}, "maxItems": maxEdgeIDs}
	change := object{"type": "object", "minProperties": 1, "additionalProperties": false, "properties": object{"$add": list, "$remove": list, "$set": list}}
	return object{"anyOf": []any{list, change}}
}

func (k *kind) modelSchema(withID bool) object {
	s := object{"type": "object", "properties": k.modelProperties(withID), "additionalProperties": false}
	if !withID {
		return s
	}
	// Not `required`: a model may name the entity that it changes a little.
	var needed []string
	for _, d := range (&model{}).missing(k) {
		needed = append(needed, strings.TrimPrefix(d.Path, "/"))
	}
	var say []string
	if len(needed) > 0 {
		say = append(say, "Needed to create one: "+strings.Join(needed, ", ")+".")
	}
	if by := k.Entity.UpsertBy; len(by) > 0 {
		say = append(say, "Without id, the one with the same "+strings.Join(by, " and ")+" is changed, if there is one.")
	}
	return withDescription(s, strings.Join(say, " "))
}

// outputSchema is the entity as reads return it; every field may be left out by
// `fields`, and edges are there with `with`.
func (k *kind) outputSchema() object {
	p := object{k.key().Name: object{"type": "string"}}
	for i := range k.Entity.Resource.Fields {
		if f := &k.Entity.Resource.Fields[i]; !f.Sensitive && !f.WriteOnly {
			p[f.Name] = k.fieldSchema(f, true)
		}
	}
	for i := range k.edges {
		switch e := &k.edges[i]; {
		case e.json.WriteOnly:
		case e.json.Many:
			p[e.json.Name] = object{"type": "array"}
		default:
			p[e.json.Name] = object{"type": []string{"object", "null"}}
		}
	}
	return object{"type": "object", "properties": p, "required": []string{k.key().Name}}
}

// pageSchema is a page of entities.
func (k *kind) pageSchema() json.RawMessage {
	return encode(object{"type": "object", "required": []string{"items", "page", "pageSize", "truncated"}, "properties": object{
		"items": object{"type": "array", "items": k.outputSchema()}, "page": object{"type": "integer"}, "pageSize": object{"type": "integer"},
		"totalCount": object{"type": "integer"}, "nextCursor": object{"type": []string{"string", "null"}}, "truncated": object{"type": "boolean"},
	}})
}

func numberSchema(name string) json.RawMessage {
	return encode(object{"type": "object", "required": []string{name}, "properties": object{name: object{"type": "integer", "minimum": 0}}})
}

// rowsSchema is the output of aggregate: the columns depend on the input.
var rowsSchema = encode(object{"type": "object", "required": []string{"rows", "truncated"}, "properties": object{
	"rows": object{"type": "array", "items": object{"type": "object"}}, "truncated": object{"type": "boolean"},
}})
