package backend

import (
	"context"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestVariablesAreThoseOfEnt(t *testing.T) {
	none, err := Variables(t.Context())
	require.NoError(t, err)
	require.Empty(t, none)
	ctx := entsql.WithVar(entsql.WithIntVar(entsql.WithVar(t.Context(), "b.x", "old"), "a.n", 5), "b.x", "it's new")
	vars, err := Variables(ctx)
	require.NoError(t, err)
	require.Equal(t, []Variable{{"a.n", "5"}, {"b.x", "it's new"}}, vars, "the last one of a name counts, as with ent")

	bare := WithoutVariables(ctx)
	_, found := entsql.VarFromContext(bare, "a.n")
	require.False(t, found)
	held, err := detachVariables(ctx, dialect.Postgres)
	require.NoError(t, err)
	_, found = entsql.VarFromContext(held, "a.n")
	require.False(t, found, "ent would leave them on the connection")
	again, err := Variables(held)
	require.NoError(t, err)
	require.Equal(t, vars, again)
	_, err = detachVariables(ctx, dialect.SQLite)
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
}

func TestVariablesOfAnotherShapeAreRefused(t *testing.T) {
	for _, carried := range []any{5, struct{}{}, struct{ vars []int }{[]int{1}}, struct{ vars []struct{ k string } }{[]struct{ k string }{{"a"}}}} {
		_, err := Variables(context.WithValue(t.Context(), entsKey, carried))
		require.ErrorIs(t, err, errVariables, "%T", carried)
	}
}
