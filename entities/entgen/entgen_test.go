package entgen

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
	"entgo.io/ent/entc/load"
	"entgo.io/ent/privacy"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/framework/catalog"
)

var update = flag.Bool("update", false, "write the golden files anew")

// custom is a type that nothing says how to show.
type custom [2]int

func (custom) Value() (driver.Value, error) { return nil, nil }
func (*custom) Scan(any) error              { return nil }

type Good struct{ ent.Schema }

func (Good) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Good.", Version: "rev"}}
}

func (Good) Fields() []ent.Field {
	return []ent.Field{
		field.Int("rev").Default(1),
		field.String("full_name").MaxLen(20).Comment("Whole."),
		field.Enum("state").Values("on", "off").Default("on"),
		field.Int("parent_id").Optional(),
		field.Uint8("level").Default(0).Annotations(expose.Field{Max: expose.Number(9)}),
	}
}

func (Good) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("children", Good.Type).From("parent").Field("parent_id").Unique(),
		edge.To("hidden", Plain.Type),
		edge.To("friends", Good.Type),
	}
}

// Plain is not exposed.
type Plain struct{ ent.Schema }

type Bad struct{ ent.Schema }

func (Bad) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Sets: []string{"Upper"}, Version: "nothing", Operations: []string{"destroy"}, Exposure: "auto"}}
}

func (Bad) Fields() []ent.Field {
	return []ent.Field{
		field.String("a_b"), field.String("aB"),
		field.Bool("flag").Annotations(expose.Field{MinLength: expose.Length(1), Min: expose.Number(1)}),
		field.String("kept").Annotations(expose.Field{ReadOnly: expose.Yes()}),
		field.String("shape").Annotations(expose.Field{Pattern: "[a", MinLength: expose.Length(9), MaxLength: expose.Length(3)}),
		field.Int("size").Annotations(expose.Field{Min: expose.Number(2), Max: expose.Number(1)}),
		field.Other("odd", custom{}).SchemaType(map[string]string{"sqlite3": "text", "postgres": "point"}),
	}
}

func graph(t *testing.T, schemas ...ent.Interface) *gen.Graph {
	t.Helper()
	var loaded []*load.Schema
	for _, s := range schemas {
		raw, err := load.MarshalSchema(s)
		require.NoError(t, err)
		one, err := load.UnmarshalSchema(raw)
		require.NoError(t, err)
		loaded = append(loaded, one)
	}
	storage, err := gen.NewStorage("sql")
	require.NoError(t, err)
	g, err := gen.NewGraph(&gen.Config{Package: "example.org/app/ent", Storage: storage, IDType: &field.TypeInfo{Type: field.TypeInt}}, loaded...)
	require.NoError(t, err)
	return g
}

func TestDescribesWhatIsExposed(t *testing.T) {
	m, err := newModel(graph(t, Good{}, Plain{}))
	require.NoError(t, err)
	require.Len(t, m.kinds, 2)
	require.Nil(t, m.kinds[1].Entity)
	e := m.kinds[0].Entity
	require.Equal(t, "goods", e.Table)
	require.Equal(t, "rev", e.VersionColumn)
	require.True(t, e.Resource.Versioned)
	require.Equal(t, descriptor.Column{Field: "fullName", Ent: "full_name", Name: "full_name", Storage: descriptor.Text}, *e.Column("fullName"))
	name := e.Resource.Field("fullName")
	require.Equal(t, "Whole.", name.Description)
	require.True(t, name.Required)
	require.Equal(t, 20, *name.MaxLength)
	require.True(t, e.Resource.Field("rev").ReadOnly)
	require.Equal(t, catalog.TypeID, e.Resource.Field("parentId").Type)
	require.Equal(t, "parent", e.Resource.Field("parentId").Edge)
	require.Equal(t, json.RawMessage(`"on"`), e.Resource.Field("state").Default)

	require.Equal(t, []float64{0, 9}, []float64{*e.Resource.Field("level").Min, *e.Resource.Field("level").Max})

	var names []string
	for _, edge := range e.Edges {
		names = append(names, edge.Name)
	}
	require.ElementsMatch(t, []string{"parent", "children", "friends"}, names, "an edge to what is not exposed does not exist")
	require.Equal(t, "parent_id", e.Edge("parent").OwnKey)
	require.Equal(t, "parentId", e.Resource.Edge("parent").Reference)
	require.Equal(t, "parent_id", e.Edge("children").TargetKey)
	require.True(t, e.Edge("children").SetNull)
	require.Equal(t, "good_friends", e.Edge("friends").JoinTable)
	require.Equal(t, []descriptor.Referrer{{Entity: "Good", Column: "parent_id", SetNull: true}}, e.Referrers)
}

