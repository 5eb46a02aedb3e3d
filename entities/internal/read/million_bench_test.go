package read_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/tests/pgtest"
)

// million is a library of a million books, whose titles are unique.
func million(b *testing.B) *sql.DB {
	b.Helper()
	db := library.Open(b)
	_, err := db.Exec(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<999999)
		INSERT INTO books (id, title, blurb, sold, in_print, created_at, secret, pin)
		SELECT 'book-'||i, 'title-'||(CAST(i AS bigint)*7919 % 1000000), 'Some words about what is in it, who may like it, and who wrote it when and where and for whom.',
			CAST(i AS bigint)*7919 % 1000003, true, '2026-01-01 00:00:00+00:00', '', '' FROM n`)
	require.NoError(b, err)
	_, err = db.Exec("CREATE UNIQUE INDEX books_title ON books (title)")
	require.NoError(b, err)
	execute(b, db, library.Dialect(b).MakePrefix(&sqltext.PrefixIndex{Table: "books", Column: "title"}))
	if pgtest.Here(b) {
		_, err := db.Exec("VACUUM ANALYZE books")
		require.NoError(b, err)
	}
	return db
}

// BenchmarkMillion reads few of a million rows: those whose unique text begins with another one, and a page
// near the end of a sort that no index has.
func BenchmarkMillion(b *testing.B) {
	if pgtest.ForEach(b, BenchmarkMillion) {
		return
	}
	db, e := million(b), read.New(library.Dialect(b))
	e.Indexed = true
	engine := func(input string) func() int {
		c, err := read.DecodeCollection([]byte(input), books, graph)
		require.NoError(b, err)
		return func() int {
			out, err := e.Collection(ctx, db, c)
			must(b, err)
			return len(out)
		}
	}
	raw := func(query string, args ...any) func() int {
		stmt := prepared(b, db, query)
		return func() int {
			rows, err := stmt.QueryContext(ctx, args...)
			must(b, err)
			n, book := 0, newRawBook()
			for rows.Next() {
				must(b, rows.Scan(book.dest...))
				n += len(book.append(nil))
			}
			must(b, rows.Close())
			return n
		}
	}
	for name, prefix := range map[string]string{"StartsWith": "title-12345", "StartsWithAll": "title"} {
		b.Run(name, func(b *testing.B) {
			query, args := "title>=? AND title<?", []any{prefix, prefix + "z"}
			if pgtest.Here(b) {
				query, args = "title LIKE ?", []any{prefix + "%"}
			}
			ratioOf(b, 1, raw("SELECT "+bookColumns+" FROM books WHERE "+query+" ORDER BY id LIMIT 51", args...),
				engine(fmt.Sprintf(`{"filter":{"title":{"$startsWith":%q}},"count":false}`, prefix)))
		})
	}
	b.Run("Deep", func(b *testing.B) {
		late := "SELECT " + bookColumns + " FROM books WHERE id IN (SELECT id FROM books ORDER BY sold, id LIMIT 51 OFFSET 900000) ORDER BY sold, id"
		ratioOf(b, 1, raw(late), engine(`{"sort":"sold","page":18001,"count":false}`))
	})
}
