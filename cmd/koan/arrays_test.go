package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

const arrays = `CREATE TYPE mood AS ENUM ('glad', 'so so');
CREATE DOMAIN even AS int CHECK (VALUE % 2 = 0);
CREATE TABLE lists (id int PRIMARY KEY, words text[], numbers int[], big bigint[], uuids uuid[], prices numeric[], flags bool[], times timestamptz[], moods mood[],
  raw bytea[], evens even[], docs jsonb[], must text[] NOT NULL, given text[] NOT NULL DEFAULT '{x}', grid int[][], word text);
INSERT INTO lists (id, words, must, grid, word) VALUES (1, '{{a,b},{c,d}}', '{}', '{{1,2},{3,4}}', 'w')`

const listed = `"words":["a","","NULL",null,"q\"\\{},' ä\n"],"numbers":[1,null,-3],"big":["9007199254740993",2],"uuids":["9f9b5a0e-0000-4000-8000-000000000001"],
"prices":[1.50,null],"flags":[true,false,null],"moods":["so so","glad"],"raw":["\\x0102"],"evens":[2,4],"must":["m"]`

// Arrays of PostgreSQL are written as lists, changed, found, undone, exported and imported.
func TestWritesArraysOfPostgreSQL(t *testing.T) {
	place, db := foreign(t, arrays, true)
	i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
	require.NoError(t, err)
	var want map[string]any
	require.NoError(t, json.Unmarshal([]byte("{"+listed+"}"), &want))
	made := does(t, i, "koan::List.create", `{"model":{"id":"2","times":["2026-01-02T03:04:05.678+00:00"],`+listed+`}}`)
	for name, value := range want {
		require.Equal(t, value, made[name], name)
	}
	require.Equal(t, []any{"x"}, made["given"])
	require.Equal(t, "2026-01-02 03:04:05.678+00", first(t, db, "SELECT times[1]::text FROM lists WHERE id = 2"))
	require.Equal(t, "5", first(t, db, "SELECT cardinality(words) FROM lists WHERE id = 2"))
	require.Equal(t, "1.50", first(t, db, "SELECT prices[1]::text FROM lists WHERE id = 2"))

	before := first(t, db, "SELECT string_agg(lists::text, E'\\n' ORDER BY id) FROM lists")
	did := script(t, i, `const L = SDK.Entities.List;
L.patch("2", { words: ["b"], numbers: [], moods: null });
L.upsert({ id: "2", flags: [null] });
L.delete("1");
return [L.count({ words: { $has: "b" } }), L.count({ numbers: { $size: 0 } }), L.count({ prices: { $has: 1.5 } })]`, nil)
	require.Equal(t, []any{1.0, 1.0, 1.0}, did["result"])
	_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
	require.NoError(t, err)
	require.Equal(t, before, first(t, db, "SELECT string_agg(lists::text, E'\\n' ORDER BY id) FROM lists"))

	// A row of more dimensions is kept where it is sent back as it was shown.
	script(t, i, `const { grid, ...row } = SDK.Entities.List.getById("1"); row.word = "changed"; SDK.Entities.List.upsert(row)`, nil)
	require.Equal(t, "{{a,b},{c,d}} changed", first(t, db, "SELECT words::text || ' ' || word FROM lists WHERE id = 1"))
	for _, c := range []struct{ in, path string }{
		{`{"id":"2","changes":{"numbers":["x"]}}`, "numbers"},
		{`{"id":"2","changes":{"words":[["a"]]}}`, "words"},
		{`{"id":"2","changes":{"words":"a"}}`, "words"},
		{`{"id":"2","changes":{"moods":["angry"]}}`, ""},
		{`{"id":"2","changes":{"evens":[3]}}`, ""},
		{`{"id":"2","changes":{"grid":[1]}}`, "grid"},
		{`{"id":"2","changes":{"docs":[1]}}`, "docs"},
		{`{"id":"2","changes":{"numbers":[3000000000]}}`, ""},
	} {
		f := refused(t, i, "koan::List.patch", c.in)
		require.Equal(t, fault.InvalidPayload, f.Code, "%s: %v", c.in, f)
		if c.path != "" {
			require.Contains(t, string(encode(t, f.Details))+f.Path, c.path)
		}
	}
}

// What is exported is imported as it was.
func TestArraysAreExportedAndImported(t *testing.T) {
	place, db := foreign(t, strings.Replace(arrays, "'{{a,b},{c,d}}'", `'{a,NULL,"b,c"}'`, 1), true)
	dir := t.TempDir()
	koan := func(args ...string) string {
		t.Helper()
		out, errs, status := koanIn(t, dir, append(args, "--database", place)...)
		require.Zero(t, status, "%s%s", out, errs)
		return out
	}
	before := first(t, db, "SELECT lists::text FROM lists")
	for _, format := range []string{"jsonl", "csv"} {
		file := filepath.Join(dir, "rows."+format)
		require.NoError(t, os.WriteFile(file, []byte(koan("export", "default", "--entity", "List", "--format", format)), 0o600))
		_, err := db.Exec("UPDATE lists SET words = '{z}', must = '{y}'")
		require.NoError(t, err)
		koan("import", file, "--entity", "List", "--upsert", "--readOnly", "false", "--approval.mode", "never")
		require.Equal(t, before, first(t, db, "SELECT lists::text FROM lists"), format)
	}
}
