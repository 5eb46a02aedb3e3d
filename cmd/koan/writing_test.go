package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
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

// storeSchema is a shop that another program keeps, in what both databases understand.
const storeSchema = `CREATE TABLE customers (customer_id INTEGER PRIMARY KEY, email VARCHAR(40) NOT NULL UNIQUE, rating INTEGER CHECK (rating % 2 = 0));
CREATE TABLE tags (code VARCHAR(8) PRIMARY KEY);
CREATE TABLE customer_tags (customer_id INTEGER REFERENCES customers ON DELETE CASCADE, tag VARCHAR(8) REFERENCES tags, PRIMARY KEY (customer_id, tag));
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers, placed TIMESTAMP, due DATE, extra JSON,
  cents INTEGER DEFAULT 0, doubled INTEGER GENERATED ALWAYS AS (cents * 2) STORED);
CREATE TABLE notes (id INTEGER PRIMARY KEY, order_id INTEGER NOT NULL REFERENCES orders ON DELETE CASCADE, body TEXT);
CREATE TABLE lines (order_id INTEGER REFERENCES orders, line INTEGER, amount INTEGER, PRIMARY KEY (order_id, line));
CREATE TABLE jots (body TEXT);
CREATE VIEW buyers AS SELECT DISTINCT c.email FROM customers c JOIN orders o ON o.customer_id = c.customer_id;
INSERT INTO customers VALUES (1, 'ann@x', 2), (2, 'bob@x', 4);
INSERT INTO tags VALUES ('new'), ('vip');
INSERT INTO customer_tags VALUES (1, 'new');
INSERT INTO orders (id, customer_id, placed, due, extra, cents) VALUES (7, 1, '2024-01-31 08:00:00', '2024-02-01', '{"a":1}', 5);
INSERT INTO notes VALUES (1, 7, 'fragile');
INSERT INTO lines VALUES (7, 1, 3);
`

// store is such a shop, and a way to look at it beside the server.
type store struct {
	place string
	db    *sql.DB
	names string // the statement that lists all that the database has
}

// each runs a test over both databases.
func each(t *testing.T, test func(t *testing.T, s store)) {
	t.Run("SQLite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		db := sqlitedriver.Open("file:" + path + "?_foreign_keys=1")
		t.Cleanup(func() { _ = db.Close() })
		_, err := db.Exec(storeSchema)
		require.NoError(t, err)
		test(t, store{"sqlite:" + path, db, "SELECT coalesce(sql, name) FROM sqlite_schema UNION ALL SELECT journal_mode FROM pragma_journal_mode UNION ALL SELECT user_version || ' ' || application_id FROM pragma_user_version, pragma_application_id ORDER BY 1"})
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		name := "written_" + strings.ToLower(strings.NewReplacer("/", "_", "-", "_").Replace(t.Name()))
		pgtest.Psql(t, pgtest.Server(t), "CREATE DATABASE "+name)
		place := strings.Replace(pgtest.Server(t), "/postgres?", "/"+name+"?", 1)
		db, err := sql.Open("pgx", place)
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		_, err = db.Exec(storeSchema)
		require.NoError(t, err)
		test(t, store{place, db, "SELECT relname FROM pg_class UNION ALL SELECT setconfig::text FROM pg_db_role_setting UNION ALL SELECT proname FROM pg_proc UNION ALL SELECT tgname FROM pg_trigger ORDER BY 1"})
	})
}

// list runs a query of one column.
func (s store) list(t *testing.T, query string) (out []string) {
	t.Helper()
	rows, err := s.db.Query(query)
	require.NoError(t, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var v sql.NullString
		require.NoError(t, rows.Scan(&v))
		out = append(out, v.String)
	}
	require.NoError(t, rows.Err())
	return out
}

// refused returns the fault of a call.
func refused(t *testing.T, i *framework.Instance, id, in string) *fault.Fault {
	t.Helper()
	_, err := call(t, i, id, json.RawMessage(in))
	f, ok := errors.AsType[*fault.Fault](err)
	require.True(t, ok, "%s %s: %v", id, in, err)
	return f
}

