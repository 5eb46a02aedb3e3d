package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// manyPages is a folder with a set of many pages, which nobody has open.
func manyPages(t *testing.T) (folder, file string) {
	t.Helper()
	folder = t.TempDir()
	p := entities.Provide(ent.Entities(), entities.Options{})
	require.NoError(t, p.Start(t.Context(), host{"sqlite://" + folder}))
	require.NoError(t, p.Stop(t.Context()))
	file = filepath.Join(folder, "default.db")
	db := connect(t, "file:"+file+"?_journal_mode=WAL")
	for i := range 200 {
		_, err := db.Exec("INSERT INTO labels (name) VALUES (?)", strings.Repeat("x", 200)+fmt.Sprint(i))
		require.NoError(t, err)
	}
	require.NoError(t, db.Close())
	return folder, file
}

// checked starts the app over a folder and returns what doctor says of its database.
func checked(t *testing.T, folder string) catalog.Check {
	t.Helper()
	p := entities.Provide(ent.Entities(), entities.Options{})
	require.NoError(t, p.Start(t.Context(), host{"sqlite://" + folder}))
	t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	return p.Checks(t.Context())[0]
}

func TestDoctorReadsAllPages(t *testing.T) {
	t.Parallel()
	folder, file := manyPages(t)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	at := strings.Index(string(data), strings.Repeat("x", 200)+"42")
	require.Positive(t, at)
	page := at / 4096 * 4096
	for i := page; i < page+16; i++ { // the header of a page of rows
		data[i] = 0xff
	}
	require.NoError(t, os.WriteFile(file, data, 0o600))
	c := checked(t, folder)
	require.False(t, c.OK, c.Detail)
	require.Contains(t, c.Detail, `the file of the set "default" is damaged`)
	require.Contains(t, c.Hint, "backup")
}

func TestDoctorFindsNothingWrongWithWhatIsWhole(t *testing.T) {
	t.Parallel()
	folder, _ := manyPages(t)
	c := checked(t, folder)
	require.True(t, c.OK, c.Detail)
	require.NotContains(t, c.Detail, "within")
}

// A path that is mistyped is an empty file of SQLite.
func TestDoctorFindsAnEmptyDatabaseOfTheApp(t *testing.T) {
	t.Parallel()
	a, _ := served(t, "file:"+filepath.Join(t.TempDir(), "typo.db"), ent.Entities())
	c := a.provider.Checks(t.Context())[0]
	require.False(t, c.OK, c.Detail)
	require.Contains(t, c.Detail, `the database of the set "default", which the app opens, lacks the table `)
	require.Contains(t, c.Detail, "more")
	require.Contains(t, c.Hint, "mistyped")
}
