package main

import (
	"context"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
)

// damage writes a file of SQLite with some rows and spoils it.
func damage(t *testing.T, spoil func(raw []byte) []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "damaged.db")
	db := sqlitedriver.Open("file:" + path)
	_, err := db.Exec(`CREATE TABLE things (id INTEGER PRIMARY KEY, word TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO things SELECT i, printf('%0200d', i) FROM n`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, spoil(raw), 0o600))
	return path
}

// A file that is encrypted, or of which the schema is gone, is refused with its place and a way out, and stays as it is.
func TestSpoiledFilesAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(raw []byte) []byte
		hint  string
	}{
		"encrypted":                 {func(raw []byte) []byte { _, _ = rand.Read(raw[:100]); return raw }, "encrypted"},
		"cut off in the first page": {func(raw []byte) []byte { return raw[:300] }, ""},
		"schema overwritten":        {func(raw []byte) []byte { _, _ = rand.Read(raw[100:4096]); return raw }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := damage(t, c.spoil)
			before, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, readOnly := range []string{"true", "false"} {
				_, err := start(t, map[string]string{"database": "sqlite:" + path, "readOnly": readOnly})
				f, ok := errors.AsType[*fault.Fault](err)
				require.True(t, ok, "%v", err)
				require.Equal(t, fault.ServiceUnavailable, f.Code)
				require.Contains(t, f.Message, path)
				require.Equal(t, "/database", f.Path)
				require.NotEmpty(t, f.Hint)
				require.Contains(t, f.Hint, c.hint)
			}
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, before, after)
		})
	}
}

// A file that is half there serves what can be read of it; what cannot is a fault that says that the file is damaged,
// and a script that meets it writes nothing.
func TestHalfWrittenFile(t *testing.T) {
	path := damage(t, func(raw []byte) []byte { return raw[:len(raw)/2/4096*4096] })
	i, err := start(t, map[string]string{"database": "sqlite:" + path, "readOnly": "false"})
	if err != nil { // SQLite may find out at once
		requireDamaged(t, err)
		return
	}
	_, err = call(t, i, "code::koan.execute", map[string]any{"code": `SDK.Entities.Thing.patch("1", { word: "new" }); return SDK.Entities.Thing.aggregate({ max: "word" })`})
	requireDamaged(t, err)
	db := sqlitedriver.Open("file:" + path)
	t.Cleanup(func() { _ = db.Close() })
	require.NotEqual(t, "new", first(t, db, "SELECT word FROM things WHERE id = 1"))
}

func requireDamaged(t *testing.T, err error) {
	t.Helper()
	f, ok := errors.AsType[*fault.Fault](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, fault.ServiceUnavailable, f.Code, "%v", f)
	require.NotEmpty(t, f.Hint)
	require.Regexp(t, "damaged|malformed|not a database", f.Error()+f.Hint)
}

// An id of a run with a NUL character is that of no run, also where PostgreSQL keeps the runs.
func TestRunIDWithNUL(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		keys := map[string]string{"database": s.place, "ledger.database": "sqlite://" + t.TempDir()}
		if strings.HasPrefix(s.place, "postgres:") {
			keys["ledger.database"], _ = foreign(t, "SELECT 1", true)
		}
		i, err := framework.New(t.Context(), databaseApp(), framework.Options{Config: framework.Source{Flags: keys}})
		require.NoError(t, err)
		t.Cleanup(func() { _ = i.Stop(context.Background()) })
		for _, op := range []string{"status", "undo"} {
			f := refused(t, i, "code::koan."+op, `{"runId":"a\u0000"}`)
			require.Equal(t, fault.NotFound, f.Code, "%v", f)
			require.Equal(t, "/runId", f.Path)
		}
	})
}

// A table that is dropped, and a server that goes away, in the middle of a script: a fault, and nothing half-done.
func TestDatabaseThatChangesUnderAScript(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		i, err := start(t, map[string]string{"database": s.place, "readOnly": "false", "approval.mode": "never"})
		require.NoError(t, err)
		_, err = s.db.Exec("DROP TABLE lines")
		require.NoError(t, err)
		_, err = call(t, i, "code::koan.execute", map[string]any{"code": `SDK.Entities.Customer.patch("1", { rating: 8 }); return SDK.Entities.Line.count()`})
		f, ok := errors.AsType[*fault.Fault](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, fault.ServiceUnavailable, f.Code)
		require.Contains(t, f.Error()+f.Hint, "SIGHUP")
		require.Equal(t, []string{"2"}, s.list(t, "SELECT rating FROM customers WHERE customer_id = 1"))
	})
}

// A server that goes away while a script writes.
func TestServerThatGoesAwayUnderAScript(t *testing.T) {
	place, db := foreign(t, storeSchema, true)
	i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
	require.NoError(t, err)
	_, err = db.Exec(`CREATE FUNCTION gone() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
CREATE TRIGGER gone BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION gone()`)
	require.NoError(t, err)
	_, err = call(t, i, "code::koan.execute", map[string]any{"code": `SDK.Entities.Customer.patch("1", { rating: 8 }); return SDK.Entities.Order.patch("7", { cents: 9 })`})
	f, ok := errors.AsType[*fault.Fault](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, fault.ServiceUnavailable, f.Code, "%v", f)
	require.NotEmpty(t, f.Hint)
	require.Equal(t, "2", first(t, db, "SELECT rating FROM customers WHERE customer_id = 1"))
	require.Equal(t, 2.0, does(t, i, "koan::Customer.count", `{}`)["count"], "it is asked again")
}

// Replicas are for data that Koan keeps itself: it has no positions of a database whose tables are another program's.
func TestReplicasOfADatabaseThatExists(t *testing.T) {
	path := damage(t, func(raw []byte) []byte { return raw })
	_, err := start(t, map[string]string{"database": "sqlite:" + path, "database.replicas": "postgres://app@db2/app"})
	f, ok := errors.AsType[*fault.Fault](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, fault.CapabilityUnsupported, f.Code)
	require.Equal(t, "/database/replicas", f.Path)
	require.Contains(t, f.Hint, "name the replica in `database`")
}