// does makes a call that succeeds.
func does(t *testing.T, i *framework.Instance, id, in string) map[string]any {
	t.Helper()
	out, err := call(t, i, id, json.RawMessage(in))
	require.NoError(t, err, "%s %s", id, in)
	return out
}

func TestWritesADatabaseThatExists(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		before := s.list(t, s.names)
		i, err := start(t, map[string]string{"database": s.place, "readOnly": "false"})
		require.NoError(t, err)
		require.Contains(t, strings.Join(i.Report(), "\n"), "readOnly=false")

		made := does(t, i, "koan::Order.upsert", `{"model":{"id":"8","customerId":"2","placed":"2024-03-01T09:30:00Z","due":"2024-03-05","extra":{"b":[1,2]},"cents":7}}`)
		require.Equal(t, map[string]any{
			"id": "8", "customerId": "2", "placed": "2024-03-01T09:30:00Z", "due": "2024-03-05", "extra": map[string]any{"b": []any{1.0, 2.0}}, "cents": 7.0, "doubled": 14.0,
		}, made)
		require.Equal(t, []string{"2024-02-01", "2024-03-05"}, s.list(t, "SELECT CAST(due AS TEXT) FROM orders ORDER BY id"))
		require.Equal(t, []string{"2024-01-31 08:00:00", "2024-03-01 09:30:00"}, s.list(t, "SELECT CAST(placed AS TEXT) FROM orders ORDER BY id"))
		if strings.HasPrefix(s.place, "sqlite:") {
			require.Equal(t, []string{"text text text", "text text text"}, s.list(t, "SELECT typeof(placed) || ' ' || typeof(due) || ' ' || typeof(extra) FROM orders"))
		}
		changed := does(t, i, "koan::Order.patch", `{"id":"8","changes":{"due":"2024-03-06","extra":null,"customer":{"id":"1"}}}`)
		require.Equal(t, "2024-03-06", changed["due"])
		require.Nil(t, changed["extra"])
		require.Equal(t, "1", changed["customerId"])

		found := does(t, i, "koan::Customer.upsert", `{"model":{"email":"bob@x","rating":6}}`)
		require.Equal(t, "2", found["id"], "by the unique key")
		does(t, i, "koan::Customer.upsert", `{"model":{"id":"1","tags":[{"id":"vip"}]}}`)
		require.Subset(t, s.list(t, "SELECT tag FROM customer_tags"), []string{"vip"})
		does(t, i, "koan::Tag.upsert-many", `{"models":[{"id":"a"},{"id":"b"}]}`)
		require.Equal(t, []string{"4"}, s.list(t, "SELECT count(*) FROM tags"))

		require.Equal(t, before, s.list(t, s.names), "something of Koan's is left")
	})
}

// script runs a script, and returns the answer.
func script(t *testing.T, i *framework.Instance, code string, more map[string]any) map[string]any {
	t.Helper()
	in := map[string]any{"code": code}
	maps.Copy(in, more)
	out, err := call(t, i, "code::koan.execute", in)
	require.NoError(t, err, code)
	return out
}

