package files

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/pgtest"
)

// forget deletes a run from the journal, as its retention does.
func forget(t *testing.T, database, run string) {
	t.Helper()
	driver, source, table := "sqlite3", filepath.Join(strings.TrimPrefix(database, "sqlite://"), "koan.ledger"), "koan_journal"
	if pgtest.Here(t) {
		driver = "pgx"
		source, _, _ = strings.Cut(database, "&schema_prefix=")
	}
	db, err := sql.Open(driver, source)
	require.NoError(t, err)
	defer db.Close()
	if pgtest.Here(t) {
		_, prefix, _ := strings.Cut(database, "schema_prefix=")
		var schema string
		require.NoError(t, db.QueryRow("SELECT table_schema FROM information_schema.tables WHERE table_name = 'koan_journal' AND table_schema = $1", prefix).Scan(&schema))
		table = fmt.Sprintf("%q.%s", schema, table)
	}
	result, err := db.Exec(pgtest.Marks(t, "DELETE FROM "+table+" WHERE id = ?"), run)
	require.NoError(t, err)
	n, err := result.RowsAffected()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
}

// A file to which only runs refer goes when the journal has dropped them.
func TestFilesGoWithTheJournal(t *testing.T) {
	if pgtest.ForEach(t, TestFilesGoWithTheJournal) {
		return
	}
	dir, database := t.TempDir(), "sqlite://"+t.TempDir()
	if pgtest.Here(t) {
		database = pgtest.Place(t)
	}
	start := func() *framework.Instance {
		i, err := framework.New(t.Context(), fixture.App(), framework.Options{Config: framework.Source{Flags: map[string]string{"database": database, "files.dir": dir, "journal.enabled": "true"}}, Testing: true})
		require.NoError(t, err)
		return i
	}
	i := start()
	run := func(code string) string {
		out, err := i.Invoke(t.Context(), auth.Local(), "code::koan.execute", map[string]any{"code": code}, nil)
		require.NoError(t, err)
		return out.Run
	}
	store, err := i.Files(auth.Local(), "create")
	require.NoError(t, err)
	upload := func(text string) string {
		f, err := store.Put(t.Context(), framework.Upload{Set: "default", Owner: auth.Local().Subject, Body: strings.NewReader(text)})
		require.NoError(t, err)
		return f.ID
	}
	read, row, still := upload("read"), upload("row"), upload("still")
	forgotten := run(`SDK.Files.text("` + read + `"); SDK.Entities.Todo.upsert({ title: "see", notes: "` + row + `" }); 1`)
	run(`SDK.Files.text("` + still + `")`)
	require.NoError(t, i.Stop(t.Context()))
	forget(t, database, forgotten)
	yesterday := time.Now().Add(-25 * time.Hour)
	require.NoError(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		return os.Chtimes(path, time.Time{}, yesterday)
	}))
	i = start()
	t.Cleanup(func() { _ = i.Stop(t.Context()) })
	store, err = i.Files(auth.Local(), "get")
	require.NoError(t, err)
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		_, err := store.Find(t.Context(), auth.Local(), read)
		assert.Equal(c, fault.NotFound, fault.CodeOf(err))
	}, 20*time.Second, 10*time.Millisecond)
	for _, id := range []string{row, still} {
		_, _, err := store.Bytes(t.Context(), auth.Local(), id, 100)
		require.NoError(t, err)
	}
}
