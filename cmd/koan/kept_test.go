package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

// foreign makes a database out of statements, and returns how it is named and a way to look at it.
func foreign(t *testing.T, statements string, onPostgreSQL bool) (place string, db *sql.DB) {
	t.Helper()
	var err error
	if onPostgreSQL {
		name := strings.ToLower(strings.NewReplacer("/", "_", "-", "_").Replace(t.Name()))
		pgtest.Psql(t, pgtest.Server(t), "CREATE DATABASE "+name)
		place = strings.Replace(pgtest.Server(t), "/postgres?", "/"+name+"?", 1)
		db, err = sql.Open("pgx", place)
		require.NoError(t, err)
	} else {
		path := filepath.Join(t.TempDir(), "foreign.db")
		place, db = "sqlite:"+path, sqlitedriver.Open("file:"+path)
	}
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec(statements)
	require.NoError(t, err)
	return place, db
}

// first runs a query of one value.
func first(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	var v sql.NullString
	require.NoError(t, db.QueryRow(query).Scan(&v), query)
	return v.String
}

// looseRows are values that callers see as others: bytes as texts, texts and numbers in columns of another type, JSON's
// null, and JSON that is written in another way.
const looseRows = `CREATE TABLE things (id INTEGER PRIMARY KEY, a TEXT, b INTEGER, c JSON, d BLOB, e DECIMAL(10, 2), f, g BOOLEAN, h DATETIME, other_id INTEGER REFERENCES things(id), word TEXT);
INSERT INTO things VALUES
 (1, x'00ff', 'abc', 'null', 'text', x'31', 1, 't', 1700000000, 99, 'w'),
 (2, x'6162', 1.5, '{"a": 1.0, "a": 2}', 5, '1.5', 1.5, 2, '2024-02-30', 1, 'w'),
 (3, CAST(x'ff41' AS TEXT), x'01', '[1,2', x'8c', 'x', x'31', NULL, 'now', 'abc', 'w'),
 (4, '', '', ' {"n": 0.10000000000000000001, "__proto__": {"x": 1}}', '', '', '', '', '', NULL, 'w');`

const unformattedRows = `CREATE TABLE things (id int PRIMARY KEY, a json, b jsonb, word text);
INSERT INTO things VALUES
 (1, 'null', 'null', 'w'), (2, ' {"a": 1.0, "a": 2, "b" : [ ] }', '{"a": 1.0, "__proto__": {"x": null}}', 'w'),
 (3, '{"big": 9007199254740993}', '[9007199254740993, 12345678901234567890.5]', 'w'), (4, '"\u0041\ud83d\ude00"', '""', 'w');`

// Whoever reads an entity and sends it back with one field changed changes that one alone.
func TestEntitiesThatAreSentBackStayAsTheyAreKept(t *testing.T) {
	for name, c := range map[string]struct{ rows, kept string }{
		"SQLite": {looseRows, `SELECT group_concat(quote(a)||typeof(a)||quote(b)||typeof(b)||quote(c)||typeof(c)||quote(d)||typeof(d)||quote(e)||typeof(e)
			||quote(f)||typeof(f)||quote(g)||typeof(g)||quote(h)||typeof(h)||quote(other_id)||typeof(other_id), char(10)) FROM things`},
		"PostgreSQL": {unformattedRows, `SELECT string_agg(coalesce(a::text, 'nothing') || coalesce(b::text, 'nothing'), E'\n' ORDER BY id) FROM things`},
	} {
		t.Run(name, func(t *testing.T) {
			place, db := foreign(t, c.rows, name == "PostgreSQL")
			before := first(t, db, c.kept)
			i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
			require.NoError(t, err)
			for _, write := range []string{
				"E.patch(row.id, without(row))", "E.upsert(row)", "E.upsert(row, { replace: true })", "E.upsertMany([row])", `E.patch(row.id, { word: row.word })`,
			} {
				out := script(t, i, `const E = SDK.Entities.Thing;
const without = ({ id, ...rest }) => rest;
for (const row of E.collection().items) { row.word = row.word + "!"; `+write+` }
return E.count({ word: { $ne: "w" } })`, nil)
				require.EqualValues(t, 4, out["result"], write)
				require.Equal(t, before, first(t, db, c.kept), write)
			}
			// What is not what was shown is written.
			if name == "SQLite" {
				does(t, i, "koan::Thing.patch", `{"id":"1","changes":{"a":"AP8=!"}}`)
				require.Equal(t, "AP8=!", first(t, db, "SELECT a FROM things WHERE id = 1"))
				return
			}
			does(t, i, "koan::Thing.patch", `{"id":"2","changes":{"b":{"a":2,"__proto__":{"x":null}}}}`)
			require.JSONEq(t, `{"a":2,"__proto__":{"x":null}}`, first(t, db, "SELECT b::text FROM things WHERE id = 2"))
		})
	}
}

