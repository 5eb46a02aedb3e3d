package migrate

import (
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	entschema "entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// A column of texts or of times that becomes one of days needs consent; what is no day keeps
// everything as it was, and no session's time zone decides about a day.
func TestColumnBecomesOneOfDays(t *testing.T) {
	day := func() *entschema.Column {
		return &entschema.Column{Name: "due", Type: field.TypeTime, Nullable: true, SchemaType: map[string]string{dialect.Postgres: "date"}}
	}
	for name, c := range map[string]struct {
		from  *entschema.Column
		value string
		want  string // "" where it cannot be converted
	}{
		"text":       {&entschema.Column{Name: "due", Type: field.TypeString, Nullable: true}, "'2026-01-31'", "2026-01-31"},
		"other text": {&entschema.Column{Name: "due", Type: field.TypeString, Nullable: true}, "'1/2/2026'", ""},
		"no day":     {&entschema.Column{Name: "due", Type: field.TypeString, Nullable: true}, "'2026-02-30'", ""},
		"time":       {&entschema.Column{Name: "due", Type: field.TypeTime, Nullable: true}, "'2026-01-31T00:00:00Z'", "2026-01-31"},
		"timestamp":  {&entschema.Column{Name: "due", Type: field.TypeTime, Nullable: true, SchemaType: map[string]string{dialect.Postgres: "timestamp"}}, "'2026-01-31 00:00:00'", "2026-01-31"},
	} {
		t.Run(name, func(t *testing.T) {
			db := pgtest.Open(t)
			db.SetMaxOpenConns(1)
			drv := entsql.OpenDB(dialect.Postgres, db)
			exec(t, drv, "SET TIME ZONE 'Pacific/Auckland'")
			old, newer := table(1, c.from), table(2, day())
			require.NoError(t, in(old).Create(ctx, drv))
			require.NoError(t, in(old).Made(ctx, drv))
			exec(t, drv, "INSERT INTO things VALUES ('1', "+c.value+"), ('2', NULL)")
			require.Contains(t, judged(t, in(newer), drv).Why, "changes the column things.due from")
			v, err := in(newer).Apply(ctx, drv, "default", true)
			var got *string
			require.NoError(t, db.QueryRow("SELECT CAST(due AS text) FROM things WHERE id = '1'").Scan(&got))
			if c.want == "" {
				require.Error(t, err)
				require.Equal(t, c.value, "'"+*got+"'")
				return
			}
			require.NoError(t, err)
			require.Equal(t, Current, v.State)
			require.Equal(t, c.want, *got)
			require.Equal(t, Current, judged(t, in(newer), drv).State)
		})
	}
}
