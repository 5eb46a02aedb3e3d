package postgres

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// A transaction that fills a table finds its rows by their keys, checks of foreign keys included, although
// its statements were planned when the table was known to be small.
func TestPlansOfWhenATableWasSmallAreMadeAnew(t *testing.T) {
	t.Parallel()
	s := opened(t, pgtest.Place(t), things())
	d := use(t, s, "default")
	first := begin(t, d, true)
	exec(t, first, "INSERT INTO things (id, name) VALUES (0, 'first')")
	exec(t, first, "ANALYZE things")
	require.NoError(t, first.Commit(ctx))

	tx := begin(t, d, true)
	require.NoError(t, tx.Write(ctx))
	// Whatever the server's own settings are.
	exec(t, tx, "SELECT set_config(name, boot_val, true) FROM pg_settings WHERE name IN ('seq_page_cost','random_page_cost','cpu_tuple_cost','cpu_index_tuple_cost','cpu_operator_cost','effective_cache_size')")
	const rows = 3000
	for i := 1; i <= rows; i++ {
		var other any
		if i > 1 {
			other = i - 1
		}
		require.Zero(t, number(t, tx, "SELECT count(*) FROM things WHERE id = $1", i))
		exec(t, tx, "INSERT INTO things (id, name, other) VALUES ($1, $2, $3)", i, strconv.Itoa(i), other)
	}
	read := number(t, tx, "SELECT seq_tup_read FROM pg_stat_xact_user_tables WHERE relid = 'things'::regclass")
	require.Less(t, read, rows*rows/4, "each row was read for each")
}

// Code that passes over an error of a statement, and makes another one, can be undone to the savepoint
// before it, whenever plans are made anew.
func TestPlansMadeAnewBehindAnError(t *testing.T) {
	t.Parallel()
	s := opened(t, pgtest.Place(t), things())
	tx := begin(t, use(t, s, "default"), true)
	require.NoError(t, tx.Write(ctx))
	exec(t, tx, "INSERT INTO things (id, name) VALUES (0, 'first')")
	end, err := tx.Savepoint(ctx, false)
	require.NoError(t, err)
	exec(t, tx, "INSERT INTO things (id, name) VALUES (1, 'second')")
	for range replanEvery + 1 {
		_, err := tx.ExecContext(ctx, "SELECT 1/0")
		require.Error(t, err)
	}
	require.NoError(t, end(false))
	require.EqualValues(t, 1, number(t, tx, "SELECT count(*) FROM things"))
	require.NoError(t, tx.Commit(ctx))
}
