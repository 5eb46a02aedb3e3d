package entgen

import (
	"path/filepath"
	"strings"
	"testing"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/expose"
)

type (
	OrderLine struct{ Exposed }
	Orderline struct{ Exposed }
	Event     struct{ Exposed }
	Events    struct{ Exposed }
	Happening struct{ Exposed }
	KoanRun   struct{ Exposed }
	// KoanCall is the app's own affair: callers do not see it.
	KoanCall struct{ ent.Schema }
)

func (Happening) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{}, entsql.Annotation{Table: "events"}}
}

func TestSchemasThatWouldOverwriteEachOtherAreRefused(t *testing.T) {
	_, err := newModel(graph(t, OrderLine{}, Orderline{}))
	require.EqualError(t, err, "koan: 1 problem in the ent schema:\n  Orderline: it differs from OrderLine in case only, so the generated files of one would overwrite the other's: rename one of the two")
}

func TestSchemasOfOneTableAreNamed(t *testing.T) {
	_, err := newModel(graph(t, Event{}, Events{}, Happening{}))
	require.EqualError(t, err, "koan: 2 problems in the ent schema:\n"+
		`  Events: its table "events" is that of Event too: let one of them have another, with entsql.Annotation{Table: "..."} among its annotations`+"\n"+
		`  Happening: its table "events" is that of Event too: let one of them have another, with entsql.Annotation{Table: "..."} among its annotations`)
}

func TestNamesOfTheJournalAreRefused(t *testing.T) {
	_, err := newModel(graph(t, KoanRun{}, KoanCall{}))
	require.ErrorContains(t, err, "koan: 1 problem in the ent schema:\n  KoanRun: the journal has an entity of this name, so the app cannot: rename the schema")
}

func TestEntitiesWithoutRoutesAreNoted(t *testing.T) {
	m, err := newModel(graph(t, Events{}, Exposed{}))
	require.NoError(t, err)
	require.Equal(t, []string{"Events: it will have no routes in REST, as /api/events is the path of something else; tools and scripts have it. Rename the schema to have them"}, m.notes)
}

// Invoice cannot be made without what callers do not see.
type Invoice struct{ Exposed }

func (Invoice) Fields() []ent.Field { return []ent.Field{field.Int("writer_id")} }

func (Invoice) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("hid", Plain.Type).Unique().Required(),
		edge.To("secret", Exposed.Type).Unique().Required().Annotations(expose.Edge{Hidden: expose.Yes()}),
		edge.To("shown", Exposed.Type).Unique().Required(),
		edge.To("free", Plain.Type).Unique(),
		edge.To("writer", Plain.Type).Unique().Required().Field("writer_id"),
	}
}

// Printed is made by the app only.
type Printed struct{ Invoice }

func (Printed) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Operations: []string{"collection", "patch"}}}
}

// Signed has a hook that gives it what callers do not.
type Signed struct{ Invoice }

func (Signed) Hooks() []ent.Hook {
	return []ent.Hook{func(next ent.Mutator) ent.Mutator { return next }}
}

func TestEntitiesThatNobodyCouldCreateAreRefused(t *testing.T) {
	g := graph(t, Invoice{}, Printed{}, Signed{}, Plain{}, Exposed{})
	_, err := newModel(g)
	require.ErrorContains(t, err, "koan: 2 problems in the ent schema:\n"+
		"  Invoice.hid: it is required and leads to Plain, which is not exposed, so no caller could create one: expose Plain, make the edge optional, ")
	require.ErrorContains(t, err, "Invoice.secret: it is required and is hidden, so no caller could create one: show the edge, make the edge optional, ")
	require.Equal(t, []string{"Plain", "Exposed", "Exposed"}, Needs(g)["Invoice"])
	require.Empty(t, Needs(g)["Signed"])
}

// Guest cannot be exposed itself, so that what requires it cannot either.
type Guest struct{ ent.Schema }

func (Guest) Fields() []ent.Field { return Strange{}.Fields() }

type Stay struct{ ent.Schema }

func (Stay) Edges() []ent.Edge { return []ent.Edge{edge.To("guest", Guest.Type).Unique().Required()} }

