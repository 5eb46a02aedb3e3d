package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework"
)

// fragments are what names are made of: all that SQL, the engine's builders and its callers could take for
// something else.
var fragments = []string{
	`"`, ".", ";--", "'", `\`, "😀", "`", " ", "(", ")", "(x)", " AS ", "*", "?", "$1", "%", "[", "]", "\n", "\t", ",", "/", "{", "}", "@", ":", "&", "=", "-",
	"select", "Order", "TABLE", "true", "false", "null", "rowid", "id", "ID", "DISTINCT ", "ALL", "WITH ROLLUP", "constructor", "__proto__", "koan", "set", "with",
	"é", "ß", "名前", "İ", "1", "42", "a", "Z", "_", "order_items", "\u200b", "customer_id",
}

// nameMaker makes names, no two of them alike for a database that ignores the case of ASCII letters.
type nameMaker struct {
	*rand.Rand
	made map[string]bool
}

// name returns a name of at most 63 bytes, which is what PostgreSQL keeps of one.
func (m *nameMaker) name() string {
	for {
		var b strings.Builder
		for range 1 + m.IntN(4) {
			b.WriteString(fragments[m.IntN(len(fragments))])
		}
		if m.IntN(8) == 0 {
			b.WriteString(strings.Repeat("x", 63))
		}
		name := b.String()
		for len(name) > 63 || !utf8.ValidString(name) {
			name = name[:len(name)-1]
		}
		folded := strings.ToLower(name)
		if !m.made[folded] && !strings.HasPrefix(folded, "koan_") && strings.TrimSpace(name) == name {
			m.made[folded] = true
			return name
		}
	}
}

func sqlName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// namedTables are tables with names of any kind: one with a key, a text and a number, one that refers to it, one that links
// rows of both, and one whose key has two columns.
type namedTables struct {
	table, key, text, number  string
	far, farKey, farText, ref string
	link, linkOwn, linkFar    string
	pairs, a, b, note         string
}

func (m *nameMaker) tables() (n namedTables) {
	for _, name := range []*string{
		&n.table, &n.key, &n.text, &n.number, &n.far, &n.farKey, &n.farText, &n.ref, &n.link, &n.linkOwn, &n.linkFar, &n.pairs, &n.a, &n.b, &n.note,
	} {
		*name = m.name()
	}
	return n
}

func (n *namedTables) schema() string {
	q := sqlName
	return strings.Join([]string{
		fmt.Sprintf("CREATE TABLE %s (%s INTEGER PRIMARY KEY, %s VARCHAR(40) NOT NULL, %s INTEGER UNIQUE)", q(n.table), q(n.key), q(n.text), q(n.number)),
		fmt.Sprintf("CREATE TABLE %s (%s VARCHAR(40) PRIMARY KEY, %s VARCHAR(40), %s INTEGER REFERENCES %s ON DELETE CASCADE)", q(n.far), q(n.farKey), q(n.farText), q(n.ref), q(n.table)),
		fmt.Sprintf("CREATE TABLE %s (%s INTEGER REFERENCES %s ON DELETE CASCADE, %s VARCHAR(40) REFERENCES %s ON DELETE CASCADE, PRIMARY KEY (%[2]s, %[4]s))",
			q(n.link), q(n.linkOwn), q(n.table), q(n.linkFar), q(n.far)),
		fmt.Sprintf("CREATE TABLE %s (%s INTEGER, %s VARCHAR(40), %s VARCHAR(40), PRIMARY KEY (%[2]s, %[3]s))", q(n.pairs), q(n.a), q(n.b), q(n.note)),
		fmt.Sprintf("INSERT INTO %s VALUES (1, 'one', 101), (2, 'two', 102), (3, 'three', 103)", q(n.table)),
		fmt.Sprintf("INSERT INTO %s VALUES ('x', 'far x', 1), ('y', 'far y', 2)", q(n.far)),
		fmt.Sprintf("INSERT INTO %s VALUES (1, 'x'), (2, 'y')", q(n.link)),
		fmt.Sprintf("INSERT INTO %s VALUES (1001, 'p', 'first'), (1002, 'q', 'second')", q(n.pairs)),
	}, ";\n")
}