// An undo gives back what was kept, not what was shown of it.
func TestUndoOfValuesOfAnotherType(t *testing.T) {
	const kept = `SELECT group_concat(quote(a)||typeof(a)||quote(b)||typeof(b)||quote(c)||quote(d)||typeof(d)||quote(e)||typeof(e)||quote(f)||typeof(f)||quote(h), char(10)) FROM things`
	place, db := foreign(t, looseRows, false)
	before := first(t, db, kept)
	i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
	require.NoError(t, err)
	did := script(t, i, `for (const id of ["1", "2"]) SDK.Entities.Thing.patch(id, { a: "changed", b: 1, c: {}, d: "AAAA", e: "1.00", f: "2" });
SDK.Entities.Thing.delete("4")`, nil)
	require.NotEqual(t, before, first(t, db, kept))
	_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
	require.NoError(t, err)
	require.Equal(t, before, first(t, db, kept))
}

// Views that the server cannot read are named with its reason, and not taken for tables that have changed.
func TestViewsThatTheServerCannotRead(t *testing.T) {
	place, _ := foreign(t, `CREATE SCHEMA away;
CREATE TABLE away.people (id int PRIMARY KEY, name text);
SET search_path = away, public;
CREATE FUNCTION away.plain(p away.people) RETURNS away.people LANGUAGE sql STABLE AS $$ SELECT ROW(p.id, ''::text)::people $$;
CREATE VIEW away.plain_people AS SELECT (away.plain(p)).* FROM away.people p;
CREATE VIEW away.ratios AS SELECT id, 1 / id AS ratio FROM away.people;
INSERT INTO away.people VALUES (0, 'zero')`, true)
	s, err := entities.SurveyDatabase(t.Context(), place)
	require.NoError(t, err)
	require.Equal(t, 1, s.NotServed, s.Config)
	require.Contains(t, s.Config, "away.plain_people: the view cannot be read: ")
	i, err := start(t, map[string]string{"database": place})
	require.NoError(t, err)
	require.Contains(t, refused(t, i, "koan::Ratio.collection", `{}`).Message, "divides by zero")
	require.Contains(t, refused(t, i, "koan::PlainPerson.collection", `{}`).Error(), "PlainPerson")
}

// A table whose rows are also those of tables that inherit from it has no key: two of them may have the same.
func TestTablesThatOthersInherit(t *testing.T) {
	place, _ := foreign(t, `CREATE TABLE places (id int PRIMARY KEY, name text);
CREATE TABLE capitals (state text) INHERITS (places);
INSERT INTO places VALUES (1, 'a'); INSERT INTO capitals VALUES (1, 'b', 'x'), (1, 'c', 'y')`, true)
	i, err := start(t, map[string]string{"database": place, "readOnly": "false"})
	require.NoError(t, err)
	require.Equal(t, fault.ToolNotFound, refused(t, i, "koan::Place.patch", `{}`).Code)
	var names []any
	cursor := json.RawMessage("null")
	for range 4 {
		page := does(t, i, "koan::Place.collection", fmt.Sprintf(`{"pageSize":1,"sort":"name","cursor":%s}`, cursor))
		for _, item := range page["items"].([]any) {
			names = append(names, item.(map[string]any)["name"])
		}
		if page["nextCursor"] == nil {
			break
		}
		cursor, _ = json.Marshal(page["nextCursor"])
	}
	require.Equal(t, []any{"a", "b", "c"}, names)
	s, err := entities.SurveyDatabase(t.Context(), place)
	require.NoError(t, err)
	require.Contains(t, s.Config, "inherit from it")
}

// encode returns a value as JSON.
func encode(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}