// Guarded has rules of every kind.
type Guarded struct{ ent.Schema }

func (Guarded) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{ReadScopes: []string{"r"}, WriteScopes: []string{"w"}, DeleteScopes: []string{"d"}}}
}

func (Guarded) Fields() []ent.Field {
	return []ent.Field{
		field.Int("good_id").Optional(),
		field.String("kept").Annotations(expose.Field{Immutable: expose.Yes(), ReadScopes: []string{"k"}}),
	}
}

func (Guarded) Edges() []ent.Edge {
	return []ent.Edge{edge.To("good", Good.Type).Field("good_id").Unique().Annotations(expose.Edge{Hidden: expose.Yes()})}
}

func (Guarded) Policy() ent.Policy { return privacy.Policy{} }

func (Guarded) Interceptors() []ent.Interceptor {
	return []ent.Interceptor{ent.TraverseFunc(func(context.Context, ent.Query) error { return nil })}
}

// Intercepted has only an interceptor.
type Intercepted struct{ ent.Schema }

func (Intercepted) Interceptors() []ent.Interceptor { return Guarded{}.Interceptors() }

func TestRulesReachTheGeneratedCode(t *testing.T) {
	m, err := newModel(graph(t, Good{}, Guarded{}, Intercepted{}, Plain{}))
	require.NoError(t, err)
	e := m.kinds[slices.IndexFunc(m.kinds, func(k kind) bool { return k.Name == "Guarded" })].Entity
	require.True(t, e.Hooked, "never written past the policy")
	require.Equal(t, [][]string{{"r"}, {"w"}, {"d"}}, [][]string{e.ReadScopes, e.WriteScopes, e.DeleteScopes})
	require.Equal(t, []string{"k"}, e.Resource.Field("kept").ReadScopes)
	require.True(t, e.Resource.Field("kept").Immutable)
	require.Equal(t, "Good", e.Column("goodId").Refers, "though the edge is hidden")
	require.Nil(t, e.Edge("good"))
	src, err := m.render(apiOf(func(string) bool { return false }))
	require.NoError(t, err)
	require.Contains(t, string(src), `c.ruled["Guarded"] = true`)
	require.Contains(t, string(src), `c.ruled["Good"] = len(c.client.Good.Interceptors()) > 0`, "the app may add one at run time")
	require.Contains(t, string(src), `shim.Unheld("Guarded", c.client.Guarded.Interceptors())`)
	require.NotContains(t, string(src), `shim.Unheld("Plain"`, "nobody reads it through the engine")
	require.Equal(t, 1, strings.Count(string(src), "Policy: true"))

	m.circle = true
	require.Equal(t, "Policy", m.runtimeVariable().Name, "schemas that import ent are stitched by ent/runtime")
	m, err = newModel(graph(t, Exposed{}, Intercepted{}))
	require.NoError(t, err)
	m.circle = true
	require.Equal(t, "Interceptors[0]", m.runtimeVariable().Name)
}

// Exposed is nothing but that.
type Exposed struct{ ent.Schema }

