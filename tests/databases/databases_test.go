//go:build databases

// Package databases asks questions over public sample databases (Chinook, Northwind and Pagila), once by a script and
// once by SQL. The databases are not part of the project: `make databases DIR=...` names the folder that has
// them.
package databases

import (
	"compress/gzip"
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/tests/pgtest"
)

// question is one question with what answers it.
type question struct{ Database, Question, Script, SQL string }

func questions(t *testing.T) (all []question) {
	t.Helper()
	raw, err := os.ReadFile("testdata/questions.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &all))
	require.Len(t, all, 60)
	return all
}

// file returns the path of a sample.
func file(t *testing.T, name string) string {
	t.Helper()
	dir := os.Getenv("KOAN_DATABASES")
	require.NotEmpty(t, dir, "make databases DIR=... names the folder of the samples")
	return filepath.Join(dir, name)
}

// text returns the SQL of a sample.
func text(t *testing.T, name string) string {
	t.Helper()
	f, err := os.Open(file(t, name))
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	raw, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(raw)
}

// onServer makes a database of PostgreSQL out of SQL as psql takes it, and returns its address.
func onServer(t *testing.T, name, statements string) string {
	t.Helper()
	place := strings.Replace(pgtest.Server(t), "/postgres?", "/"+name+"?", 1)
	pgtest.Psql(t, pgtest.Server(t), "CREATE DATABASE "+name)
	psql := exec.CommandContext(t.Context(), "psql", "-q", place)
	psql.Stdin = strings.NewReader(statements)
	out, err := psql.CombinedOutput()
	require.NoError(t, err, string(out))
	return place
}

// samples returns the files of the samples, by name.
func samples(t *testing.T) map[string]string {
	t.Helper()
	northwind := filepath.Join(t.TempDir(), "northwind.sqlite")
	db := sqlitedriver.Open("file:" + northwind)
	_, err := db.Exec(text(t, "northwind-sqlite.sql.gz"))
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return map[string]string{"chinook": file(t, "chinook.sqlite"), "northwind": northwind}
}

// serve serves a database.
func serve(t *testing.T, place string) *framework.Instance {
	t.Helper()
	i, err := framework.New(t.Context(), framework.App{
		Name: "questions", Providers: []framework.Provider{entities.ProvideExisting(nil)},
	}, framework.Options{Config: framework.Source{Flags: map[string]string{"database": place, "ledger.database": "sqlite://" + t.TempDir()}}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = i.Stop(context.Background()) })
	return i
}

// answer runs the script of a question.
func answer(t *testing.T, i *framework.Instance, script string) string {
	t.Helper()
	var out struct {
		Answer any
		Error  any
	}
	caller := framework.Principal{Subject: "test", Sets: []string{"*"}}
	_, err := i.Invoke(t.Context(), caller, "code::koan.execute", map[string]any{"code": "SDK.Out.answer(" + script + ")"}, &out)
	require.NoError(t, err)
	raw, err := json.Marshal(out.Answer)
	require.NoError(t, err)
	return string(raw)
}

// rows runs the SQL of a question. A row of one column is its value, and a result of one row and one column is that
// value where the script answers one.
func rows(t *testing.T, db *sql.DB, query string, single bool) string {
	t.Helper()
	found, err := db.Query(query)
	require.NoError(t, err, query)
	defer func() { _ = found.Close() }()
	columns, err := found.Columns()
	require.NoError(t, err)
	all := []any{}
	for found.Next() {
		values := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		require.NoError(t, found.Scan(into...))
		if len(columns) == 1 {
			all = append(all, values[0])
		} else {
			all = append(all, values)
		}
	}
	require.NoError(t, found.Err())
	var out any = all
	if single {
		require.Len(t, all, 1, query)
		out = all[0]
	}
	raw, err := json.Marshal(out)
	require.NoError(t, err)
	return string(raw)
}

func TestQuestionsHaveTheAnswersOfSQL(t *testing.T) {
	files := samples(t)
	served := map[string][]*framework.Instance{
		"chinook":   {serve(t, "sqlite:"+files["chinook"]), serve(t, onServer(t, "chinook", chinookWithoutDatabase(t)))},
		"northwind": {serve(t, "sqlite:"+files["northwind"])},
	}
	for _, q := range questions(t) {
		t.Run(q.Question, func(t *testing.T) {
			db := sqlitedriver.Open("file:" + files[q.Database] + "?mode=ro")
			defer func() { _ = db.Close() }()
			for _, i := range served[q.Database] {
				got := answer(t, i, q.Script)
				require.NotContains(t, []string{"null", "[]"}, got, "a question without an answer compares nothing")
				require.Equal(t, rows(t, db, q.SQL, !strings.HasPrefix(got, "[") || strings.HasPrefix(q.Script, "(")), got)
			}
		})
	}
}

// chinookWithoutDatabase is the sample without the statements that make its database.
func chinookWithoutDatabase(t *testing.T) string {
	t.Helper()
	var kept []string
	for _, line := range strings.Split(text(t, "chinook-postgresql.sql.gz"), "\n") {
		if !strings.HasPrefix(line, "DROP DATABASE") && !strings.HasPrefix(line, "CREATE DATABASE") && !strings.HasPrefix(line, `\c `) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

// Every table and view is served, or listed with its reason.
func TestEveryTableIsServedOrListed(t *testing.T) {
	files := samples(t)
	for name, place := range map[string]string{
		"chinook": "sqlite:" + files["chinook"], "northwind": "sqlite:" + files["northwind"],
		"chinook on PostgreSQL": onServer(t, "chinook_tables", chinookWithoutDatabase(t)),
		"pagila":                onServer(t, "pagila", "CREATE ROLE postgres SUPERUSER;\n"+text(t, "pagila-schema-postgresql.sql.gz")),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := entities.SurveyDatabase(t.Context(), place)
			require.NoError(t, err)
			require.Positive(t, s.Entities)
			driver, list := "pgx", `SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
				WHERE c.relkind IN ('r', 'p', 'v', 'm') AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')`
			db, err := sql.Open(driver, place)
			if path, ok := strings.CutPrefix(place, "sqlite:"); ok {
				db, list = sqlitedriver.Open("file:"+path+"?mode=ro"), "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
			}
			require.NoError(t, err)
			defer func() { _ = db.Close() }()
			found, err := db.Query(list)
			require.NoError(t, err)
			defer func() { _ = found.Close() }()
			for found.Next() {
				var table string
				require.NoError(t, found.Scan(&table))
				require.Contains(t, s.Config, table)
			}
			require.NoError(t, found.Err())
		})
	}
}
