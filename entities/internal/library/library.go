// Package library is a small database of books, authors and tags, for the tests
// of the packages beside it: descriptors as the generator makes them, tables as
// ent makes them, and rows of every kind that the engine reads.
//
// What belongs here: data for tests. Not here: an import by anything but
// a test.
package library

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/tests/pgtest"
)

// Genres are the values of Book.genre.
var Genres = []string{"novel", "poetry", "essay"}

// Graph describes the library.
func Graph() *descriptor.Graph {
	return descriptor.NewGraph(author(), book(), tag(), shelf(), desk())
}

type fields struct{ entity *descriptor.Entity }

func (f fields) add(field catalog.Field, storage descriptor.Storage, column string) {
	f.entity.Resource.Fields = append(f.entity.Resource.Fields, field)
	f.entity.Columns = append(f.entity.Columns, descriptor.Column{Field: field.Name, Ent: column, Name: column, Storage: storage, Nullable: field.Nullable})
}

func (f fields) edge(e descriptor.Edge, many bool, reference string) {
	f.entity.Edges = append(f.entity.Edges, e)
	f.entity.Resource.Edges = append(f.entity.Resource.Edges, catalog.Edge{Name: e.Name, Target: e.Target, Many: many, Reference: reference})
}

func entity(name, table string, key descriptor.Storage) fields {
	return fields{&descriptor.Entity{
		Resource: catalog.Resource{Name: name, Key: catalog.Field{Name: "id", Type: catalog.TypeID}},
		Table:    table,
		Key:      descriptor.Column{Field: "id", Ent: "id", Name: "id", Storage: key},
	}}
}

func author() *descriptor.Entity {
	f := entity("Author", "authors", descriptor.Int)
	f.add(catalog.Field{Name: "name", Type: catalog.TypeString}, descriptor.Text, "name")
	f.add(catalog.Field{Name: "born", Type: catalog.TypeInt, Nullable: true}, descriptor.Int, "born")
	f.add(catalog.Field{Name: "mentorId", Type: catalog.TypeID, Nullable: true, Edge: "mentor"}, descriptor.Int, "mentor_id")
	f.edge(descriptor.Edge{Name: "books", Ent: "books", Target: "Book", Relation: descriptor.O2M, TargetKey: "author_id"}, true, "")
	f.edge(descriptor.Edge{Name: "mentor", Ent: "mentor", Target: "Author", Relation: descriptor.M2O, OwnKey: "mentor_id", Inverse: true}, false, "mentorId")
	f.edge(descriptor.Edge{Name: "desk", Ent: "desk", Target: "Desk", Relation: descriptor.O2O, TargetKey: "owner_id"}, false, "")
	f.edge(descriptor.Edge{Name: "pupils", Ent: "pupils", Target: "Author", Relation: descriptor.O2M, TargetKey: "mentor_id"}, true, "")
	return f.entity
}

func book() *descriptor.Entity {
	f := entity("Book", "books", descriptor.Text)
	f.entity.Resource.Searchable = true
	f.add(catalog.Field{Name: "title", Type: catalog.TypeString, Searchable: true}, descriptor.Text, "title")
	f.add(catalog.Field{Name: "blurb", Type: catalog.TypeText, Nullable: true, Searchable: true}, descriptor.Text, "blurb")
	f.add(catalog.Field{Name: "pages", Type: catalog.TypeInt, Nullable: true}, descriptor.Int, "page_count")
	f.add(catalog.Field{Name: "sold", Type: catalog.TypeInt}, descriptor.Int, "sold")
	f.add(catalog.Field{Name: "price", Type: catalog.TypeFloat, Nullable: true}, descriptor.Float, "price")
	f.add(catalog.Field{Name: "inPrint", Type: catalog.TypeBool}, descriptor.Bool, "in_print")
	f.add(catalog.Field{Name: "publishedAt", Type: catalog.TypeTime, Nullable: true}, descriptor.Time, "published_at")
	f.add(catalog.Field{Name: "createdAt", Type: catalog.TypeTime}, descriptor.Time, "created_at")
	f.add(catalog.Field{Name: "orderedOn", Type: catalog.TypeDay, Nullable: true}, descriptor.Day, "ordered_on")
	f.add(catalog.Field{Name: "genre", Type: catalog.TypeEnum, Enum: Genres, Nullable: true}, descriptor.Text, "genre")
	f.add(catalog.Field{Name: "meta", Type: catalog.TypeJSON, Nullable: true}, descriptor.JSON, "meta")
	f.add(catalog.Field{Name: "keywords", Type: catalog.TypeJSON, Nullable: true, Schema: []byte(`{"type":"array","items":{"type":"string"}}`)}, descriptor.JSON, "keywords")
	f.add(catalog.Field{Name: "cover", Type: catalog.TypeBytes, Nullable: true}, descriptor.Bytes, "cover")
	f.add(catalog.Field{Name: "isbn", Type: catalog.TypeUUID, Nullable: true}, descriptor.UUID, "isbn")
	f.add(catalog.Field{Name: "cost", Type: catalog.TypeDecimal, Nullable: true}, descriptor.Decimal, "cost")
	f.add(catalog.Field{Name: "secret", Type: catalog.TypeString, Sensitive: true}, descriptor.Text, "secret")
	f.add(catalog.Field{Name: "pin", Type: catalog.TypeString, WriteOnly: true}, descriptor.Text, "pin")
	f.add(catalog.Field{Name: "authorId", Type: catalog.TypeID, Nullable: true, Edge: "author"}, descriptor.Int, "author_id")
	f.edge(descriptor.Edge{Name: "author", Ent: "author", Target: "Author", Relation: descriptor.M2O, OwnKey: "author_id", Inverse: true}, false, "authorId")
	f.edge(descriptor.Edge{Name: "tags", Ent: "tags", Target: "Tag", Relation: descriptor.M2M, JoinTable: "book_tags", JoinOwn: "book_id", JoinTarget: "tag_id"}, true, "")
	f.edge(descriptor.Edge{Name: "reviews", Ent: "reviews", Target: "Review", Relation: descriptor.O2M, TargetKey: "book_id"}, true, "")
	return f.entity
}

