package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
)

// Programs bring functions, collations and modules of their own: Calibre's triggers call title_sort, Anki's columns are
// ordered by unicase, and this build of SQLite may lack the module of a full-text index.
const libraryOfAProgram = `CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL, sort TEXT);
CREATE TRIGGER books_insert AFTER INSERT ON books BEGIN UPDATE books SET sort = title_sort(NEW.title) WHERE id = NEW.id; END;
CREATE VIEW sorted AS SELECT id, title_sort(title) AS s FROM books;
CREATE TABLE tags (tag TEXT NOT NULL PRIMARY KEY COLLATE NOCASE) WITHOUT ROWID;
CREATE TABLE decks (id INTEGER PRIMARY KEY, name TEXT NOT NULL COLLATE NOCASE UNIQUE);
CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE orphans (id INTEGER PRIMARY KEY, parent INTEGER REFERENCES nowhere (id));
CREATE TABLE words_data (id INTEGER PRIMARY KEY, block BLOB);
CREATE TABLE words_index (id INTEGER PRIMARY KEY);
INSERT INTO tags VALUES ('x');
INSERT INTO decks VALUES (1, 'Default');
INSERT INTO notes VALUES (1, 'hello');
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'NOCASE', 'unicase');
INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES ('table', 'words', 'words', 0, 'CREATE VIRTUAL TABLE words USING absent (body)');
PRAGMA writable_schema = OFF`

func TestServesWhatItCanOfAProgramWithItsOwnFunctions(t *testing.T) {
	path := filepath.Join(t.TempDir(), "library.db")
	db := sqlitedriver.Open("file:" + path)
	_, err := db.Exec(libraryOfAProgram)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	i, err := start(t, map[string]string{"database": "sqlite:" + path, "readOnly": "false"})
	require.NoError(t, err)

	said := map[string]string{}
	for _, c := range i.Checks(t.Context()) {
		require.True(t, c.OK, "%+v", c)
		said[c.Name] += c.Detail + "\n"
	}
	for _, left := range []string{"sorted: the view cannot be read: no such function: title_sort", "tags: it cannot be read here: ", "words: it is a virtual table"} {
		require.Contains(t, said["not served"], left)
	}
	for _, closed := range []string{
		"books: writing to it needs what this program does not have: no such function: title_sort",
		"decks: writing to it needs what this program does not have: no such collation sequence: unicase",
		"orphans: writing to it needs what this program does not have: no such table: main.nowhere",
	} {
		require.Contains(t, said["read-only"], closed)
	}
	var names []string
	for _, r := range i.Snapshot().Resources() {
		names = append(names, r.Name)
	}
	require.ElementsMatch(t, []string{"Book", "Deck", "Note", "Orphan", "WordsIndex"}, names, "words_data is the full-text index's")

	require.Equal(t, "Default", does(t, i, "koan::Deck.get-by-id", `{"id":"1"}`)["name"])
	f := refused(t, i, "koan::Deck.collection", `{"sort":"name"}`)
	require.Equal(t, fault.CapabilityUnsupported, f.Code)
	require.Contains(t, f.Message, "no such collation sequence: unicase")
	does(t, i, "koan::Note.patch", `{"id":"1","changes":{"body":"changed"}}`)
}
