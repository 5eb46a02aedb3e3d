// Package descriptor describes entities to the engine: the neutral resource that
// callers see, joined with the tables and columns beneath it. The entc extension
// generates these values; they never change at run time.
//
// What belongs here: data. Not here: SQL text, ent clients, or anything
// that does work.
package descriptor

import (
	"slices"
	"sync"

	"github.com/koan-go/koan/framework/catalog"
)

// Storage is how a column's value is kept, which decides how it is read into
// JSON and how an argument is bound.
type Storage string

const (
	Text    Storage = "text" // strings, enums, text-kept UUIDs
	Int     Storage = "int"
	Float   Storage = "float"
	Bool    Storage = "bool"
	Time    Storage = "time"
	Day     Storage = "day" // on SQLite the first ten characters of what is kept, whatever follows them
	JSON    Storage = "json"
	Bytes   Storage = "bytes"
	UUID    Storage = "uuid" // bound and scanned as text
	Decimal Storage = "decimal"
	Held    Storage = "held" // as the app's own type keeps it: compared as a whole, through the column's form
)

// Affinity is what SQLite makes of a text that is a number in a column of some type.
type Affinity string

const (
	Numeric Affinity = "numeric" // an integer of 64 bits, or else a floating-point number
	Real    Affinity = "real"    // a floating-point number
)

// Origin is who makes the values of a column.
type Origin uint8

// The origins. Computed values are made by the database alone. Those that it counts up alone are written where a row
// comes back.
const (
	Written Origin = iota
	Counted
	Computed
)

// Keeping is how a column keeps values that another program fills.
type Keeping uint8

// The ways of keeping. Rows of a Loose column, one of SQLite, may have values of any type: the driver must not
// go by the declared one, as it does for times and booleans. An Array of PostgreSQL is read as JSON. The JSON of
// an Unformatted column is as that program wrote it.
const (
	Typed Keeping = iota
	Loose
	Array
	Unformatted
)

// Column joins the names of a field. Everything that addresses a field goes by one
// of these three.
type Column struct {
	// Field is the JSON name, as in catalog.Field.Name.
	Field string
	// Ent is the name in the ent schema. Errors of ent's validators have it, and
	// nothing else: ent.Mutation does not know it.
	Ent string
	// Name is the column: field.StorageKey, or else what ent makes of the name
	// ("nickName" is nick_name). It is also the name that the methods of ent.Mutation
	// take and give (Field, SetField, ClearField, AddedField, Fields, ...), and
	// shim.Kind.Set with them.
	Name     string
	Storage  Storage
	Nullable bool
	// Affinity says what SQLite makes of a decimal that is written as text.
	Affinity Affinity
	// Native is the column's type on PostgreSQL as DDL writes it, where it may be one
	// that does not compare with text: a composite, an enum, a domain, or one of an
	// extension. "" for all usual types.
	Native string
	// Capacity is what the column's type keeps of a value, nil for all of it.
	Capacity *Capacity
	// Origin says who makes the values, where it is not who writes the row.
	Origin Origin
	// Folding says which different texts are the same, where others are different.
	Folding Folding
	// Single says that numbers are kept with the precision of a float32.
	Single bool
	Form   Form // nil where the column holds what callers see
	// Refers is the resource that a foreign key refers to, whether or not an edge
	// shows it; "" for none.
	Refers  string
	Keeping Keeping // where another program fills the column
	// Parts are the columns of a key that has several, or one of which callers do not see what it
	// holds. Name is "" then, and the key's value one text: see JoinKey.
	Parts []Column
}

// Folding is a set of ways in which different texts are the same.
type Folding int

// The ways.
const (
	FoldsAccents Folding = 1 << iota // searches take letters with and without accents for the same, as both cases
	FoldsKey                         // unique keys take both cases for the same
	FoldsID                          // the database itself finds a row by other texts, too: citext, char(n), a collation
	OwnOrder                         // no such way: the type on PostgreSQL has an order of its own, which is not that of its texts
	AsTexts                          // values are the same where their texts are: their type on PostgreSQL has no equality, or one of areas
)

