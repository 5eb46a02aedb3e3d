package database

import (
	"context"
	"strconv"
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

// What ent keeps in a context comes back as it is, whatever the names and values are, and another shape is
// refused and not taken for none.
func FuzzDecodeVariables(f *testing.F) {
	f.Add("app.user", "anna", "app.tenant", 7)
	f.Add("", "", "x", -1)
	f.Add("a", "it's", "a", 0)
	f.Add("ä\x00", "\xff", `"`, 1<<53)
	f.Fuzz(func(t *testing.T, a, text, b string, number int) {
		ctx := entsql.WithIntVar(entsql.WithVar(t.Context(), a, text), b, number)
		vars, err := decodeVariables(ctx.Value(entsKey))
		require.NoError(t, err)
		want := map[string]string{a: text, b: strconv.Itoa(number)}
		require.Len(t, vars, len(want))
		for i, v := range vars {
			require.Equal(t, want[v.Name], v.Value)
			require.True(t, i == 0 || vars[i-1].Name < v.Name, "sorted")
		}
		type pair struct{ K, V string }
		for _, other := range []any{text, number, []pair{{a, text}}, struct{ Vars []pair }{}, struct{ A, B []pair }{}, struct{ Vars []string }{[]string{a}}, struct{ Vars []struct{ K, V int } }{make([]struct{ K, V int }, 1)}} {
			out, err := decodeVariables(other)
			if err == nil {
				require.Empty(t, out, "%T", other)
				require.Equal(t, struct{ Vars []pair }{}, other, "an empty list is one without variables")
			}
		}
	})
}
