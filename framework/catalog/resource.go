package catalog

import (
	"encoding/json"

	"github.com/koan-go/koan/framework/exposure"
)

// FieldType is the type of a field as JSON and scripts see it.
type FieldType string

const (
	TypeString  FieldType = "string"
	TypeText    FieldType = "text" // a string without a short limit
	TypeInt     FieldType = "int"  // a JSON number; a string beyond 2^53
	TypeFloat   FieldType = "float"
	TypeBool    FieldType = "bool"
	TypeTime    FieldType = "time" // RFC 3339 UTC
	TypeEnum    FieldType = "enum"
	TypeUUID    FieldType = "uuid"
	TypeID      FieldType = "id" // a key or a reference to one: always a string outside
	TypeJSON    FieldType = "json"
	TypeBytes   FieldType = "bytes"   // base64
	TypeDecimal FieldType = "decimal" // a JSON string
)

// Resource is the neutral description of an entity. Types, validation, bindings,
// search, REST and OpenAPI read Resources and Operations and nothing else.
type Resource struct {
	Name        string // Go and TypeScript name: "PantryItem"
	Description string
	Key         Field // the id
	Fields      []Field
	Edges       []Edge
	Sets        []string // names, and patterns that end in "*"; empty means only "default" and no set type
	ReadOnly    bool
	Versioned   bool   // has an optimistic lock: ifVersion works
	Version     string // name of the field that it counts in, "" for none
	Searchable  bool   // q works
	Exposure    exposure.Mode
	Default     exposure.Mode
	ToolPrefix  string
	Operations  []string // the ops it has, as in ID.Op, in catalog order
}

// Field describes one field of an entity as seen from outside: Name is the
// camelCase JSON name.
type Field struct {
	Name        string
	Description string
	Type        FieldType
	Enum        []string
	Nullable    bool            // null is a value
	Required    bool            // must be given when the entity is created
	Immutable   bool            // may be given at creation only
	ReadOnly    bool            // kept by the system: never written by a caller
	WriteOnly   bool            // never read
	Sensitive   bool            // never read, filtered or sorted by
	Searchable  bool            // q looks into it
	ReadScopes  []string        // needed to know what it has; exists for nobody else, save that it can be written
	Default     json.RawMessage // nil: none, or generated
	Generated   bool            // has a default that is not a constant
	Example     json.RawMessage
	MinLength   *int
	MaxLength   *int
	Min         *float64
	Max         *float64
	Pattern     string
	Opaque      bool            // kept in a form of the app's own: compared as a whole, with equality and null only, and never sorted by
	Edge        string          // for a reference field: the edge that it is the key of
	Schema      json.RawMessage // for TypeJSON: its JSON Schema, if known
}

// Edge is a relationship to another exposed entity.
type Edge struct {
	Name        string // camelCase JSON name, used in `with`
	Description string
	Target      string // resource name
	Many        bool
	Required    bool
	ReadOnly    bool   // it can be read and filtered by; it is written through another entity
	Reference   string // name of the reference field ("assignedUserId"), "" for none
}

// Field gives a field (or the key) by its JSON name, nil if there is none.
func (r *Resource) Field(name string) *Field {
	if r.Key.Name == name {
		return &r.Key
	}
	for i := range r.Fields {
		if r.Fields[i].Name == name {
			return &r.Fields[i]
		}
	}
	return nil
}

// Edge gives an edge by its JSON name, nil if there is none.
func (r *Resource) Edge(name string) *Edge {
	for i := range r.Edges {
		if r.Edges[i].Name == name {
			return &r.Edges[i]
		}
	}
	return nil
}

// Has tells whether the resource has an operation.
func (r *Resource) Has(op string) bool {
	for _, o := range r.Operations {
		if o == op {
			return true
		}
	}
	return false
}
