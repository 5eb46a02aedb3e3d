// Package expose has the annotations that ent schemas carry to say what callers
// see of them.
//
// What belongs here: plain annotation values. Not here: any import beyond
// entgo.io/ent/schema, since this package is linked into every app's schema.
package expose

import "entgo.io/ent/schema"

// Names under which ent keeps the annotations.
const (
	EntityName = "KoanEntity"
	FieldName  = "KoanField"
	FilledName = "KoanFilled"
	EdgeName   = "KoanEdge"

	IgnoreCaseName = "KoanIgnoreCase"
)

// Flag is a boolean that can be left open, so that a schema can override a mixin
// either way.
type Flag = *bool

// Yes and No are the values of a Flag.
func Yes() Flag { v := true; return &v }

// No switches something off that a mixin switched on.
func No() Flag { v := false; return &v }

// Sets lists an entity's sets: names, or prefixes that end in "*".
func Sets(names ...string) []string { return names }

// Entity exposes an ent schema. Schemas without it do not exist for callers.
type Entity struct {
	// Description is one or two sentences for people and models.
	Description string `json:"description,omitempty"`
	// Aliases are other words for it; a search of the catalog finds it by them.
	Aliases []string `json:"aliases,omitempty"`
	// Sets are the datasets that the entity lives in; empty means "default".
	Sets []string `json:"sets,omitempty"`
	// ReadOnly removes every mutating operation for callers; the app's own code
	// still writes.
	ReadOnly Flag `json:"readOnly,omitempty"`
	// Operations narrows the operations to these, in the spelling of the tools
	// ("get-by-id"); empty means all.
	Operations []string `json:"operations,omitempty"`
	// Exposure overrides the mode for this entity: "code", "tools" or "full".
	Exposure string `json:"exposure,omitempty"`
	// UpsertBy names the fields of a unique key: one Unique field, or all fields of a
	// unique index, none of them Optional. A model without id that has them all
	// changes the entity that has the same values, where there is one.
	UpsertBy []string `json:"upsertBy,omitempty"`
	// Version names an integer field that counts updates; ifVersion then works.
	Version string `json:"version,omitempty"`
	// ReadScopes are needed for every operation, WriteScopes also for those that
	// write, DeleteScopes also for those that delete. Each may be empty; what writes
	// or deletes and has neither needs the scope entities:write.
	ReadScopes   []string `json:"readScopes,omitempty"`
	WriteScopes  []string `json:"writeScopes,omitempty"`
	DeleteScopes []string `json:"deleteScopes,omitempty"`
	// Cascades lets the entity's foreign keys delete and clear the rows that refer to it, even
	// rows that the caller could not delete directly: rows behind scopes, rows of read-only
	// and hidden entities, and rows that policies hide.
	Cascades Flag `json:"cascades,omitempty"`
	// Undo is No for an entity whose rows record what happened, such as entries of an audit: an
	// undo leaves them as they are, and its result says so.
	Undo Flag `json:"undo,omitempty"`
}

// Name implements schema.Annotation.
func (Entity) Name() string { return EntityName }

// Merge lets a schema's own annotation override that of a mixin, field by field.
func (e Entity) Merge(other schema.Annotation) schema.Annotation {
	var o Entity
	switch v := other.(type) {
	case Entity:
		o = v
	case *Entity:
		o = *v
	default:
		return e
	}
	e.Description = or(o.Description, e.Description)
	e.Exposure = or(o.Exposure, e.Exposure)
	e.Version = or(o.Version, e.Version)
	e.ReadOnly = orFlag(o.ReadOnly, e.ReadOnly)
	e.Cascades = orFlag(o.Cascades, e.Cascades)
	e.Undo = orFlag(o.Undo, e.Undo)
	e.Aliases = orList(o.Aliases, e.Aliases)
	e.Sets = orList(o.Sets, e.Sets)
	e.Operations = orList(o.Operations, e.Operations)
	e.UpsertBy = orList(o.UpsertBy, e.UpsertBy)
	e.ReadScopes = orList(o.ReadScopes, e.ReadScopes)
	e.WriteScopes = orList(o.WriteScopes, e.WriteScopes)
	e.DeleteScopes = orList(o.DeleteScopes, e.DeleteScopes)
	return e
}