// Folds reports whether texts of the column are the same in a way.
func (c *Column) Folds(way Folding) bool { return c.Folding&way != 0 }

// IsLoose reports whether rows may have values of any type.
func (c *Column) IsLoose() bool { return c.Keeping == Loose }

// IsArray reports whether the column is an array of PostgreSQL.
func (c *Column) IsArray() bool { return c.Keeping == Array }

// ShowsAlike reports whether callers may see the same of values that are kept differently: bytes as the text
// that is their base64, JSON's null as an absent value. What a caller sends back as it was shown is not
// written then, or it would replace the value that is kept.
func (c *Column) ShowsAlike() bool { return c.Keeping != Typed }

// Names returns the columns of a key.
func (c *Column) Names() []string {
	if len(c.Parts) == 0 {
		return []string{c.Name}
	}
	out := make([]string, len(c.Parts))
	for i := range c.Parts {
		out[i] = c.Parts[i].Name
	}
	return out
}

// MeetsOthers reports whether the database may take another text than its own for a key of the column.
func (c *Column) MeetsOthers() bool {
	return c.Folds(FoldsID) || slices.ContainsFunc(c.Parts, func(p Column) bool { return p.Folds(FoldsID) || p.Storage == UUID })
}

// HasPart reports whether a column is one of several of a key.
func (c *Column) HasPart(column string) bool {
	return slices.ContainsFunc(c.Parts, func(p Column) bool { return p.Name == column })
}

// Absent reports whether a key is none: the rows of a view have no id.
func (c *Column) Absent() bool { return c.Name == "" && len(c.Parts) == 0 }

// Capacity is what the type that a schema declares for a column keeps of a value. Beyond it
// databases round, cut or refuse values, each in its own way.
type Capacity struct {
	// Precision and Scale are those of numeric(Precision, Scale): how many digits a number has
	// in all, and how many of them behind the point. Precision 0 is no bound.
	Precision, Scale int
	// Least and Most are the bounds of an integer, both 0 for none.
	Least, Most int64
	// Length is how many characters a text has at most, 0 for no bound. Bits says that each
	// is 0 or 1, Fixed that there are just as many.
	Length      int
	Bits, Fixed bool
	// SecondDigits is how many digits of a second a time has at most, nil for no bound.
	SecondDigits *int
}

// IsInteger reports whether the column has integers and callers see them as such; of a key, or a
// reference to one, they may write a number then.
func (c *Column) IsInteger() bool { return c.Storage == Int && c.Form == nil }

// Form turns what callers see of a column into what it holds, and back, where
// these differ: types of the app's own, and ValueScanners. Values as callers see
// them are string, int64, float64, bool, time.Time, []byte or json.RawMessage;
// what a column holds is what the database's driver returns and takes. null is
// neither. Package shim has what generated code fills in.
type Form interface {
	// Show returns what callers see of what the column holds.
	Show(held any) (seen any, err error)
	// Bind returns what the column holds for what callers see. Its error says what is
	// wrong with the value, for the caller.
	Bind(seen any) (held any, err error)
	// Canonical returns the one way of writing a value that Show would choose.
	Canonical(seen any) (any, error)
}

// WithForms puts forms into the columns of an entity, by JSON name.
func WithForms(e *Entity, forms map[string]Form) *Entity {
	for field, form := range forms {
		e.Column(field).Form = form
	}
	return e
}

// Relation is the shape of an edge.
type Relation string

const (
	O2O Relation = "o2o"
	O2M Relation = "o2m"
	M2O Relation = "m2o"
	M2M Relation = "m2m"
)

