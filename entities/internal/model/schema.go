package model

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/schema/subschema"
)

// Object is a JSON object under construction. encoding/json sorts its keys, so
// that a schema's bytes are always the same.
type Object = map[string]any

// Encode returns the JSON of what is known to be JSON.
func Encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("entities: a schema is not JSON: " + err.Error()) // made of constants and checked values
	}
	return b
}

// schemas keeps the schemas of a kind, and parts of them, each made at its first use: all that see
// the whole of an entity share them. It is safe for concurrent use.
type schemas struct{ made sync.Map }

func (s *schemas) get(key any, make func() json.RawMessage) json.RawMessage {
	if known, ok := s.made.Load(key); ok {
		return known.(json.RawMessage)
	}
	known, _ := s.made.LoadOrStore(key, make())
	return known.(json.RawMessage)
}

// Of schemas, the keys: of one operation, and of what stands in those of several.
type (
	inputOf        struct{ op string }
	outputOf       struct{ op string }
	propertiesWith struct{ id bool }
	modelOutput    struct{}
)

// input is an object schema that knows no other members.
func input(properties Object, required ...string) json.RawMessage {
	s := Object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		s["required"] = required
	}
	return Encode(s)
}

func withDescription(s Object, text string) Object {
	if text != "" {
		s["description"] = text
	}
	return s
}

// kindSchemas writes the schemas of what operations of a kind take and return.
type kindSchemas struct{ *Kind }

