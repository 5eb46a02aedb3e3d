package koantest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

// schemas are those of a server that PostgreSQL has not made itself.
func schemas(t *testing.T) (out []string) {
	t.Helper()
	rows, err := pgtest.Open(t).Query(`SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\_%' AND nspname NOT LIKE 'own%' AND nspname NOT IN ('information_schema', 'public')`)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		out = append(out, name)
	}
	require.NoError(t, rows.Err())
	return out
}

func in(database string) koantest.Setting {
	return koantest.Setting{Key: "database", Value: database}
}

const writes = `SDK.Entities.Todo.upsert({title: "a"}); SDK.Entities.Todo.upsert({title: "b"}, {set: "tenant-x"}); SDK.Entities.Todo.count({title: {$in: ["a", "c"]}})`

// TestSchemasAreDropped: what a test makes in PostgreSQL goes with it, and nothing else does.
func TestSchemasAreDropped(t *testing.T) {
	pgtest.Psql(t, pgtest.Server(t), `CREATE SCHEMA "fixture.default"`, `CREATE TABLE "fixture.default".kept (id int)`)
	t.Run("own", func(t *testing.T) {
		a, b := koantest.New(t, fixture.App(), in(pgtest.Server(t))), koantest.New(t, fixture.App(), in(pgtest.Server(t)))
		for _, k := range []*koantest.Kit{a, b} {
			var count int
			k.Run(writes, koantest.Input{}).ResultInto(&count)
			require.Equal(t, 1, count, "two kits do not see each other")
		}
		require.Greater(t, len(schemas(t)), 4)
	})
	require.Equal(t, []string{"fixture.default"}, schemas(t))

	t.Run("named", func(t *testing.T) {
		place := pgtest.Server(t) + "&schema_prefix=named"
		first := koantest.New(t, fixture.App(), in(place))
		first.Run(writes, koantest.Input{})
		t.Run("second", func(t *testing.T) {
			koantest.New(t, fixture.App(), in(place)).Run(`SDK.Entities.Todo.upsert({title: "c"})`, koantest.Input{})
		})
		var count int
		first.Run(`SDK.Entities.Todo.count({title: {$in: ["a", "c"]}})`, koantest.Input{}).ResultInto(&count)
		require.Equal(t, 2, count, "who comes later drops nothing of it")
	})
	require.Equal(t, []string{"fixture.default"}, schemas(t))
}

// TestSchemasOfFailedTest runs itself in another process, where it fails.
func TestSchemasOfFailedTest(t *testing.T) {
	const there = "KOANTEST_FAILS_IN"
	if server := os.Getenv(there); server != "" {
		koantest.New(t, fixture.App(), in(server)).Run(writes, koantest.Input{})
		t.Fatal("fails on purpose")
	}
	before := schemas(t)
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSchemasOfFailedTest$")
	c.Env = append(os.Environ(), there+"="+pgtest.Server(t))
	out, err := c.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 1, strings.Count(string(out), "fails on purpose"), "%s", out)
	require.NotContains(t, string(out), "stay in PostgreSQL")
	require.Equal(t, before, schemas(t))
}