func tag() *descriptor.Entity {
	f := entity("Tag", "tags", descriptor.Int)
	f.add(catalog.Field{Name: "label", Type: catalog.TypeString}, descriptor.Text, "label")
	f.edge(descriptor.Edge{Name: "books", Ent: "books", Target: "Book", Relation: descriptor.M2M, Inverse: true, JoinTable: "book_tags", JoinOwn: "tag_id", JoinTarget: "book_id"}, true, "")
	return f.entity
}

func desk() *descriptor.Entity {
	f := entity("Desk", "desks", descriptor.Int)
	f.add(catalog.Field{Name: "room", Type: catalog.TypeString}, descriptor.Text, "room")
	f.add(catalog.Field{Name: "ownerId", Type: catalog.TypeID, Nullable: true, Edge: "owner"}, descriptor.Int, "owner_id")
	f.edge(descriptor.Edge{Name: "owner", Ent: "owner", Target: "Author", Relation: descriptor.O2O, OwnKey: "owner_id", Inverse: true}, false, "ownerId")
	return f.entity
}

func shelf() *descriptor.Entity {
	f := entity("Shelf", "shelves", descriptor.Int)
	f.add(catalog.Field{Name: "room", Type: catalog.TypeString}, descriptor.Text, "room")
	return f.entity
}

const tables = `
CREATE TABLE shelves (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, room text NOT NULL);
CREATE TABLE authors (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, name text NOT NULL, born integer NULL,
  mentor_id integer NULL REFERENCES authors (id));
CREATE TABLE books (id text NOT NULL PRIMARY KEY, title text NOT NULL, blurb text NULL, page_count integer NULL, sold integer NOT NULL,
  price real NULL, in_print bool NOT NULL, published_at datetime NULL, created_at datetime NOT NULL, ordered_on date NULL, genre text NULL, meta json NULL, keywords json NULL,
  cover blob NULL, isbn uuid NULL, cost decimal NULL, secret text NOT NULL, pin text NOT NULL, author_id integer NULL REFERENCES authors (id));
CREATE TABLE tags (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, label text NOT NULL);
CREATE TABLE book_tags (book_id text NOT NULL REFERENCES books (id), tag_id integer NOT NULL REFERENCES tags (id), PRIMARY KEY (book_id, tag_id));
CREATE TABLE desks (id integer NOT NULL PRIMARY KEY AUTOINCREMENT, room text NOT NULL, owner_id integer NULL UNIQUE REFERENCES authors (id));
CREATE INDEX books_author ON books (author_id);
CREATE INDEX books_sold ON books (in_print, sold);
CREATE INDEX authors_mentor ON authors (mentor_id);
CREATE INDEX book_tags_tag ON book_tags (tag_id);`

// onPostgres are the words of the tables that PostgreSQL has others for. Foreign
// keys are checked at the end, since rows may come in any order.
var onPostgres = strings.NewReplacer(
	"integer NOT NULL PRIMARY KEY AUTOINCREMENT", "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY", "integer", "bigint", " real ", " double precision ",
	" datetime ", " timestamptz ", " json ", " jsonb ", " blob ", " bytea ", " decimal ", " numeric ",
	"REFERENCES authors (id)", "REFERENCES authors (id) DEFERRABLE INITIALLY DEFERRED",
)

