//go:build databases

package databases

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
)

// playlist is the part of Chinook that is deleted: the entity of a table that only links rows, which the configuration
// asks for, and how many rows of it belong to the playlist Music.
const (
	playlistRows   = 3290
	deletePlaylist = `SDK.Entities.PlaylistTrack.deleteByQuery({ playlistId: "1" }, { maxAffected: 10000 })`
)

// The agent asks for the deletion, and the boss decides.
var (
	agent = framework.Principal{Subject: "agent", Scopes: []string{"entities:write"}, Sets: []string{"*"}}
	boss  = framework.Principal{Subject: "boss", Scopes: []string{auth.All, auth.Approve}, Sets: []string{"*"}}
)

// tableDump returns every row of every table, in the words of the database itself.
func tableDump(t *testing.T, db *sql.DB, tables string, row func(table string) string) map[string][]string {
	t.Helper()
	column := func(query string) (out []string) {
		found, err := db.Query(query)
		require.NoError(t, err, query)
		defer func() { _ = found.Close() }()
		for found.Next() {
			var text string
			require.NoError(t, found.Scan(&text))
			out = append(out, text)
		}
		require.NoError(t, found.Err())
		return out
	}
	out := map[string][]string{}
	for _, table := range column(tables) {
		out[table] = column(row(table))
		slices.Sort(out[table])
	}
	return out
}

// onSQLite returns a copy of Chinook, and how to look at it beside Koan.
func onSQLite(t *testing.T) (place string, look func() map[string][]string) {
	t.Helper()
	raw, err := os.ReadFile(file(t, "chinook.sqlite"))
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "chinook.db")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	db := sqlitedriver.Open("file:" + path)
	t.Cleanup(func() { _ = db.Close() })
	return "sqlite:" + path, func() map[string][]string {
		return tableDump(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table'", func(table string) string {
			var row string
			require.NoError(t, db.QueryRow(`SELECT group_concat('typeof("' || name || '") || quote("' || name || '")', ' || ') FROM pragma_table_info(?)`, table).Scan(&row))
			return `SELECT ` + row + ` FROM "` + table + `"`
		})
	}
}

func onPostgreSQL(t *testing.T) (place string, look func() map[string][]string) {
	t.Helper()
	place = onServer(t, "chinook_deletion", chinookWithoutDatabase(t))
	db, err := sql.Open("pgx", place)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return place, func() map[string][]string {
		return tableDump(t, db, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'", func(table string) string {
			return `SELECT CAST(r AS text) FROM "` + table + `" r`
		})
	}
}

// One script deletes 3,290 rows only when a person has approved it, and an undo brings every byte back.
func TestDeletionOfThousandsOfRowsIsApprovedAndUndone(t *testing.T) {
	for name, c := range map[string]struct {
		open  func(*testing.T) (string, func() map[string][]string)
		table string
	}{"SQLite": {onSQLite, "PlaylistTrack"}, "PostgreSQL": {onPostgreSQL, "playlist_track"}} {
		t.Run(name, func(t *testing.T) {
			place, look := c.open(t)
			before := look()
			require.Len(t, before, 11)
			config := filepath.Join(t.TempDir(), "koan.yaml")
			require.NoError(t, os.WriteFile(config, []byte("readOnly: false\nentities:\n  PlaylistTrack: { table: "+c.table+" }\n"), 0o600))
			i, err := framework.New(t.Context(), framework.App{Name: "deletion", Providers: []framework.Provider{entities.ProvideExisting(nil)}},
				framework.Options{Config: framework.Source{File: config, Flags: map[string]string{"database": place, "ledger.database": "sqlite://" + t.TempDir(), "approval.mode": "destructive"}}})
			require.NoError(t, err)
			t.Cleanup(func() { _ = i.Stop(context.Background()) })
			deleted := deletes(t, i, func() { require.Equal(t, before, look(), "nobody has approved it") })
			after := look()
			require.Len(t, after[c.table], len(before[c.table])-playlistRows)
			after[c.table] = before[c.table]
			require.Equal(t, before, after, "rows of other tables stay")
			_, err = i.Invoke(t.Context(), agent, "code::koan.undo", map[string]any{"runId": deleted}, nil)
			require.NoError(t, err)
			require.Equal(t, before, look())
		})
	}
}

// deletes carries the deletion out by way of a dry run and an approval, and returns its run. unchanged is called when nothing
// may have been deleted.
func deletes(t *testing.T, i *framework.Instance, unchanged func()) (runID string) {
	t.Helper()
	run := func(who framework.Principal, in map[string]any) (out struct{ RunID string }, raw string, err error) {
		var answer json.RawMessage
		_, err = i.Invoke(t.Context(), who, "code::koan.execute", in, &answer)
		if err == nil {
			require.NoError(t, json.Unmarshal(answer, &out))
		}
		return out, string(answer), err
	}
	_, raw, err := run(agent, map[string]any{"code": deletePlaylist, "dryRun": true})
	require.NoError(t, err)
	require.Contains(t, raw, "3290")
	unchanged()

	_, raw, err = run(agent, map[string]any{"code": strings.Replace(deletePlaylist, "10000", "1000", 1)})
	require.True(t, err != nil || strings.Contains(raw, `"error"`), "more than the caller expected: %s", raw)
	unchanged()

	_, _, err = run(agent, map[string]any{"code": deletePlaylist})
	require.Error(t, err)
	f := fault.From(err)
	require.Equal(t, fault.ApprovalRequired, f.Code, "%v", err)
	unchanged()
	details, err := json.Marshal(f.Details)
	require.NoError(t, err)
	var plan struct{ PlanID string }
	require.NoError(t, json.Unmarshal(details, &plan))
	out, raw, err := run(boss, map[string]any{"planId": plan.PlanID})
	require.NoError(t, err)
	require.Contains(t, raw, "3290")
	return out.RunID
}