// dump returns all rows of the tables.
func (n *namedTables) dump(t *testing.T, db *sql.DB) (out []string) {
	t.Helper()
	for table, columns := range map[string][]string{
		n.table: {n.key, n.text, n.number}, n.far: {n.farKey, n.farText, n.ref}, n.link: {n.linkOwn, n.linkFar}, n.pairs: {n.a, n.b, n.note},
	} {
		texts := make([]string, len(columns))
		for i, c := range columns {
			texts[i] = "coalesce(CAST(" + sqlName(c) + " AS TEXT), '-')"
		}
		rows := store{db: db}.list(t, "SELECT "+strings.Join(texts, " || ' ' || ")+" FROM "+sqlName(table)+" ORDER BY 1")
		out = append(out, table+": "+strings.Join(rows, ", "))
	}
	slices.Sort(out)
	return out
}

// entityOf returns the name of the entity of each table, as `koan init` writes them, and the path of what it writes.
func entityOf(t *testing.T, place string) (of map[string]string, file string) {
	t.Helper()
	s, err := entities.SurveyDatabase(t.Context(), place)
	require.NoError(t, err)
	var config struct {
		Entities map[string]struct{ Table string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(s.Config), &config), s.Config)
	require.NotContains(t, s.Config, "read-only:", "a table that could be written")
	require.NotContains(t, s.Config, "# Not served")
	of = map[string]string{}
	for name, e := range config.Entities {
		of[strings.TrimPrefix(e.Table, "public.")] = name
	}
	require.Len(t, of, 3, s.Config)
	file = filepath.Join(t.TempDir(), "koan.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(s.Config, "readOnly: true", "readOnly: false", 1)), 0o600))
	return of, file
}

// fieldWith returns the field of a row that has a value.
func fieldWith(t *testing.T, row map[string]any, value any) string {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if name != "id" && row[name] == value {
			return name
		}
	}
	require.Fail(t, "no field has the value", "%v of %v", value, row)
	return ""
}

// servedNames are the entities and fields of such tables.
type servedNames struct{ table, text, number, far, farText, ref, pairs, a, b, note string }

func (n *namedTables) served(t *testing.T, i *framework.Instance, of map[string]string) (s servedNames) {
	t.Helper()
	s.table, s.far, s.pairs = of[n.table], of[n.far], of[n.pairs]
	row := does(t, i, "koan::"+s.table+".get-by-id", `{"id":"1"}`)
	s.text, s.number = fieldWith(t, row, "one"), fieldWith(t, row, 101.0)
	row = does(t, i, "koan::"+s.far+".get-by-id", `{"id":"x"}`)
	s.farText, s.ref = fieldWith(t, row, "far x"), fieldWith(t, row, "1")
	row = does(t, i, "koan::"+s.pairs+".get-by-id", `{"id":"1001,p"}`)
	s.a, s.b, s.note = fieldWith(t, row, 1001.0), fieldWith(t, row, "p"), fieldWith(t, row, "first")
	return s
}

// Tables and columns of any name are read, filtered, sorted, written and undone as SQL itself does it.
func TestServesEveryNameThatADatabaseMayHave(t *testing.T) {
	for _, onPostgreSQL := range []bool{false, true} {
		for _, seed := range []uint64{0, 1, 2, 3, 30} { // the last one has an entity Null
			t.Run(fmt.Sprintf("%s/%d", map[bool]string{false: "SQLite", true: "PostgreSQL"}[onPostgreSQL], seed), func(t *testing.T) {
				m := nameMaker{rand.New(rand.NewPCG(seed, 1)), map[string]bool{}}
				n := m.tables()
				place, db := foreign(t, n.schema(), onPostgreSQL)
				of, file := entityOf(t, place)
				i, err := framework.New(t.Context(), databaseApp(), framework.Options{Config: framework.Source{File: file, Flags: map[string]string{
					"ledger.database": "sqlite://" + t.TempDir(), "approval.mode": "never",
				}}})
				require.NoError(t, err, "%q", n)
				t.Cleanup(func() { _ = i.Stop(context.Background()) })
				s := n.served(t, i, of)
				n.checkReads(t, i, db, s)
				n.checkWrites(t, i, db, s)
			})
		}
	}
}