func TestScriptsWriteADatabaseThatExists(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		i, err := start(t, map[string]string{"database": s.place, "readOnly": "false", "approval.mode": "never"})
		require.NoError(t, err)
		all := []string{
			"SELECT customer_id || email || coalesce(rating, 0) FROM customers ORDER BY 1", "SELECT customer_id || tag FROM customer_tags ORDER BY 1",
			"SELECT id || ' ' || customer_id || CAST(placed AS TEXT) || CAST(due AS TEXT) || CAST(extra AS TEXT) || cents || doubled FROM orders ORDER BY 1", "SELECT id || body FROM notes ORDER BY 1",
		}
		look := func() (out [][]string) {
			for _, query := range all {
				out = append(out, s.list(t, query))
			}
			return out
		}
		before := look()
		const code = `
			const c = SDK.Entities.Customer.upsert({ id: "3", email: "cy@x", rating: 8, tags: [{ id: "vip" }] });
			const o = SDK.Entities.Order.upsert({ id: "9", customerId: c.id, due: "2024-05-05", placed: "2024-05-01T10:00:00Z", extra: {}, cents: 1 });
			SDK.Entities.Customer.patch("1", { rating: null, email: "ann@y" });
			SDK.Entities.Order.patch("7", { due: "2024-04-04", placed: "2024-04-01T10:00:00Z", extra: [], cents: 6, customerId: "2" });
			SDK.Entities.Customer.delete("1");
			return o.doubled;`
		dry := script(t, i, code, map[string]any{"dryRun": true})
		require.NotEmpty(t, dry["changeCounts"], "%v", dry)
		require.Equal(t, before, look())
		once := map[string]any{"idempotencyKey": "once"}
		did := script(t, i, code, once)
		require.Equal(t, dry["changeCounts"], did["changeCounts"])
		after := look()
		require.Equal(t, []string{"2bob@x4", "3cy@x8"}, after[0])
		require.Equal(t, []string{"3vip"}, after[1])
		again := script(t, i, code, once)
		require.Equal(t, did["runId"], again["runId"], "%v", again)
		require.Equal(t, after, look())

		_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
		require.NoError(t, err)
		require.Equal(t, before, look())
		_, err = s.db.Exec("DELETE FROM lines")
		require.NoError(t, err)
		did = script(t, i, `SDK.Entities.Order.delete("7")`, nil)
		require.Empty(t, look()[3], "notes go with their order")
		_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
		require.NoError(t, err)
		require.Equal(t, before, look())
	})
}

func TestRefusalsOfADatabaseThatExists(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		i, err := start(t, map[string]string{"database": s.place, "readOnly": "false"})
		require.NoError(t, err)
		for _, c := range []struct {
			in   string
			code fault.Code
			path string
		}{
			{`{"model":{"id":"3","email":"c@x","rating":3}}`, fault.InvalidPayload, "/model/rating"},
			{`{"model":{"id":"3","rating":2}}`, fault.InvalidPayload, "/model/email"},
			{`{"model":{"id":"1","email":"bob@x"}}`, fault.Conflict, "/model/email"},
		} {
			f := refused(t, i, "koan::Customer.upsert", c.in)
			require.Equal(t, c.code, f.Code, "%s: %v", c.in, f)
			require.Equal(t, c.path, f.Path, "%s: %v", c.in, f)
		}
		f := refused(t, i, "koan::Order.upsert", `{"model":{"id":"9","customerId":"77"}}`)
		require.Equal(t, "/model/customerId", f.Path, "%v", f)
		f = refused(t, i, "koan::Order.upsert", `{"model":{"id":"9","customerId":"1","doubled":3}}`)
		require.Equal(t, "/model/doubled", f.Path, "%v", f)
		f = refused(t, i, "koan::Order.delete", `{"id":"7"}`)
		require.Equal(t, fault.Conflict, f.Code, "the line of the order refers to it: %v", f)
		f = refused(t, i, "koan::Tag.upsert", `{"model":{}}`)
		require.Equal(t, fault.InvalidPayload, f.Code, "its key is nobody's to make: %v", f)
		for _, id := range []string{"koan::Jot.upsert", "koan::Buyer.upsert", "koan::Jot.delete"} {
			require.Equal(t, fault.ToolNotFound, refused(t, i, id, `{}`).Code, id)
		}
		require.Equal(t, []string{"1"}, s.list(t, "SELECT count(*) FROM orders"))
	})
}

// readOnly under one entity opens that one alone.
func TestWritesOneEntityOfADatabaseThatExists(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		file := filepath.Join(t.TempDir(), "koan.yaml")
		require.NoError(t, os.WriteFile(file, []byte("entities:\n  Customer:\n    readOnly: false\n"), 0o600))
		i, err := framework.New(t.Context(), databaseApp(), framework.Options{Config: framework.Source{File: file, Flags: map[string]string{
			"database": s.place, "ledger.database": "sqlite://" + t.TempDir(), "approval.mode": "never",
		}}})
		require.NoError(t, err)
		defer func() { _ = i.Stop(context.Background()) }()
		does(t, i, "koan::Customer.patch", `{"id":"1","changes":{"rating":8}}`)
		require.Equal(t, fault.ToolNotFound, refused(t, i, "koan::Order.delete", `{"id":"7"}`).Code)
	})
}

