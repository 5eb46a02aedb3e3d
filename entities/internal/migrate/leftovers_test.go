package migrate

import (
	"testing"

	"entgo.io/ent/dialect"
	entschema "entgo.io/ent/dialect/sql/schema"
	"entgo.io/ent/schema/field"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

func TestValuesThatAnEnumHadAreReported(t *testing.T) {
	old := table(1, &entschema.Column{Name: "state", Type: field.TypeEnum, Enums: []string{"new", "worn"}, Nullable: true})
	places(t, old, func(t *testing.T, drv dialect.Driver) {
		exec(t, drv, "INSERT INTO things VALUES ('a', 'worn'), ('b', 'new'), ('c', NULL)")
		to := table(2, &entschema.Column{Name: "state", Type: field.TypeEnum, Enums: []string{"new"}, Nullable: true})
		to.Entities = thing(catalog.Field{Name: "state", Type: catalog.TypeEnum, Enum: []string{"new", "it's"}})
		left, err := in(to).Leftovers(ctx, drv)
		require.NoError(t, err)
		require.Len(t, left, 1)
		require.Contains(t, left[0], `in 1 row of Thing state has a value that the schema does not have any more (id "a", state "worn")`)
		_, err = in(to).Open(ctx, drv, "default")
		require.NoError(t, err)
		exec(t, drv, "UPDATE things SET state = 'it''s' WHERE id = 'a'")
		left, err = in(to).Leftovers(ctx, drv)
		require.NoError(t, err)
		require.Empty(t, left)
	})
}
