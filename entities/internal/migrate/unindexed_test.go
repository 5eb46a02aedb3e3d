package migrate

import (
	"fmt"
	"testing"

	"entgo.io/ent/dialect"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

func TestReferencesOfLargeTablesWithoutIndex(t *testing.T) {
	s := owned(1, references)
	s.Entities = thing(catalog.Field{Name: "name"})
	places(t, s, func(t *testing.T, drv dialect.Driver) {
		fill := func(from, to int) {
			exec(t, drv, fmt.Sprintf("INSERT INTO things WITH RECURSIVE n(i) AS (SELECT %d UNION ALL SELECT i+1 FROM n WHERE i<%d) SELECT CAST(i AS TEXT), NULL, NULL FROM n", from, to))
		}
		fill(1, manyRows-1)
		found, err := s.Unindexed(ctx, drv)
		require.NoError(t, err)
		require.Empty(t, found)
		fill(manyRows, manyRows)
		found, err = s.Unindexed(ctx, drv)
		require.NoError(t, err)
		require.Equal(t, []string{"things.owner has no index, so deleting a row of owners reads all rows of Thing"}, found)
		exec(t, drv, "CREATE INDEX partly ON things (owner) WHERE name IS NULL")
		found, err = s.Unindexed(ctx, drv)
		require.NoError(t, err)
		require.Len(t, found, 1, "an index of some rows does not find all")
		exec(t, drv, "CREATE INDEX wholly ON things (owner, name)")
		found, err = s.Unindexed(ctx, drv)
		require.NoError(t, err)
		require.Empty(t, found)
	})
}