func (Exposed) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func TestNamesEverythingThatCannotBeExposed(t *testing.T) {
	_, err := newModel(graph(t, Bad{}))
	require.Error(t, err)
	for _, want := range []string{
		`Bad: "Upper" is not a set`, `the version field "nothing" does not exist`, `no operation "destroy"`, `"auto" is not an exposure`,
		`Bad.aB: its JSON name "aB" is already used by a_b`, "Bad.flag: MinLength", "Bad.flag: Min and Max", "Bad.kept: a read-only field", "Bad.odd: the type",
		`Bad.shape: the Pattern "[a" is not an RE2 expression`, "Bad.shape: no string can satisfy both", "Bad.size: Min is greater than Max",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = newModel(graph(t, Plain{}))
	require.ErrorContains(t, err, "no schema has the annotation")
}

// Worded counts its versions with a word.
type Worded struct{ ent.Schema }

func (Worded) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Version: "rev"}}
}

func (Worded) Fields() []ent.Field { return []ent.Field{field.Enum("rev").Values("a", "b")} }

// Unversioned may lack its version.
type Unversioned struct{ Worded }

func (Unversioned) Fields() []ent.Field { return []ent.Field{field.Int("rev").Optional()} }

func TestAVersionCanBeCounted(t *testing.T) {
	_, err := newModel(graph(t, Worded{}))
	require.EqualError(t, err, "koan: 1 problem in the ent schema:\n  Worded.rev: a version field must be an integer")
	_, err = newModel(graph(t, Unversioned{}))
	require.ErrorContains(t, err, "Unversioned.rev: a version field must have a default and be neither Optional nor Immutable")
}

// A failed generation leaves ent's runtime.go as it was, however often it is tried.
func TestUnmarkTakesTheGeneratorsMarkOff(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.go")
	require.NoError(t, removeGeneratedMark(path), "there is none yet")
	const code = "// Code generated by ent, DO NOT EDIT.\n\npackage ent\n"
	require.NoError(t, os.WriteFile(path, []byte("// +build tools\n// +build tools\n"+code), 0o644))
	require.NoError(t, removeGeneratedMark(path))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, code, string(raw))
}

// Keyless names keys that are none.
type Keyless struct{ ent.Schema }

func (Keyless) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{UpsertBy: []string{"nothing", "maybe", "hidden"}}}
}

func (Keyless) Fields() []ent.Field {
	return []ent.Field{field.String("maybe").Optional(), field.String("hidden").Sensitive(), field.String("name"), field.String("place")}
}

// Halfkey names a half of a unique index.
type Halfkey struct{ Keyless }

func (Halfkey) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{UpsertBy: []string{"name"}}}
}

func (Halfkey) Indexes() []ent.Index { return []ent.Index{index.Fields("name", "place").Unique()} }

func TestUpsertByNamesAUniqueKey(t *testing.T) {
	_, err := newModel(graph(t, Keyless{}, Halfkey{}))
	for _, want := range []string{
		`Keyless: UpsertBy names "nothing", which is not a field`, "Keyless.maybe: a field of UpsertBy cannot be Optional", "Keyless.hidden: every caller must be able to write a field of UpsertBy",
		"Halfkey: UpsertBy needs a unique key: make name Unique",
	} {
		require.ErrorContains(t, err, want)
	}
}

// Joined is an edge schema with a composite id.
type Joined struct{ ent.Schema }

func (Joined) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Description: "Joined."}, field.ID("left_id", "right_id")}
}

func (Joined) Fields() []ent.Field {
	return []ent.Field{field.Int("left_id"), field.Int("right_id")}
}

func (Joined) Edges() []ent.Edge {
	return []ent.Edge{edge.To("left", Left.Type).Unique().Required().Field("left_id"), edge.To("right", Right.Type).Unique().Required().Field("right_id")}
}

type Left struct{ ent.Schema }