// Open returns an empty library of the test's own, on the database that the test runs
// on.
func Open(t testing.TB) *sql.DB {
	t.Helper()
	if pgtest.Here(t) {
		return PostgreSQL(t)
	}
	return SQLite(t)
}

// Dialect is that of the database that the test runs on.
func Dialect(t testing.TB) sqltext.Dialect {
	if pgtest.Here(t) {
		return sqltext.PostgreSQL{Folds: true}
	}
	return sqltext.SQLite{Folds: true}
}

// SQLite returns an empty library in a file.
func SQLite(t testing.TB) *sql.DB {
	t.Helper()
	db := sqlitedriver.Open("file:" + filepath.Join(t.TempDir(), "library.db") +
		"?_journal_mode=WAL&_synchronous=NORMAL&_busy_timeout=5000&_foreign_keys=1&_stmt_cache_size=64")
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err := db.Exec(tables)
	require.NoError(t, err)
	return db
}

// PostgreSQL returns an empty library in a schema.
func PostgreSQL(t testing.TB) *sql.DB {
	t.Helper()
	db := pgtest.Open(t)
	for _, statement := range []string{onPostgres.Replace(tables), fold.PostgresFunction()} {
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
	return db
}

// Author is a row of authors.
type Author struct {
	ID     int64
	Name   string
	Born   *int64
	Mentor *int64
}

// Book is a row of books.
type Book struct {
	ID          string
	Title       string
	Blurb       *string
	Pages       *int64
	Sold        int64
	Price       *float64
	InPrint     bool
	PublishedAt *time.Time
	CreatedAt   time.Time
	OrderedOn   *Day
	Genre       *string
	Meta        *string
	Keywords    *string
	Cover       []byte
	ISBN        *string
	Cost        *string
	Author      *int64
	Tags        []int64
}

// Tag is a row of tags.
type Tag struct {
	ID    int64
	Label string
}

// Desk is a row of desks; an author has at most one.
type Desk struct {
	ID    int64
	Room  string
	Owner *int64
}

// Data is what a library has in it.
type Data struct {
	Desks   []Desk
	Authors []Author
	Books   []Book
	Tags    []Tag
}

// Insert writes data with the driver's own binding of each Go type, which is
// what ent's builders use. PostgreSQL cannot keep text that is not JSON in a column
// of JSON: there it is taken out of d.
func Insert(t testing.TB, db *sql.DB, d Data) {
	t.Helper()
	tx, err := db.BeginTx(context.Background(), nil)
	require.NoError(t, err)
	exec := func(query string, args ...any) {
		_, err := tx.Exec(pgtest.Marks(t, query), args...)
		require.NoError(t, err)
	}
	if pgtest.Here(t) {
		for i := range d.Books {
			if meta := d.Books[i].Meta; meta != nil && !json.Valid([]byte(*meta)) {
				d.Books[i].Meta = nil
			}
		}
	} else {
		exec("PRAGMA defer_foreign_keys=1")
	}
	for _, a := range d.Authors {
		exec("INSERT INTO authors VALUES (?,?,?,?)", a.ID, a.Name, a.Born, a.Mentor)
	}
	for _, k := range d.Desks {
		exec("INSERT INTO desks VALUES (?,?,?)", k.ID, k.Room, k.Owner)
	}
	for _, g := range d.Tags {
		exec("INSERT INTO tags VALUES (?,?)", g.ID, g.Label)
	}
	for _, b := range d.Books {
		exec("INSERT INTO books VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", b.ID, b.Title, b.Blurb, b.Pages, b.Sold, b.Price, b.InPrint,
			b.PublishedAt, b.CreatedAt, b.OrderedOn.kept(), b.Genre, b.Meta, blob(b.Keywords), b.Cover, b.ISBN, b.Cost, "hidden "+b.ID, "1234", b.Author)
		for _, g := range b.Tags {
			exec("INSERT INTO book_tags VALUES (?,?)", b.ID, g)
		}
	}
	require.NoError(t, tx.Commit())
	if pgtest.Here(t) && len(d.Books) > 1000 { // nothing else counts rows there, and plans depend on it
		_, err := db.Exec("ANALYZE")
		require.NoError(t, err)
	}
}

// Day is a day of the calendar, YYYY-MM-DD.
type Day string

// kept is one of the ways in which a day is bound: as ent's builders do, or as itself.
func (d *Day) kept() any {
	if d == nil {
		return nil
	}
	at, err := time.Parse(time.DateOnly, string(*d))
	if err != nil {
		panic(err)
	}
	if at.Day()%2 == 0 {
		return string(*d)
	}
	return at
}

// blob is how ent binds JSON.
func blob(s *string) any {
	if s == nil {
		return nil
	}
	return []byte(*s)
}

// P returns a pointer to a value.
func P[T any](v T) *T { return &v }