func TestObstaclesFollowRequiredEdges(t *testing.T) {
	g := graph(t, Guest{}, Stay{}, Plain{})
	obstacles := Obstacles(g)
	require.ErrorContains(t, problemList(obstacles["Guest"]), "ids of the type")
	require.ErrorContains(t, problemList(obstacles["Stay"]), "guest: it is required and leads to Guest")
	require.Empty(t, obstacles["Plain"])
	for _, n := range g.Nodes {
		require.Nil(t, n.Annotations[expose.EntityName], "the graph is as it was")
	}
}

// What is refused has changed no file.
func TestRefusalsComeBeforeEnt(t *testing.T) {
	g := graph(t, OrderLine{}, Orderline{})
	g.Target = t.TempDir()
	err := New().Hooks()[0](nil).Generate(g)
	require.ErrorContains(t, err, "in case only")
	files, err := filepath.Glob(filepath.Join(g.Target, "*"))
	require.NoError(t, err)
	require.Empty(t, files)
}

// Names that differ behind their 63rd byte only, as PostgreSQL keeps them: of tables, join tables,
// columns and indexes of unique columns.
type (
	LongA   struct{ Exposed }
	LongB   struct{ Exposed }
	Columns struct{ ent.Schema }
)

var long = strings.Repeat("long_", 12) + "ab" // 62 bytes: of a character of two bytes behind it nothing is kept

func (LongA) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{}, entsql.Annotation{Table: long + "ä_table"}}
}

func (LongB) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{}, entsql.Annotation{Table: long + "ö_table"}}
}

func (LongB) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("first", LongB.Type).StorageKey(edge.Table(long+"ü_one"), edge.Columns("b", "a")),
		edge.To("second", LongB.Type).StorageKey(edge.Table(long+"é_two"), edge.Columns("b", "a")),
	}
}

func (Columns) Fields() []ent.Field {
	return []ent.Field{
		field.String("first").StorageKey(long + "ä_first").Unique(), field.String("second").StorageKey(long + "ö_second").Unique(),
		field.String("plain").StorageKey("odd_Case"), field.String("folded").StorageKey("odd_case"), field.String("other").StorageKey(strings.Repeat("x", 63)),
		field.String("unique").StorageKey(strings.Repeat("u", 60)).Unique(),
	}
}

func (Columns) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Checks(map[string]string{strings.Repeat("c", 64): "plain <> ''", strings.Repeat("d", 63): "plain <> ''"})}
}

// Indexes have long names, of which ent keeps a digest.
func (Columns) Indexes() []ent.Index {
	return []ent.Index{index.Fields("other", "plain").StorageKey(strings.Repeat("i", 70))}
}

func TestNamesThatDatabasesTakeForTheSameAreRefused(t *testing.T) {
	_, err := newModel(graph(t, LongA{}, LongB{}, Columns{}))
	require.Error(t, err)
	for _, problem := range []string{
		"the table " + long + "ö_table: PostgreSQL keeps 63 bytes of a name, \"" + long + "\", and those are the name of the table " + long + "ä_table too: write entsql.Annotation{Table: ",
		"the table " + long + "ä_table: PostgreSQL keeps 63 bytes of a name, \"" + long + "\", and this one has 70: write entsql.Annotation{Table: ",
		"the column columns." + long + "ä_first: PostgreSQL keeps 63 bytes of a name, \"" + long + "\", and this one has 70: write StorageKey",
		"the index of the unique column columns." + long + "ä_first: PostgreSQL keeps 63 bytes",
		"the index of the unique column columns." + strings.Repeat("u", 60) + ": PostgreSQL keeps 63 bytes of a name, \"columns_" + strings.Repeat("u", 55) + "\", and this one has 72: write index.Fields",
		"the check " + strings.Repeat("c", 64) + " of the table columns: PostgreSQL keeps 63 bytes",
		"the table " + long + "ü_one: PostgreSQL keeps 63 bytes",
		"the table " + long + "é_two: PostgreSQL keeps 63 bytes",
		"the column columns." + long + "ö_second: PostgreSQL keeps 63 bytes of a name, \"" + long + "\", and those are the name of the column columns." + long + "ä_first too",
		"the index of the unique column columns." + long + "ö_second: PostgreSQL keeps 63 bytes",
		"the column columns.odd_case: SQLite does not tell it from the column columns.odd_Case, as case makes no difference there",
	} {
		require.ErrorContains(t, err, problem)
	}
	for _, whole := range []string{"xxx", "ddd", "iii"} {
		require.NotContains(t, err.Error(), whole)
	}
}