// Edge joins an edge of the resource with its tables.
type Edge struct {
	Name     string // JSON name, as in catalog.Edge.Name
	Ent      string // ent's edge name, which ent.Mutation takes: columns have names of their own below
	Target   string // resource name
	Relation Relation
	Inverse  bool
	// OwnKey is the column on this entity's own table that refers to the target
	// (M2O, and the owning side of O2O), "" otherwise.
	OwnKey string
	// TargetKey is the column on the target's table that refers to this entity
	// (O2M, and the other side of O2O), "" otherwise.
	TargetKey string
	// JoinTable, JoinOwn and JoinTarget describe M2M.
	JoinTable  string
	JoinOwn    string // column that refers to this entity
	JoinTarget string // column that refers to the target
	// On are the pairs of columns of an edge along a foreign key that has several columns, or that
	// refers to another unique key than the target's id. OwnKey and TargetKey are "" then, and the
	// edge is read-only: the columns are fields.
	On []Pair
	// Cascade says that deleting this entity deletes the edge's rows through the
	// foreign key; SetNull that it clears their reference.
	Cascade bool
	SetNull bool
}

// Pair is a column of an entity's own table and one of the target's, which are equal in rows that are
// related.
type Pair struct{ Own, Target string }

// Own reports whether writing the edge is writing OwnKey and nothing else. ent keeps
// the two rows of a one-to-one edge within a type in step.
func (e *Edge) Own() bool {
	return e.OwnKey != "" && (e.Relation == M2O || e.Relation == O2O && e.Inverse)
}

// Symmetric reports whether the edge is one to one and its own inverse: both rows have a column
// that refers to the other one.
func (e *Edge) Symmetric() bool {
	return e.OwnKey != "" && e.Relation == O2O && !e.Inverse
}

// FarKey is the column of the target's rows that writing the edge writes, "" for none.
func (e *Edge) FarKey() string {
	if e.Symmetric() {
		return e.OwnKey
	}
	return e.TargetKey
}

// Referrer is a column of another entity that refers to this one.
type Referrer struct {
	Entity string // resource name
	Column string
	// What deleting the row that is referred to does, as on Edge. With neither, it
	// is refused.
	Cascade bool
	SetNull bool
	// Via are the tables between the two, of schemas that are not exposed: their rows
	// go with the row that they refer to, and take with them what refers to them.
	Via []Via
}

// Unexposed is a column of a table that is not exposed, and refers to an entity.
type Unexposed struct {
	Table  string
	Column string
}

// Via is a table on the way from a row to those that refer to it.
type Via struct {
	Table  string
	Key    string // column
	Column string // refers to the table before it
}

// Entity is one exposed ent schema.
type Entity struct {
	Resource catalog.Resource // Fields, Edges parallel Columns, Edges below
	Table    string
	Key      Column
	Columns  []Column
	Edges    []Edge
	// Searched are the columns that a search looks into, also where a caller does not
	// see all of them.
	Searched []string
	// UpsertBy are the JSON names of the fields of the unique key by which a model
	// without id finds its entity; empty for none.
	UpsertBy []string
	// FoldedKeys are the columns of the unique keys in which some column has FoldsKey.
	FoldedKeys [][]string
	// VersionColumn is the optimistic lock's column, "" for none.
	VersionColumn string
	// Hooked says that the schema has hooks or policies, so that every write must
	// go through ent's update path, never through a native upsert.
	Hooked bool
	// Referrers are the entities whose rows refer to this one's, whether or not an
	// edge shows it, and those that go or change with them by way of other tables.
	Referrers []Referrer
	// Unexposed are the references to this one's rows from tables that are not exposed,
	// other than those that only link rows, which a deletion follows.
	Unexposed []Unexposed
	// ReadScopes are what a caller needs for every operation, WriteScopes besides
	// for those that write, DeleteScopes besides for those that delete.
	ReadScopes   []string
	WriteScopes  []string
	DeleteScopes []string
	// Memo keeps what is derived from the entity; nil keeps nothing.
	Memo *Memo
}

// Memo keeps what packages derive from an entity, as long as the entity lives.
type Memo struct{ kept sync.Map }

// Remember returns what make returned for a key the first time.
func Remember[T any](m *Memo, key any, make func() T) T {
	if m == nil {
		return make()
	}
	if got, ok := m.kept.Load(key); ok {
		return got.(T)
	}
	got, _ := m.kept.LoadOrStore(key, make())
	return got.(T)
}

// Column returns the column of a field (or of the key) by JSON name, nil if there
// is none.
func (e *Entity) Column(field string) *Column {
	if e.Key.Field == field {
		return &e.Key
	}
	for i := range e.Columns {
		if e.Columns[i].Field == field {
			return &e.Columns[i]
		}
	}
	return nil
}

