package entgen

import (
	"testing"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/expose"
	"github.com/koan-go/koan/framework/catalog"
)

var (
	aDay   = expose.Field{Day: expose.Yes()}
	native = func(typ string) map[string]string { return map[string]string{dialect.Postgres: typ} }
)

// Booking has days, said in each way, and a time.
type Booking struct{ ent.Schema }

func (Booking) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (Booking) Mixin() []ent.Mixin { return []ent.Mixin{dated{}} }

func (Booking) Fields() []ent.Field {
	return []ent.Field{
		field.Time("starts_on").Annotations(aDay),
		field.Time("ends_on").SchemaType(native("DATE")),
		field.Time("both").Annotations(aDay).SchemaType(map[string]string{dialect.Postgres: "date", dialect.MySQL: "date"}),
		field.Time("at"),
	}
}

type dated struct{ mixin.Schema }

func (dated) Fields() []ent.Field {
	return []ent.Field{field.Time("made_on").Default(time.Now).Annotations(aDay)}
}

func TestDaysAreDates(t *testing.T) {
	g := graph(t, Booking{})
	m, err := newModel(g)
	require.NoError(t, err)
	e := m.kinds[0].Entity
	for name, want := range map[string]descriptor.Storage{"startsOn": descriptor.Day, "endsOn": descriptor.Day, "both": descriptor.Day, "madeOn": descriptor.Day, "at": descriptor.Time} {
		require.Equal(t, want, e.Column(name).Storage, name)
		require.Equal(t, want == descriptor.Day, e.Resource.Field(name).Type == catalog.TypeDay, name)
		require.Empty(t, e.Column(name).Native, name)
	}
	tables, err := g.Tables()
	require.NoError(t, err)
	for _, c := range tables[0].Columns {
		switch c.Name {
		case "id", "at":
			require.Empty(t, c.SchemaType)
		case "ends_on":
			require.Equal(t, native("DATE"), c.SchemaType)
		default:
			require.Equal(t, "date", c.SchemaType[dialect.Postgres], "%s: what ent migrates is a date", c.Name)
		}
	}
}

// Wrongly has days that cannot be ones.
type Wrongly struct{ ent.Schema }

func (Wrongly) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (Wrongly) Fields() []ent.Field {
	return []ent.Field{
		field.String("text").Annotations(aDay), field.Int("number").Annotations(aDay), field.Time("stamp").Annotations(aDay).SchemaType(native("timestamp")),
		field.Time("short").Annotations(expose.Field{Day: expose.Yes(), MaxLength: expose.Length(10)}),
		field.Int("folds").Annotations(expose.Field{Fold: expose.Accents}), field.String("width").Annotations(expose.Field{Fold: "width"}),
	}
}

func TestWhatIsNoDayIsReported(t *testing.T) {
	_, err := newModel(graph(t, Wrongly{}))
	for _, name := range []string{"text", "number", "stamp"} {
		require.ErrorContains(t, err, "Wrongly."+name+": Day is for a field.Time without a Go type of its own whose SchemaType on PostgreSQL, if it has one, is date")
	}
	require.ErrorContains(t, err, "Wrongly.short: MinLength, MaxLength, Pattern and Searchable are for strings")
	for _, name := range []string{"folds", "width"} {
		require.ErrorContains(t, err, "Wrongly."+name+`: Fold is "accents" for strings, or empty`)
	}
}

// A time that becomes a day is another schema: sets that have the old one are migrated.
func TestHashFollowsDays(t *testing.T) {
	hash := func(day bool) int32 {
		g := graph(t, Booking{})
		if !day {
			for _, s := range g.Schemas {
				for _, f := range s.Fields {
					if f.Name == "starts_on" {
						delete(f.Annotations, expose.FieldName)
					}
				}
			}
		}
		m, err := newModel(g)
		require.NoError(t, err)
		return m.hash
	}
	require.NotEqual(t, hash(true), hash(false))
	require.Equal(t, hash(true), hash(true))
}