// Field says more about a field than ent knows. ent's own Comment is the
// description where none stands here.
type Field struct {
	Description string   `json:"description,omitempty"`
	Aliases     []string `json:"aliases,omitempty"` // other words for it, for a search of the catalog
	Example     any      `json:"example,omitempty"`
	Min         *float64 `json:"min,omitempty"`
	Max         *float64 `json:"max,omitempty"`
	MinLength   *int     `json:"minLength,omitempty"`
	MaxLength   *int     `json:"maxLength,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
	ReadOnly    Flag     `json:"readOnly,omitempty"`   // callers never write it
	WriteOnly   Flag     `json:"writeOnly,omitempty"`  // callers never read it
	Sensitive   Flag     `json:"sensitive,omitempty"`  // never read, filtered or sorted by
	Searchable  Flag     `json:"searchable,omitempty"` // q looks into it
	Immutable   Flag     `json:"immutable,omitempty"`  // callers write it at creation only
	// Fold says what searches (q, $search, $icontains, $ieq and $iin) do not distinguish, beside upper
	// and lower case: Accents. An entity that is searched in such a field has no index of words.
	Fold string `json:"fold,omitempty"`
	// ReadScopes are needed to read the field. Callers without them don't see that it
	// exists, but those who may write the entity can write it.
	ReadScopes []string `json:"readScopes,omitempty"`
	// Comparable says of a field with a Go type or ValueScanner of the app's own
	// that its column orders and matches as what callers see does: then it can be
	// sorted by and searched in. Without it such a field is compared as a whole.
	Comparable Flag `json:"comparable,omitempty"`
	// Day says of a field.Time that it is a day of the calendar: YYYY-MM-DD for callers, a
	// DATE on PostgreSQL. In Go its value is midnight in UTC; of any other time that is set,
	// the day is the date that the time has in its own location. A field.Time whose SchemaType
	// on PostgreSQL is date is a day without it.
	Day Flag `json:"day,omitempty"`
	// Decimal says of a field with a Go type or ValueScanner of the app's own that
	// it is a decimal: a string for callers, compared as a number. Fields whose
	// SchemaType is numeric or decimal need it not.
	Decimal Flag `json:"decimal,omitempty"`
}

// Accents is a value of Field.Fold: é is e, ø is o, ł is l.
const Accents = "accents"

// Name implements schema.Annotation.
func (Field) Name() string { return FieldName }

// Filled says that a hook of the app gives a field a value where callers leave it out: no new row
// needs it, and one that is replaced keeps it. The hook sees a null that was sent as a cleared field.
// A field with a default of ent's is never left out, so it cannot be Filled.
type Filled struct{}

// Name implements schema.Annotation.
func (Filled) Name() string { return FilledName }

// IgnoreCase says of a text that its unique keys take both cases for the same, in any alphabet: of a Unique field, or
// of one in a unique index. It is kept by an index that calls a function of Koan's, so that programs which open
// a SQLite file without it can read the table, and not write it.
type IgnoreCase struct{}

// Name implements schema.Annotation.
func (IgnoreCase) Name() string { return IgnoreCaseName }

// Edge says more about an edge.
type Edge struct {
	Description string   `json:"description,omitempty"`
	Aliases     []string `json:"aliases,omitempty"` // other words for it, for a search of the catalog
	Hidden      Flag     `json:"hidden,omitempty"`  // exists in no type, filter or `with`
	// Owned says of a many-to-many edge that its links belong to this side alone: who
	// may write this entity may write them, whatever it may do to the other side.
	Owned Flag `json:"owned,omitempty"`
}

// Name implements schema.Annotation.
func (Edge) Name() string { return EdgeName }

// Number returns a pointer to a float, for limits.
func Number(v float64) *float64 { return &v }

// Length returns a pointer to an int, for limits.
func Length(v int) *int { return &v }

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func orFlag(a, b Flag) Flag {
	if a != nil {
		return a
	}
	return b
}

func orList(a, b []string) []string {
	if a != nil {
		return a
	}
	return b
}

var (
	_ schema.Annotation = Entity{}
	_ schema.Merger     = Entity{}
	_ schema.Annotation = Field{}
	_ schema.Annotation = Filled{}
	_ schema.Annotation = IgnoreCase{}
	_ schema.Annotation = Edge{}
)