// Edge returns an edge by JSON name, nil if there is none.
func (e *Entity) Edge(name string) *Edge {
	for i := range e.Edges {
		if e.Edges[i].Name == name {
			return &e.Edges[i]
		}
	}
	return nil
}

// Graph is all exposed entities of an app, by resource name.
type Graph struct {
	Entities []*Entity
	byName   map[string]*Entity
}

// NewGraph completes entities with what follows from all of them together, and
// indexes them.
func NewGraph(entities ...*Entity) *Graph {
	g := Index(entities...)
	for _, e := range entities {
		e.Searched, e.Memo = e.searched(), &Memo{}
		for i := range e.Edges {
			g.hold(e, &e.Edges[i], e.Resource.Edge(e.Edges[i].Name))
		}
	}
	return g
}

// Index makes a graph of entities that are complete.
func Index(entities ...*Entity) *Graph {
	g := &Graph{Entities: entities, byName: make(map[string]*Entity, len(entities))}
	for _, e := range entities {
		g.byName[e.Resource.Name] = e
	}
	return g
}

// hold says whose rows hold an edge, and which fields of them do.
func (g *Graph) hold(e *Entity, d *Edge, c *catalog.Edge) {
	if c == nil {
		return
	}
	c.Keys = nil
	switch {
	case d.JoinTable != "":
		c.Held = catalog.HeldBetween
		for _, between := range g.Entities {
			if between.Table == d.JoinTable {
				c.Keys = append(between.keys(d.JoinOwn), between.keys(d.JoinTarget)...)
			}
		}
	case d.OwnKey != "":
		c.Held, c.Keys = catalog.HeldHere, e.keys(d.OwnKey)
	case len(d.On) > 0:
		c.Held = catalog.HeldThere
		target := g.Entity(d.Target)
		for _, pair := range d.On {
			if d.Inverse {
				c.Held, c.Keys = catalog.HeldHere, append(c.Keys, e.keys(pair.Own)...)
			} else if target != nil {
				c.Keys = append(c.Keys, target.keys(pair.Target)...)
			}
		}
	default:
		c.Held = catalog.HeldThere
		target := g.Entity(d.Target)
		if target == nil {
			return
		}
		c.Keys = target.keys(d.TargetKey)
		if inverse := target.holding(d.TargetKey); inverse != nil && inverse.Immutable && !c.ReadOnly {
			c.ReadOnly, c.Reason = true, inverse.Name+" of "+d.Target+" is set at creation only."
		}
	}
}

// keys names the field of a column.
func (e *Entity) keys(column string) []catalog.Key {
	for i := range e.Columns {
		if e.Columns[i].Name == column {
			return []catalog.Key{{Entity: e.Resource.Name, Field: e.Columns[i].Field}}
		}
	}
	return nil
}

// holding returns the edge whose reference a column of the entity is, nil for none.
func (e *Entity) holding(column string) *catalog.Edge {
	for i := range e.Edges {
		if e.Edges[i].OwnKey == column {
			return e.Resource.Edge(e.Edges[i].Name)
		}
	}
	return nil
}

// FoldedColumns returns those of a key's columns whose case is ignored.
func (e *Entity) FoldedColumns(key []string) (out []string) {
	for i := range e.Columns {
		if c := &e.Columns[i]; c.Folds(FoldsKey) && slices.Contains(key, c.Name) {
			out = append(out, c.Name)
		}
	}
	return out
}

func (e *Entity) searched() []string {
	var out []string
	if !e.Resource.Searchable {
		return nil
	}
	for i := range e.Resource.Fields {
		f := &e.Resource.Fields[i]
		if c := e.Column(f.Name); f.Searchable && !f.Sensitive && !f.WriteOnly && c != nil && c.Storage == Text {
			out = append(out, c.Name)
		}
	}
	return out
}

// Entity returns an entity by resource name, nil if there is none.
func (g *Graph) Entity(name string) *Entity { return g.byName[name] }
