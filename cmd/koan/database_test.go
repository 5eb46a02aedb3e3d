package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

// shopFile makes a small database as another program keeps it.
func shopFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shop.db")
	db := sqlitedriver.Open("file:" + path)
	defer func() { require.NoError(t, db.Close()) }()
	_, err := db.Exec(`CREATE TABLE customers (CustomerID INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, placed DATETIME);
CREATE TABLE "order lines" (order_id INTEGER REFERENCES orders, line INTEGER, PRIMARY KEY (order_id, line));
CREATE VIEW buyers AS SELECT DISTINCT c.name FROM customers c JOIN orders o ON o.customer_id = c.CustomerID;
CREATE VIRTUAL TABLE found USING rtree(id, low, high);
INSERT INTO customers VALUES (1, 'Ann'), (2, 'Bob');
INSERT INTO orders VALUES (7, 1, '2024-01-31 08:00:00');
INSERT INTO "order lines" VALUES (7, 1), (7, 2);`)
	require.NoError(t, err)
	return path
}

// start serves a database with some keys.
func start(t *testing.T, keys map[string]string) (*framework.Instance, error) {
	t.Helper()
	keys["ledger.database"] = "sqlite://" + t.TempDir()
	i, err := framework.New(t.Context(), databaseApp(), framework.Options{Config: framework.Source{Flags: keys}})
	if err == nil {
		t.Cleanup(func() { _ = i.Stop(context.Background()) })
	}
	return i, err
}

// tester may call everything.
var tester = framework.Principal{Subject: "test", Sets: []string{"*"}, Scopes: []string{"entities:write"}}

func call(t *testing.T, i *framework.Instance, id string, in any) (map[string]any, error) {
	t.Helper()
	var out map[string]any
	_, err := i.Invoke(t.Context(), tester, id, in, &out)
	return out, err
}

func TestServesADatabaseThatExists(t *testing.T) {
	path := shopFile(t)
	before, err := os.ReadFile(path)
	require.NoError(t, err)
	i, err := start(t, map[string]string{"database": "sqlite:" + path})
	require.NoError(t, err)

	got, err := call(t, i, "koan::Customer.get-by-id", map[string]any{"id": 1, "with": "orders.orderLines"})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"id": "1", "name": "Ann", "orders": []any{map[string]any{
		"id": "7", "customerId": "1", "placed": "2024-01-31T08:00:00Z",
		"orderLines": []any{map[string]any{"id": "7,1", "orderId": "7", "line": 1.0}, map[string]any{"id": "7,2", "orderId": "7", "line": 2.0}},
	}}}, got)
	got, err = call(t, i, "koan::Buyer.collection", map[string]any{})
	require.NoError(t, err)
	require.Equal(t, []any{map[string]any{"id": nil, "name": "Ann"}}, got["items"])
	_, err = call(t, i, "koan::Customer.delete", map[string]any{"id": 1})
	require.Equal(t, fault.ToolNotFound, fault.CodeOf(err))
	_, err = call(t, i, "koan::Customer.count", map[string]any{"set": "other"})
	require.Equal(t, fault.UnknownSet, fault.CodeOf(err))
	require.Contains(t, strings.Join(i.Report(), "\n"), "readOnly: false")

	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, after), "the file was written")
	entries, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, entries, 1, "something was left beside the file")
}

func TestServesPostgreSQL(t *testing.T) {
	pgtest.Psql(t, pgtest.Server(t), "CREATE DATABASE served")
	server := pgtest.Server(t)
	place := strings.Replace(server, "/postgres?", "/served?", 1)
	db, err := sql.Open("pgx", place)
	require.NoError(t, err)
	defer func() { _ = db.Close() }()
	_, err = db.Exec(`CREATE TABLE orders (id int PRIMARY KEY, lines text[]); INSERT INTO orders VALUES (7, '{a}')`)
	require.NoError(t, err)
	i, err := start(t, map[string]string{"database": place})
	require.NoError(t, err)
	got, err := call(t, i, "koan::Order.get-by-id", map[string]any{"id": "7"})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"id": "7", "lines": []any{"a"}}, got)

	_, err = db.Exec("DROP TABLE orders")
	require.NoError(t, err)
	_, err = call(t, i, "koan::Order.get-by-id", map[string]any{"id": "7"})
	require.ErrorContains(t, err, "have changed")
	var tables int
	require.NoError(t, db.QueryRow("SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'").Scan(&tables))
	require.Zero(t, tables, "something of Koan's is left")

	_, err = start(t, map[string]string{"database": "postgres://nobody:secret@127.0.0.1:1/none"})
	require.ErrorContains(t, err, "cannot be reached")
	require.NotContains(t, err.Error(), "secret")
}