func (n *namedTables) checkReads(t *testing.T, i *framework.Instance, db *sql.DB, s servedNames) {
	t.Helper()
	for _, c := range []struct{ filter, where string }{
		{fmt.Sprintf(`{%q:{"$gt":"one"}}`, s.text), sqlName(n.text) + " > 'one'"},
		{fmt.Sprintf(`{%q:{"$in":[101,103]}}`, s.number), sqlName(n.number) + " IN (101, 103)"},
		{`{"id":{"$gte":2}}`, sqlName(n.key) + " >= 2"},
	} {
		got := does(t, i, "koan::"+s.table+".count", `{"filter":`+c.filter+`}`)
		require.Equal(t, first(t, db, "SELECT count(*) FROM "+sqlName(n.table)+" WHERE "+c.where), fmt.Sprint(got["count"]), "%s of %q", c.filter, *n)
	}
	page := does(t, i, "koan::"+s.table+".collection", fmt.Sprintf(`{"sort":"-%s"}`, s.text))
	var sorted []string
	for _, row := range page["items"].([]any) {
		sorted = append(sorted, row.(map[string]any)[s.text].(string))
	}
	require.Equal(t, store{db: db}.list(t, "SELECT "+sqlName(n.text)+" FROM "+sqlName(n.table)+" ORDER BY 1 DESC"), sorted)
}

func (n *namedTables) checkWrites(t *testing.T, i *framework.Instance, db *sql.DB, s servedNames) {
	t.Helper()
	before := n.dump(t, db)
	row := func(v map[string]any) string {
		raw, err := json.Marshal(v)
		require.NoError(t, err)
		return string(raw)
	}
	code := fmt.Sprintf(`const { %[1]s, %[2]s, %[3]s } = SDK.Entities;
%[1]s.create(%[4]s);
%[1]s.patch("1", %[5]s);
%[2]s.create(%[6]s);
%[2]s.patch("x", %[7]s);
%[3]s.create(%[8]s);
%[3]s.patch("1001,p", %[9]s);
%[3]s.delete("1002,q");
%[1]s.delete("2")`, s.table, s.far, s.pairs,
		row(map[string]any{"id": "9", s.text: "nine", s.number: 109}), row(map[string]any{s.text: "changed", s.number: nil}),
		row(map[string]any{"id": "z", s.farText: "far z", s.ref: "9"}), row(map[string]any{s.farText: "changed", s.ref: "3"}),
		row(map[string]any{s.a: 1003, s.b: "r", s.note: "third"}), row(map[string]any{s.note: "changed"}))
	did := script(t, i, code, nil)
	require.Nil(t, did["error"], "%v\n%s", did, code)
	require.Equal(t, "109", first(t, db, "SELECT "+sqlName(n.number)+" FROM "+sqlName(n.table)+" WHERE "+sqlName(n.text)+" = 'nine'"))
	require.Equal(t, "3", first(t, db, "SELECT "+sqlName(n.ref)+" FROM "+sqlName(n.far)+" WHERE "+sqlName(n.farText)+" = 'changed'"))
	require.Equal(t, "0", first(t, db, "SELECT count(*) FROM "+sqlName(n.far)+" WHERE "+sqlName(n.farKey)+" = 'y'"), "it goes with its row")
	require.Equal(t, "changed", first(t, db, "SELECT "+sqlName(n.note)+" FROM "+sqlName(n.pairs)+" WHERE "+sqlName(n.a)+" = 1001"))
	_, err := call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
	require.NoError(t, err)
	require.Equal(t, before, n.dump(t, db), "%q", *n)
}
