package engine_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/tests/fixture/ent"
)

func TestMigratesDataOfAnOlderApp(t *testing.T) {
	t.Parallel()
	if forEach(t, TestMigratesDataOfAnOlderApp) {
		return
	}
	folder := t.TempDir()
	first := entities.Provide(ent.Entities(), entities.Options{})
	require.NoError(t, first.Start(context.Background(), host{"sqlite://" + folder}))
	require.NoError(t, first.Stop(context.Background()))
	db := sqlitedriver.Open(filepath.Join(folder, "default.db"))
	for _, s := range []string{
		"INSERT INTO todos (id, title, completed, priority, views, version, created_at, updated_at) VALUES ('old', 'kept', 1, 'low', 3, 4, '2026-01-01 00:00:00+00:00', '2026-01-01 00:00:00+00:00')",
		"ALTER TABLE todos DROP COLUMN effort", "DROP TABLE steps", "DROP TABLE koan_receipts", "DROP TABLE koan_set", "DROP TABLE koan_migrations", "PRAGMA user_version = 5",
	} {
		_, err := db.Exec(s)
		require.NoError(t, err, s)
	}
	require.NoError(t, db.Close())
	a := startIn(t, folder, ent.Entities(ent.OnCreateSet(func(context.Context, string, *ent.Client) error {
		t.Error("data that exists is never filled")
		return nil
	})))
	todo := a.call("Todo.patch", `{"id":"old","changes":{"effort":2}}`)
	require.Equal(t, "kept", todo["title"])
	require.EqualValues(t, 5, todo["version"])
	require.EqualValues(t, 2, todo["effort"])
	a.call("Step.upsert", `{"model":{"text":"x","todo":"old"}}`)
}