func TestTableThatIsDroppedWhileItIsServed(t *testing.T) {
	path := shopFile(t)
	i, err := start(t, map[string]string{"database": "sqlite:" + path})
	require.NoError(t, err)
	db := sqlitedriver.Open("file:" + path)
	_, err = db.Exec(`DROP TABLE "order lines"`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = call(t, i, "koan::OrderLine.collection", map[string]any{})
	f, ok := errors.AsType[*fault.Fault](err)
	require.True(t, ok, err)
	require.Equal(t, fault.ServiceUnavailable, f.Code)
	require.Contains(t, f.Message, "have changed")
	require.Contains(t, f.Hint, "again")
	_, err = call(t, i, "koan::Customer.count", map[string]any{})
	require.NoError(t, err)
}

func TestDatabasesThatCannotBeServed(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	require.NoError(t, os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600))
	locked := shopFile(t)
	db := sqlitedriver.Open("file:" + locked + "?_txlock=exclusive")
	tx, err := db.Begin()
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(); _ = db.Close() })
	for name, c := range map[string]struct{ database, readOnly, key, value, says, hint string }{
		"missing":                    {"sqlite:" + filepath.Join(dir, "none.db"), "true", "", "", "no such file", "relative to the working directory"},
		"folder":                     {"sqlite:" + dir, "true", "", "", "is a folder", "sqlite:FILE"},
		"no database":                {"sqlite:" + text, "true", "", "", "not a database", "encrypted"},
		"locked":                     {"sqlite:" + locked, "true", "", "", "locked", "try again"},
		"none":                       {"", "true", "", "", "no database is named", "--database"},
		"unknown table":              {"sqlite:" + shopFile(t), "true", "entities.Client.table", "customer", `names customer, which is not a table or view that is served; did you mean "customers"?`, "init"},
		"unknown field":              {"sqlite:" + shopFile(t), "true", "entities.Customer.fields.nmae.hidden", "true", `entities.Customer.fields.nmae is not a field; did you mean "name"?`, "init"},
		"relationship along no key":  {"sqlite:" + shopFile(t), "true", "entities.Order.relationships.buyer.via", "placed", "names placed, along which no foreign key leads", "init"},
		"accents of a number":        {"sqlite:" + shopFile(t), "true", "entities.Order.fields.placed.fold", "accents", "entities.Order.fields.placed.fold must be accents, and the field a text", "init"},
		"another way to fold":        {"sqlite:" + shopFile(t), "true", "entities.Customer.fields.name.fold", "width", "entities.Customer.fields.name.fold must be accents, and the field a text", "init"},
		"view that is to be written": {"sqlite:" + shopFile(t), "true", "entities.Buyer.readOnly", "false", "it is a view", "init"},
	} {
		t.Run(name, func(t *testing.T) {
			keys := map[string]string{"database": c.database, "readOnly": c.readOnly}
			file := ""
			if c.key != "" {
				file = filepath.Join(t.TempDir(), "koan.yaml")
				require.NoError(t, os.WriteFile(file, nestedYAML(c.key, c.value), 0o600))
			}
			keys["ledger.database"] = "sqlite://" + t.TempDir()
			_, err := framework.New(t.Context(), databaseApp(), framework.Options{Config: framework.Source{File: file, Flags: keys}})
			f, ok := errors.AsType[*fault.Fault](err)
			require.True(t, ok, "%v", err)
			require.Contains(t, f.Message, c.says)
			require.Contains(t, f.Hint, c.hint)
			require.NotEmpty(t, f.Path)
		})
	}
}

// nestedYAML writes a key with dots as a file has it.
func nestedYAML(key, value string) []byte {
	var b strings.Builder
	parts := strings.Split(key, ".")
	for i, part := range parts {
		b.WriteString(strings.Repeat("  ", i) + part + ":")
		if i+1 == len(parts) {
			b.WriteString(" " + value)
		}
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

func TestInitWritesWhatItFound(t *testing.T) {
	path := shopFile(t)
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	require.Zero(t, run([]string{"init", "--database", "sqlite:" + path, "--check"}, &out, &errs), errs.String())
	require.NoFileExists(t, configFile)
	for _, want := range []string{"  OrderLine:\n    table: order lines\n    # fields: orderId, line\n    # relationships: order\n", "table: buyers # a view, read-only", "# Not served:\n#   found: it is a virtual table"} {
		require.Contains(t, out.String(), want)
	}
	require.Zero(t, run([]string{"init", "--database", "sqlite:" + path}, &out, &errs), errs.String())
	require.Equal(t, 1, run([]string{"init", "--database", "sqlite:" + path}, &out, &errs))
	require.Contains(t, errs.String(), "is there already")
	i, err := framework.New(t.Context(), databaseApp(), framework.Options{Config: framework.Source{File: configFile, Flags: map[string]string{"ledger.database": "sqlite://" + t.TempDir()}}})
	require.NoError(t, err, "what init writes is served")
	defer func() { _ = i.Stop(context.Background()) }()
	_, err = call(t, i, "koan::OrderLine.count", map[string]any{})
	require.NoError(t, err)

	require.Equal(t, 2, run([]string{"init"}, &out, &errs))
	require.Equal(t, 1, run([]string{"init", "--database", "mysql://x:secret@y/z", "--check"}, &out, &errs))
	require.NotContains(t, errs.String(), "secret")
}