// What goes with a row and could not be restored is not deleted, and what cannot be written says why.
func TestDeletionsThatNobodyCouldUndo(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		_, err := s.db.Exec(`CREATE TABLE parts (customer_id INTEGER REFERENCES customers ON DELETE CASCADE, n INTEGER, PRIMARY KEY (customer_id, n));
CREATE TABLE secrets (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers ON DELETE SET NULL);
INSERT INTO customers VALUES (4, 'dee@x', 2), (5, 'eve@x', 2), (6, 'fay@x', 2);
INSERT INTO parts VALUES (4, 1);
INSERT INTO secrets VALUES (1, 5)`)
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "koan.yaml")
		require.NoError(t, os.WriteFile(file, []byte("readOnly: false\nentities:\n  Secret:\n    hidden: true\n  Tag:\n    readOnly: true\n"), 0o600))
		i, err := framework.New(t.Context(), databaseApp(), framework.Options{Config: framework.Source{File: file, Flags: map[string]string{
			"database": s.place, "ledger.database": "sqlite://" + t.TempDir(), "approval.mode": "never",
		}}})
		require.NoError(t, err)
		defer func() { _ = i.Stop(context.Background()) }()
		require.Equal(t, fault.Forbidden, refused(t, i, "koan::Customer.delete", `{"id":"5"}`).Code)
		did := script(t, i, `SDK.Entities.Customer.delete("4")`, nil)
		require.Equal(t, []string{"0"}, s.list(t, "SELECT count(*) FROM parts"))
		_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
		require.NoError(t, err)
		require.Equal(t, []string{"1"}, s.list(t, "SELECT n FROM parts WHERE customer_id = 4"), "it goes with its customer, and comes back")
		does(t, i, "koan::Customer.delete", `{"id":"6"}`)
		require.Equal(t, fault.ToolNotFound, refused(t, i, "koan::Tag.upsert", `{}`).Code)
		require.Equal(t, []string{"4", "5"}, s.list(t, "SELECT customer_id FROM customers WHERE customer_id > 3 ORDER BY 1"))
	})
}

// Columns of PostgreSQL's own types, and tables of two schemas with one name.
func TestWritesTypesOfPostgreSQL(t *testing.T) {
	pgtest.Psql(t, pgtest.Server(t), "CREATE DATABASE typed")
	place := strings.Replace(pgtest.Server(t), "/postgres?", "/typed?", 1)
	db, err := sql.Open("pgx", place)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec(`CREATE SCHEMA "Far Away";
CREATE TYPE "Far Away".mood AS ENUM ('glad', 'sad');
CREATE TABLE owners (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text);
CREATE TABLE "Far Away".owners (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, mood "Far Away".mood, address inet, span interval, price numeric(8, 2),
  lines text[], raw bytea, extra jsonb, far timestamptz(3), owner uuid REFERENCES public.owners);
CREATE TABLE "Far Away"."Pairs" (a bigint REFERENCES "Far Away".owners ON DELETE CASCADE, b uuid REFERENCES public.owners, PRIMARY KEY (a, b));
INSERT INTO public.owners VALUES ('9f9b5a0e-0000-4000-8000-000000000001', 'x');
INSERT INTO "Far Away".owners (mood, lines) VALUES ('sad', '{a,b}')`)
	require.NoError(t, err)
	i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
	require.NoError(t, err)
	made := does(t, i, "koan::FarAwayOwner.upsert", `{"model":{"mood":"glad","address":"10.0.0.1","span":"01:00:00","price":"12.50","raw":"AQI=","extra":{"a":[1]},
"far":"2026-01-02T03:04:05.678Z","owner":"9f9b5a0e-0000-4000-8000-000000000001","publicOwners":[{"id":"9f9b5a0e-0000-4000-8000-000000000001"}]}}`)
	require.Equal(t, "glad", made["mood"])
	require.Equal(t, "12.50", made["price"])
	did := script(t, i, `SDK.Entities.FarAwayOwner.patch("1", { mood: "glad" }); SDK.Entities.PublicOwner.upsert({ name: "new" }); SDK.Entities.FarAwayOwner.delete("2")`, nil)
	_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
	require.NoError(t, err)
	again := does(t, i, "koan::FarAwayOwner.get-by-id", `{"id":"2"}`)
	require.Equal(t, made, again)
	kept := does(t, i, "koan::FarAwayOwner.get-by-id", `{"id":"1"}`)
	require.Equal(t, []any{"a", "b"}, kept["lines"])
	require.Equal(t, "sad", kept["mood"])
	did = script(t, i, `SDK.Entities.FarAwayOwner.delete("1")`, nil)
	_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
	require.NoError(t, err)
	require.Equal(t, kept, does(t, i, "koan::FarAwayOwner.get-by-id", `{"id":"1"}`))
}