func (Left) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (Left) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").Annotations(expose.Field{Comparable: expose.Yes()}),
		field.Int("size").Annotations(expose.Field{Decimal: expose.Yes()}),
		field.String("place").Default("here").Annotations(expose.Filled{}),
	}
}

func (Left) Edges() []ent.Edge {
	return []ent.Edge{edge.To("rights", Right.Type).Through("joined", Joined.Type)}
}

type Right struct{ ent.Schema }

type Strange struct{ ent.Schema }

func (Strange) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (Strange) Fields() []ent.Field {
	return []ent.Field{field.Other("id", custom{}).SchemaType(map[string]string{"postgres": "point"})}
}

func (Right) Edges() []ent.Edge { return []ent.Edge{edge.From("lefts", Left.Type).Ref("rights")} }

func TestNamesTypesThatCannotBeExposed(t *testing.T) {
	_, err := newModel(graph(t, Left{}, Right{}, Joined{}, Strange{}))
	require.Error(t, err)
	for _, want := range []string{
		"koan: 5 problems", "Left.place: Filled is for fields without a default", "Joined: an edge schema with a composite id cannot be exposed", "Strange.id: ids of the type entgen.custom cannot be exposed",
		"Left.name: Comparable is for fields with a custom Go type", "Left.size: Decimal is for fields with a custom Go type",
	} {
		require.ErrorContains(t, err, want)
	}
}

// Elsewhere lies in a schema of the database, by annotation.
type Elsewhere struct{ ent.Schema }

func (Elsewhere) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{}, entsql.Schema("archive")}
}

// Unexposed lies there as well, and nobody is served from it.
type Unexposed struct{ ent.Schema }

func (Unexposed) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Schema("archive")}
}

func TestTablesInOtherSchemasAreRefused(t *testing.T) {
	_, err := newModel(graph(t, Elsewhere{}, Unexposed{}))
	require.ErrorContains(t, err, "koan: 1 problem in the ent schema:\n  Elsewhere: it is annotated with the database schema \"archive\"")
}

// Roaming lives in sets that Settled does not.
type Roaming struct{ ent.Schema }

func (Roaming) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Sets: expose.Sets("default", "tenant-a", "tenant-x-*", "guest-*")}}
}

func (Roaming) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("home", Settled.Type).Unique(),
		edge.To("secret", Settled.Type).Annotations(expose.Edge{Hidden: expose.Yes()}),
		edge.To("friends", Roaming.Type),
		edge.To("unserved", Plain.Type),
	}
}

type Settled struct{ ent.Schema }

func (Settled) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{Sets: expose.Sets("default", "tenant-*")}}
}

func (Settled) Edges() []ent.Edge { return []ent.Edge{edge.From("visitors", Roaming.Type).Ref("home")} }

func TestEdgesStayInTheirSets(t *testing.T) {
	_, err := newModel(graph(t, Roaming{}, Settled{}, Plain{}))
	require.ErrorContains(t, err, "koan: 2 problems")
	require.ErrorContains(t, err, `Roaming.home: Roaming has the set "guest-*", and Settled has default, tenant-* only: a relationship cannot leave its set`)
	require.ErrorContains(t, err, `Settled.visitors: Settled has the set "tenant-*", and Roaming has default, tenant-a, tenant-x-*, guest-* only`)
}

func TestPatternsCoverSets(t *testing.T) {
	for _, c := range []struct {
		pattern, set string
		want         bool
	}{
		{"default", "default", true}, {"a", "ab", false}, {"a*", "ab", true}, {"a*", "a*", true}, {"a*", "ab*", true}, {"ab*", "a*", false}, {"ab", "a*", false}, {"*", "x-*", true},
	} {
		require.Equal(t, c.want, includesPattern(c.pattern, c.set), "%s %s", c.pattern, c.set)
	}
}

// Renamed has a field whose column has another name, and one that ent renames.
type Renamed struct{ ent.Schema }

