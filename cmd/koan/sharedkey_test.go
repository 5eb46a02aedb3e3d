package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// sharedKeys has tables whose key is a reference: profiles have that of their person, badges that of their profile, and
// receipts, which have no primary key, the unique number of their order.
const sharedKeys = `CREATE TABLE persons (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE profiles (person_id INTEGER PRIMARY KEY REFERENCES persons ON DELETE CASCADE, theme TEXT NOT NULL);
CREATE TABLE badges (profile_id INTEGER PRIMARY KEY REFERENCES profiles ON DELETE CASCADE, level INTEGER);
CREATE TABLE orders (number VARCHAR(20) PRIMARY KEY, note TEXT);
CREATE TABLE receipts (order_number VARCHAR(20) NOT NULL UNIQUE REFERENCES orders ON DELETE CASCADE, paid INTEGER);
INSERT INTO persons VALUES (1, 'Ann'), (2, 'Bob');
INSERT INTO profiles VALUES (1, 'dark');
INSERT INTO badges VALUES (1, 5);
INSERT INTO orders VALUES ('a', 'first'), ('b', 'second');
INSERT INTO receipts VALUES ('a', 1);
`

// Rows whose key is a reference are created, stored again and restored like others: the id says what they refer to.
func TestKeysThatAreReferences(t *testing.T) {
	onBoth(t, func(bool) string { return sharedKeys }, func(t *testing.T, place string, onPostgreSQL bool) {
		i, err := start(t, map[string]string{"database": place, "readOnly": "false", "approval.mode": "never"})
		require.NoError(t, err)
		rows := func() any {
			return script(t, i, `return Object.keys(SDK.Entities).map((name) => SDK.Entities[name].all({ with: "all" }))`, nil)["result"]
		}
		before := rows()
		runs := []string{
			`SDK.Entities.Profile.create({ id: "2", theme: "light" }); SDK.Entities.Badge.upsert({ id: "2", level: 1 })`,
			`SDK.Entities.Receipt.upsertMany([{ id: "b", paid: 0 }, { id: "a", paid: 0 }])`,
			`SDK.Entities.Profile.delete("1"); SDK.Entities.Receipt.delete("a")`,
			`SDK.Entities.Person.delete("1"); SDK.Entities.Order.delete("a")`,
			`SDK.Entities.Badge.delete("1"); SDK.Entities.Badge.create({ id: "1", level: 6 })`,
		}
		for _, code := range runs {
			did := script(t, i, code, nil)
			require.NotEqual(t, before, rows(), code)
			_, err = call(t, i, "code::koan.undo", map[string]any{"runId": did["runId"]})
			require.NoError(t, err, code)
			require.Equal(t, before, rows(), code)
		}
		does(t, i, "koan::Profile.create", `{"model":{"id":"2","theme":"light"}}`)
		require.Equal(t, "Bob", does(t, i, "koan::Profile.get-by-id", `{"id":"2","with":"person"}`)["person"].(map[string]any)["name"])
		f := refused(t, i, "koan::Profile.create", `{"model":{"id":"7","theme":"light"}}`)
		require.Equal(t, fault.InvalidPayload, f.Code, "nobody has this id: %v", f)
		f = refused(t, i, "koan::Profile.create", `{"model":{"person":"2","theme":"light"}}`)
		require.Contains(t, f.Message, "/model/person: person cannot be written here. It follows from id.")
		require.Contains(t, f.Message, "/model/id: id is required to create a Profile")
	})
}