// ledger.inData puts the receipts into the database itself.
func TestKeepsReceiptsInADatabaseThatAsksForIt(t *testing.T) {
	each(t, func(t *testing.T, s store) {
		for range 2 { // Koan's own tables are no entities
			i, err := start(t, map[string]string{"database": s.place, "readOnly": "false", "ledger.inData": "true"})
			require.NoError(t, err)
			does(t, i, "koan::Customer.patch", `{"id":"1","changes":{"rating":8}}`)
			require.NotContains(t, strings.Join(i.Report(), "\n"), "oan_")
			require.NoError(t, i.Stop(context.Background()))
		}
		require.NotEqual(t, []string{"0"}, s.list(t, "SELECT count(*) FROM koan_receipts"))
	})
}

// What only the database counts up cannot be given, and comes back as it was when a deletion is undone.
func TestWritesBesideIdentitiesThatAreAlwaysGenerated(t *testing.T) {
	pgtest.Psql(t, pgtest.Server(t), "CREATE DATABASE counted")
	place := strings.Replace(pgtest.Server(t), "/postgres?", "/counted?", 1)
	db, err := sql.Open("pgx", place)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	_, err = db.Exec(`CREATE TABLE tickets (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, title text NOT NULL);
CREATE TABLE lines (code text PRIMARY KEY, place bigint GENERATED ALWAYS AS IDENTITY, body text);
INSERT INTO tickets (title) VALUES ('a'), ('b'); INSERT INTO lines (code, body) VALUES ('x', 'one')`)
	require.NoError(t, err)
	i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
	require.NoError(t, err)
	require.Equal(t, "3", does(t, i, "koan::Ticket.upsert", `{"model":{"title":"c"}}`)["id"])
	require.Equal(t, 2.0, does(t, i, "koan::Line.upsert", `{"model":{"id":"y","body":"two"}}`)["place"])
	require.Equal(t, fault.NotFound, refused(t, i, "koan::Ticket.upsert", `{"model":{"id":"9","title":"d"}}`).Code)
	require.Equal(t, fault.InvalidPayload, refused(t, i, "koan::Line.patch", `{"id":"y","changes":{"place":5}}`).Code)
	did := script(t, i, `SDK.Entities.Ticket.patch("1", { title: "changed" }); SDK.Entities.Line.patch("x", { body: "changed" })`, nil)
	_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
	require.NoError(t, err)
	did = script(t, i, `SDK.Entities.Ticket.delete("1"); SDK.Entities.Line.delete("x")`, nil)
	_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
	require.NoError(t, err)
	require.Equal(t, "a", does(t, i, "koan::Ticket.get-by-id", `{"id":"1"}`)["title"])
	require.Equal(t, 1.0, does(t, i, "koan::Line.get-by-id", `{"id":"x"}`)["place"])
}
