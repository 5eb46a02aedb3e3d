package catalog

import (
	"encoding/json"
	"slices"

	"github.com/koan-go/koan/framework/auth"
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
	TypeDay     FieldType = "day"  // YYYY-MM-DD, without a time or a zone
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
	Name        string   // Go and TypeScript name: "PantryItem"
	Aliases     []string // what callers may call it when they search
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
	// Cascades says that deleting a row deletes and changes other rows as foreign keys
	// say, whoever deletes it; otherwise only rows that its caller may delete or change.
	Cascades bool
	// Kept says that its rows record what happened: an undo leaves them as they are.
	Kept bool
}

// Field describes one field of an entity as seen from outside: Name is the
// camelCase JSON name.
type Field struct {
	Name        string
	Description string
	Aliases     []string // what callers may call it when they search
	Type        FieldType
	Enum        []string
	Nullable    bool            // null is a value
	Required    bool            // must be given when the entity is created
	Immutable   bool            // may be given at creation only
	ReadOnly    bool            // kept by the system: never written by a caller
	WriteOnly   bool            // never read
	Sensitive   bool            // never read, filtered or sorted by
	Searchable  bool            // q looks into it
	ReadScopes  []string        // needed to read it; callers without them don't see it, but can write it
	Default     json.RawMessage // nil: none, or generated
	Generated   bool            // the app gives it a value where callers leave it out
	Example     json.RawMessage
	MinLength   *int
	MaxLength   *int
	Min         *float64
	Max         *float64
	Pattern     string
	Precision   int             // how many digits a number may have, 0 for any number
	Scale       int             // how many of these may stand behind the point
	Opaque      bool            // kept in a form of the app's own: compared as a whole, with equality and null only, and never sorted by
	Edge        string          // for a reference field: the edge that it is the key of
	Numeric     bool            // for TypeID: the id is kept as an integer, and a number is taken for it
	Wide        bool            // for TypeInt: kept as 64 bits by the app's own choice, so that declarations tell of values beyond 2^53
	Schema      json.RawMessage // for TypeJSON: its JSON Schema, if known
}

// maxSafe is the largest integer that JavaScript and JSON numbers hold exactly.
const maxSafe = 1<<53 - 1

// BeyondNumbers reports whether an integer may be beyond 2^53, where callers see a string of digits.
func (f *Field) BeyondNumbers() bool {
	return f.Type == TypeInt && (f.Max == nil || *f.Max > maxSafe || f.Min == nil || *f.Min < -maxSafe)
}

// Readable reports whether callers read the field, and filter and sort by it.
func (f *Field) Readable() bool { return !f.Sensitive && !f.WriteOnly }

// Edge is a relationship to another exposed entity.
type Edge struct {
	Name        string // camelCase JSON name, used in `with`
	Description string
	Aliases     []string // what callers may call it when they search
	Target      string   // resource name
	Many        bool
	Required    bool
	ReadOnly    bool   // it can be read and filtered by, and is not written from this side
	Immutable   bool   // may be given at creation only
	WriteOnly   bool   // never read: neither `with` nor a filter knows it
	Reference   string // name of the reference field ("assignedUserId"), "" for none
	// Held says whose rows hold the edge, Keys which of their fields do, if there are
	// such fields. Owned says that the links of an edge with a join table belong to this
	// side alone. Sight.edge decides by them who can read and write the edge.
	Held  Holder
	Keys  []Key
	Owned bool
	// Reason says why the edge is ReadOnly, for a caller; "" leaves it to Description.
	Reason string
}

// Holder says whose rows hold an edge: writing the edge changes those.
type Holder string

const (
	HeldHere    Holder = ""        // the entity's own
	HeldThere   Holder = "target"  // the target's
	HeldBetween Holder = "between" // those of a table between the two
)

// Key names a field that holds an edge.
type Key struct {
	Entity string // resource name
	Field  string // JSON name
}

// Field returns a field (or the key) by its JSON name, nil if there is none.
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

// Edge returns an edge by its JSON name, nil if there is none.
func (r *Resource) Edge(name string) *Edge {
	for i := range r.Edges {
		if r.Edges[i].Name == name {
			return &r.Edges[i]
		}
	}
	return nil
}

// Has reports whether the resource has an operation.
func (r *Resource) Has(op string) bool { return slices.Contains(r.Operations, op) }

// does reports whether the resource has an operation with one of some kinds of access.
func (r *Resource) does(access ...Access) bool {
	return slices.ContainsFunc(r.Operations, func(name string) bool {
		op, ok := EntityOperationNamed(name)
		return ok && slices.Contains(access, op.Access)
	})
}

// Readable reports whether some operation reads the entity's rows, so that
// relationships to it can be read too.
func (r *Resource) Readable() bool { return r.does(AccessRead) }

// Updatable reports whether some operation changes the entity's rows.
func (r *Resource) Updatable() bool { return r.does(AccessStore) }

// Deletable reports whether some operation deletes the entity's rows.
func (r *Resource) Deletable() bool { return r.does(AccessDelete) }

// Shown reports whether some operation returns the entity's rows: one that reads them, or
// one that returns what it stored.
func (r *Resource) Shown() bool {
	return slices.ContainsFunc(r.Operations, func(name string) bool {
		op, ok := EntityOperationNamed(name)
		return ok && op.ReturnsRows()
	})
}

// LivesIn reports whether the entity lives in a set.
func (r *Resource) LivesIn(set string) bool {
	if len(r.Sets) == 0 {
		return set == "default"
	}
	return slices.ContainsFunc(r.Sets, func(pattern string) bool { return auth.MatchSet(pattern, set) })
}

// Class returns the class of the field's filter operators.
func (f *Field) Class() FieldClass {
	switch {
	case !f.Readable():
		return ClassHidden
	case f.Opaque && f.Type == TypeJSON:
		return ClassWhole
	case f.Opaque:
		return ClassEqual
	}
	switch f.Type {
	case TypeString, TypeText:
		return ClassText
	case TypeInt, TypeFloat, TypeTime, TypeDay, TypeDecimal, TypeID:
		return ClassOrder
	case TypeEnum, TypeBool, TypeUUID, TypeBytes:
		return ClassEqual
	case TypeJSON:
	}
	var s struct{ Type string }
	if json.Unmarshal(f.Schema, &s) != nil || s.Type == "" || s.Type == "array" { // none, or one that says nothing so simple
		return ClassList
	}
	return ClassJSON
}