// fieldSchema is a field's value, on input or output.
func (k kindSchemas) fieldSchema(f *catalog.Field, output bool) Object {
	s := Object{}
	types := []string{}
	switch f.Type {
	case catalog.TypeBool:
		types = []string{"boolean"}
	case catalog.TypeInt:
		types = []string{"integer"}
		if f.BeyondNumbers() {
			types = []string{"integer", "string"}
		}
	case catalog.TypeFloat:
		types = []string{"number"}
	case catalog.TypeID:
		types = []string{"string"}
		if !output && k.Entity.Column(f.Name).IsInteger() {
			types = []string{"string", "integer"}
		}
	case catalog.TypeTime:
		types, s["format"] = []string{"string"}, "date-time"
	case catalog.TypeDay:
		types, s["format"] = []string{"string"}, "date"
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

func limits(s Object, f *catalog.Field) {
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

func (k kindSchemas) annotate(s Object, f *catalog.Field, output bool) Object {
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

func (k kindSchemas) jsonSchema(f *catalog.Field) Object {
	s := Object{}
	if f.Schema != nil && string(f.Schema) != "true" {
		own := withLargeIntegers(f.Schema)
		s["anyOf"] = []any{own}
		if f.Nullable {
			s["anyOf"] = []any{own, Object{"type": "null"}}
		}
	}
	return withDescription(s, f.Description)
}

// withLargeIntegers returns a schema in which an integer may be a string of digits, as it is beyond
// 2^53.
func withLargeIntegers(raw json.RawMessage) any {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		panic("entities: the schema of a field is not JSON: " + err.Error()) // it was compiled before
	}
	var widen func(any) any
	widen = func(v any) any {
		s, ok := v.(map[string]any)
		if !ok {
			return v
		}
		s = subschema.Replace(s, widen)
		switch types := s["type"].(type) {
		case string:
			if types == "integer" {
				s["type"] = []any{"integer", "string"}
			}
		case []any:
			if slices.Contains(types, any("integer")) && !slices.Contains(types, any("string")) {
				s["type"] = append(slices.Clone(types), "string")
			}
		}
		return s
	}
	return widen(doc)
}

// hasIntegers reports whether values of a decoded schema may have integers in them.
func hasIntegers(doc any) (found bool) {
	subschema.Each(doc, func(_ string, s map[string]any) {
		types, _ := s["type"].([]any)
		found = found || s["type"] == "integer" || slices.Contains(types, any("integer"))
	})
	return found
}

// modelProperties are what can stand in a model.
func (k kindSchemas) modelProperties(withID bool) json.RawMessage {
	return k.schemas.get(propertiesWith{withID}, func() json.RawMessage { return Encode(k.propertiesOfModels(withID)) })
}

func (k kindSchemas) propertiesOfModels(withID bool) Object {
	p := Object{}
	if withID {
		p[k.KeyField().Name] = withDescription(read.IDSchema(&k.Entity.Key), k.KeyField().Description)
	}
	for i := range k.Entity.Resource.Fields {
		f := &k.Entity.Resource.Fields[i]
		p[f.Name] = k.fieldSchema(f, false)
	}
	for i := range k.Edges {
		e := &k.Edges[i]
		s := edgeSchema(e)
		if e.JSON.ReadOnly {
			s["readOnly"] = true
		}
		if e.JSON.WriteOnly {
			s["writeOnly"] = true
		}
		p[e.JSON.Name] = withDescription(s, e.JSON.Description)
	}
	return p
}

// edgeSchema is what is written to an edge.
func edgeSchema(e *Edge) Object {
	id := read.IDSchema(&e.Target.Entity.Key)
	one := []any{id, Object{"type": "object", "required": []string{"id"}, "properties": Object{"id": id}}}
	if !e.JSON.Many {
		if !e.JSON.Required {
			one = append(one, Object{"type": "null"})
		}
		return Object{"anyOf": one}
	}
	list := Object{"type": "array", "items": Object{"anyOf": one}, "maxItems": maxEdgeIDs}
	change := Object{"type": "object", "minProperties": 1, "additionalProperties": false, "properties": Object{"$add": list, "$remove": list, "$set": list}}
	return Object{"anyOf": []any{list, change}}
}

func (k kindSchemas) modelSchema(withID bool) Object {
	s := Object{"type": "object", "properties": k.modelProperties(withID), "additionalProperties": false}
	if !withID {
		return s
	}
	// Not `required`: a model may name the entity that it changes a little.
	var say []string
	if needed := k.needed(); len(needed) > 0 {
		say = append(say, "Needed to create one: "+strings.Join(needed, ", ")+".")
	}
	if by := k.givenKey(); len(by) > 0 {
		say = append(say, "Without id, the one with the same "+strings.Join(by, " and ")+" is changed, if there is one.")
	}
	return withDescription(s, strings.Join(say, " "))
}

// newModelSchema is that of a model which only creates an entity.
func (k kindSchemas) newModelSchema() Object {
	s := Object{"type": "object", "properties": k.modelProperties(true), "additionalProperties": false}
	if needed := k.needed(); len(needed) > 0 {
		return withDescription(s, "Needed: "+strings.Join(needed, ", ")+".")
	}
	return s
}

// needed are the members that a model which creates an entity must have.
func (k kindSchemas) needed() (names []string) {
	for _, d := range (&Values{}).Missing(k.Kind) {
		names = append(names, strings.TrimPrefix(d.Path, "/"))
	}
	return names
}

// outputSchema is the entity as reads return it; every field may be left out by
// `fields`, and edges are there with `with`.
func (k kindSchemas) outputSchema() json.RawMessage {
	return k.schemas.get(modelOutput{}, func() json.RawMessage { return Encode(k.modelRead()) })
}

func (k kindSchemas) modelRead() Object {
	p := Object{k.KeyField().Name: Object{"type": "string"}}
	for i := range k.Entity.Resource.Fields {
		if f := &k.Entity.Resource.Fields[i]; !f.Sensitive && !f.WriteOnly {
			p[f.Name] = k.fieldSchema(f, true)
		}
	}
	for i := range k.Edges {
		switch e := &k.Edges[i]; {
		case e.JSON.WriteOnly:
		case e.JSON.Many:
			p[e.JSON.Name] = Object{"type": "array"}
		default:
			p[e.JSON.Name] = Object{"type": []string{"object", "null"}}
		}
	}
	return Object{"type": "object", "properties": p, "required": []string{k.KeyField().Name}}
}

// pageSchema is a page of entities.
func (k kindSchemas) pageSchema() json.RawMessage {
	return Encode(Object{"type": "object", "required": []string{"items", "page", "pageSize", "truncated"}, "properties": Object{
		"items": Object{"type": "array", "items": k.outputSchema()}, "page": Object{"type": "integer"}, "pageSize": Object{"type": "integer"},
		"totalCount": Object{"type": "integer"}, "nextCursor": Object{"type": []string{"string", "null"}}, "truncated": Object{"type": "boolean"},
	}})
}

func numberSchema(name string) json.RawMessage {
	return Encode(Object{"type": "object", "required": []string{name}, "properties": Object{name: Object{"type": "integer", "minimum": 0}}})
}

// rowsSchema is the output of aggregate: the columns depend on the input.
var rowsSchema = Encode(Object{"type": "object", "required": []string{"rows", "truncated"}, "properties": Object{
	"rows": Object{"type": "array", "items": Object{"type": "object"}}, "truncated": Object{"type": "boolean"},
}})
