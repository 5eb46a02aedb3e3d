package entgen

import (
	"testing"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/expose"
)

// Misplaced has annotations where nothing reads them.
type Misplaced struct{ ent.Schema }

func (Misplaced) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{}, expose.Field{Sensitive: expose.Yes()}}
}

func (Misplaced) Fields() []ent.Field {
	return []ent.Field{
		field.String("id").Annotations(expose.Field{Description: "What is printed on it.", Sensitive: expose.Yes()}),
		field.String("salary").Annotations(expose.Edge{Hidden: expose.Yes()}),
		field.String("bonus").Annotations(expose.Entity{ReadScopes: []string{"pay:read"}}),
	}
}

func (Misplaced) Edges() []ent.Edge {
	return []ent.Edge{edge.To("boss", Misplaced.Type).Unique().Annotations(expose.Field{Sensitive: expose.Yes()})}
}

func (Misplaced) Indexes() []ent.Index {
	return []ent.Index{index.Fields("salary").Annotations(expose.Field{Sensitive: expose.Yes()})}
}

func TestAnnotationsThatNothingReadsAreRefused(t *testing.T) {
	_, err := newModel(graph(t, Misplaced{}))
	require.Error(t, err)
	for _, want := range []string{
		"koan: 6 problems",
		"Misplaced: expose.Field is for fields and does nothing on a schema",
		"Misplaced.salary: expose.Edge is for edges and does nothing on a field: a field takes expose.Field, and expose.Field{Sensitive: expose.Yes()} hides",
		"Misplaced.bonus: expose.Entity is for schemas and does nothing on a field",
		"Misplaced.boss: expose.Field is for fields and does nothing on an edge: an edge takes expose.Edge, and expose.Edge{Hidden: expose.Yes()} hides it",
		"Misplaced, index misplaced_salary: expose.Field is for fields and does nothing on an index",
		"Misplaced.id: of expose.Field an id takes the Description only",
	} {
		require.ErrorContains(t, err, want)
	}
}

// Sampled has examples and defaults that callers cannot send.
type Sampled struct{ ent.Schema }

func (Sampled) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (Sampled) Fields() []ent.Field {
	such := func(example any) expose.Field { return expose.Field{Example: example} }
	return []ent.Field{
		field.Int("number").Annotations(such("abc")),
		field.Enum("state").Values("on", "off").Annotations(such("zzz")),
		field.String("code").Annotations(expose.Field{Example: "zzz", Pattern: "^[A-Z]$"}),
		field.String("short").Annotations(expose.Field{Example: "abc", MaxLength: expose.Length(2)}),
		field.String("narrow").MaxLen(3).Annotations(such("abcd")),
		field.String("wide").MaxLen(3).Annotations(such("äöü")),
		field.Time("at").Annotations(such("yesterday")),
		field.Time("on").Annotations(expose.Field{Example: "2026-02-30", Day: expose.Yes()}),
		field.Strings("tags").Annotations(such([]int{1})),
		field.String("secret").Sensitive().Annotations(such(7)),
		field.Int("least").Default(3).Annotations(expose.Field{Min: expose.Number(5)}),
		field.String("brief").Default("x").Annotations(expose.Field{MinLength: expose.Length(3)}),
	}
}

// Fitting has some that they can.
type Fitting struct{ ent.Schema }

func (Fitting) Annotations() []schema.Annotation { return []schema.Annotation{expose.Entity{}} }

func (Fitting) Fields() []ent.Field {
	such := func(example any) expose.Field { return expose.Field{Example: example} }
	return []ent.Field{
		field.Int("number").Default(3).Annotations(expose.Field{Example: 4, Min: expose.Number(3)}),
		field.Enum("state").Values("on", "off").Default("on").Annotations(such("off")),
		field.String("code").MaxLen(6).Annotations(expose.Field{Example: "äöü", Pattern: "^[^a-z]*$"}),
		field.Time("at").Annotations(such(time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC))),
		field.Time("on").Default(time.Now).Annotations(expose.Field{Example: "2026-01-31", Day: expose.Yes()}),
		field.Strings("tags").Default([]string{"a"}).Annotations(such([]string{"b"})),
		field.JSON("any", map[string]any{}).Annotations(such(map[string]any{"a": 1})),
		field.Float("price").SchemaType(map[string]string{"postgres": "numeric"}).Annotations(such(9.5)),
		field.Bytes("raw").Annotations(such([]byte("koan"))),
		field.Int("parent_id").Optional().Annotations(such(3)),
	}
}

func (Fitting) Edges() []ent.Edge {
	return []ent.Edge{edge.To("children", Fitting.Type).From("parent").Field("parent_id").Unique()}
}

func TestExamplesAndDefaultsCanBeSent(t *testing.T) {
	_, err := newModel(graph(t, Sampled{}))
	require.Error(t, err)
	for _, want := range []string{
		"koan: 12 problems",
		`Sampled.number: its Example "abc" cannot be sent by callers: "number" takes an integer`,
		`Sampled.state: its Example "zzz" cannot be sent by callers: "zzz" is not a value of "state"; it takes one of on, off`,
		`Sampled.code: its Example "zzz" cannot be sent by callers: code must match ^[A-Z]$`,
		`Sampled.short: its Example "abc" cannot be sent by callers: short must have at most 2 characters, not 3`,
		`Sampled.narrow: its Example "abcd" cannot be sent by callers: narrow must have at most 3 characters, not 4`,
		`Sampled.wide: its Example "äöü" cannot be sent by callers: it needs more bytes of UTF-8`,
		`Sampled.at: its Example "yesterday" cannot be sent by callers: "at" takes an RFC 3339 time such as`,
		`Sampled.on: its Example "2026-02-30" cannot be sent by callers: "on" `,
		`Sampled.tags: its Example [1] cannot be sent by callers: tags does not match its schema`,
		`Sampled.secret: its Example 7 cannot be sent by callers: "secret" takes a string`,
		"Sampled.least: its default 3 cannot be sent back by callers: least must be at least 5, not 3; change the default or the limit",
		`Sampled.brief: its default "x" cannot be sent back by callers: brief must have at least 3 characters`,
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = newModel(graph(t, Fitting{}))
	require.NoError(t, err)
}

// Contrary says what cannot be.
type Contrary struct{ ent.Schema }

func (Contrary) Annotations() []schema.Annotation {
	return []schema.Annotation{expose.Entity{
		ReadOnly: expose.Yes(), Operations: []string{"collection", "upsert", "new"},
		ReadScopes: []string{""}, WriteScopes: []string{"a b"}, DeleteScopes: []string{"a:b"},
	}}
}

func (Contrary) Fields() []ent.Field {
	return []ent.Field{field.String("pay").Annotations(expose.Field{ReadScopes: []string{"zahlung:lösen"}})}
}

func (Contrary) Edges() []ent.Edge { return []ent.Edge{edge.To("all", Contrary.Type)} }

func TestAnnotationsThatContradictEachOtherAreRefused(t *testing.T) {
	_, err := newModel(graph(t, Contrary{}))
	require.Error(t, err)
	for _, want := range []string{
		"koan: 6 problems",
		`Contrary: it is ReadOnly, and its Operations name "upsert", which writes`,
		`Contrary: it is ReadOnly, and its Operations name "new"`,
		`Contrary: ReadScopes has "", which no token can carry`,
		`Contrary: WriteScopes has "a b"`,
		`Contrary.pay: ReadScopes has "zahlung:lösen"`,
		`Contrary.all: callers say "all" for every relationship`,
	} {
		require.ErrorContains(t, err, want)
	}
}