func (Renamed) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (Renamed) Fields() []ent.Field {
	return []ent.Field{field.String("color").StorageKey("colour"), field.Time("seenAt").Default(time.Now)}
}

func TestFieldsAreSetByTheirColumns(t *testing.T) {
	m, err := newModel(graph(t, Renamed{}))
	require.NoError(t, err)
	k := m.kinds[0]
	require.Equal(t, descriptor.Column{Field: "color", Ent: "color", Name: "colour", Storage: descriptor.Text}, *k.Entity.Column("color"))
	require.Equal(t, "seen_at", k.Entity.Column("seenAt").Name)
	require.Equal(t, []string{"seen_at"}, k.Generated)
}

func TestHashFollowsTheTables(t *testing.T) {
	one, err := newModel(graph(t, Good{}, Plain{}))
	require.NoError(t, err)
	same, err := newModel(graph(t, Good{}, Plain{}))
	require.NoError(t, err)
	other, err := newModel(graph(t, Good{}, Plain{}, Third{}))
	require.NoError(t, err)
	checked, err := newModel(graph(t, Good{}, Plain{}, CheckedThird{}))
	require.NoError(t, err)
	require.Equal(t, one.hash, same.hash)
	require.NotEqual(t, one.hash, other.hash)
	require.NotEqual(t, other.hash, checked.hash)
	require.Positive(t, one.hash)
}

type Third struct{ ent.Schema }

type CheckedThird struct{ ent.Schema }

func (CheckedThird) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "thirds", Check: "id > 0"}}
}

// TestRender compares generated code with testdata.
func TestRender(t *testing.T) {
	for name, schemas := range map[string][]ent.Interface{
		"good": {Good{}, Plain{}}, "renamed": {Renamed{}},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := newModel(graph(t, schemas...))
			require.NoError(t, err)
			src, err := m.render(apiOf(func(string) bool { return false }))
			require.NoError(t, err)
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, src, 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), string(src), "run the test with -update if the change is intended")
		})
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{"title": "title", "due_date": "dueDate", "assignedUserId": "assignedUserId", "URL": "url", "URLPath": "urlPath", "Title": "title", "userID": "userID", "a__b": "aB", "_x": "x"} {
		require.Equal(t, want, camel(in), in)
	}
}

func TestFixtureIsUpToDate(t *testing.T) {
	target := filepath.Join("..", "..", "tests", "fixture", "ent")
	target, err := filepath.Abs(target)
	require.NoError(t, err)
	g, err := entc.LoadGraph(filepath.Join(target, "schema"), &gen.Config{Target: target, Package: "github.com/koan-go/koan/tests/fixture/ent"})
	require.NoError(t, err)
	m, err := newModel(g)
	require.NoError(t, err)
	require.NoError(t, m.readRuntime())
	require.True(t, m.runtime)
	require.False(t, m.circle)
	src, err := m.render(apiOf(func(string) bool { return false }))
	require.NoError(t, err)
	stored, err := os.ReadFile(filepath.Join(target, File))
	require.NoError(t, err)
	require.Equal(t, string(stored), string(src), "run `go generate ./tests/fixture/ent`")
}

// Sized has integers of all widths.
type Sized struct{ ent.Schema }

func (Sized) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (Sized) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("bytes"), field.Uint64("blocks"), field.Int("count"), field.Int32("pages"),
		field.Int64("stars").Annotations(expose.Field{Min: expose.Number(0), Max: expose.Number(5)}),
	}
}

func TestDeclaresIntegersBeyondNumbers(t *testing.T) {
	m, err := newModel(graph(t, Sized{}))
	require.NoError(t, err)
	for name, want := range map[string]string{"bytes": "number | string", "blocks": "number | string", "count": "number", "pages": "number", "stars": "number"} {
		kind, _ := m.kinds[0].Entity.Resource.Field(name).TypeScript()
		require.Equal(t, want, kind, name)
	}
}
