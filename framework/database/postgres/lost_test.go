package postgres

import (
	"context"
	"testing"

	"entgo.io/ent/dialect"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

// TestLostSetIsNotCreatedAnew drops the schema of a set that the table of sets lists.
func TestLostSetIsNotCreatedAnew(t *testing.T) {
	url, schema := pgtest.Place(t), things()
	s := opened(t, url, schema)
	d := use(t, s, "default")
	exec(t, d.DB(), "DROP SCHEMA "+quoted(d.schema)+" CASCADE")
	next := opened(t, url, schema)
	_, _, _, using := next.Use(ctx, "default")
	_, _, _, drafting := next.Draft(ctx, "default")
	looking := next.Look(ctx, "default", func(context.Context, dialect.Driver) error { return nil })
	for _, err := range []error{using, drafting, looking} {
		require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, d.schema+", is missing")
	}
	lost, err := next.Lost(ctx)
	require.NoError(t, err)
	require.Len(t, lost, 1)
	require.Contains(t, lost[0].Message, d.schema+", is missing")
	exec(t, d.DB(), "DELETE FROM "+s.table()+" WHERE name = 'default'") // it is given up
	lost, err = next.Lost(ctx)
	require.NoError(t, err)
	require.Empty(t, lost)
	use(t, next, "default")
}
