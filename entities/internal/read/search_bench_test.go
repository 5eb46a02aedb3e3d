package read_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/tests/pgtest"
)

// stock is a library of n books, with an index of words or without.
func stock(b *testing.B, n int, indexed bool) *sql.DB {
	b.Helper()
	db := library.Open(b)
	_, err := db.Exec(fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<%d)
		INSERT INTO books (id, title, blurb, sold, in_print, created_at, secret, pin)
		SELECT 'book-'||i, 'A book about number'||i||' in series'||(i %% 100), 'Some words about what is in it, and who may like it.', 0, true, '2026-01-01 00:00:00+00:00', '', '' FROM n`, n-1))
	require.NoError(b, err)
	if indexed {
		execute(b, db, library.Dialect(b).MakeIndex(filter.Index(books)))
	}
	if pgtest.Here(b) {
		_, err := db.Exec("VACUUM ANALYZE books")
		require.NoError(b, err)
	}
	return db
}

// BenchmarkSearch looks for words in 100,000 rows by the index, against reading all
// of them.
func BenchmarkSearch(b *testing.B) {
	if pgtest.ForEach(b, BenchmarkSearch) {
		return
	}
	db := stock(b, 100_000, true)
	scan, indexed := scanning(b), scanning(b)
	indexed.Indexed = true
	for name, q := range map[string]string{"One": "number4711", "Hundredth": "series42", "All": "book"} {
		b.Run(name, func(b *testing.B) {
			input := fmt.Sprintf(`{"q":%q,"pageSize":20,"count":false}`, q)
			require.Equal(b, collection(b, db, scan, books, input), collection(b, db, indexed, books, input))
			ratio(b, func() int { return len(collection(b, db, scan, books, input)) }, func() int { return len(collection(b, db, indexed, books, input)) })
		})
	}
}

// BenchmarkSearchWrite is what an index of words costs a write of a text that is
// searched, and one that is not, each in a transaction of its own; and of 1,000 new
// rows in one.
func BenchmarkSearchWrite(b *testing.B) {
	if pgtest.ForEach(b, BenchmarkSearchWrite) {
		return
	}
	plain, indexed := stock(b, 10_000, false), stock(b, 10_000, true)
	n := 0
	run := func(db *sql.DB, query string, args ...any) func() int {
		query = pgtest.Marks(b, query)
		return func() int {
			n++
			_, err := db.Exec(query, append([]any{fmt.Sprint("Another title ", n, " of a book"), fmt.Sprintf("book-%d", n%10_000)}, args...)...)
			must(b, err)
			return 1
		}
	}
	const patch, beside = "UPDATE books SET title=? WHERE id=?", "UPDATE books SET pin=? WHERE id=?"
	b.Run("Patch", func(b *testing.B) { ratio(b, run(plain, patch), run(indexed, patch)) })
	b.Run("PatchBeside", func(b *testing.B) { ratio(b, run(plain, beside), run(indexed, beside)) })
	thousand := func(db *sql.DB) func() int {
		s := pgtest.Marks(b, "INSERT INTO books (id, title, blurb, sold, in_print, created_at, secret, pin) VALUES (?,?,?,0,?,?,'','')")
		return func() int {
			tx, err := db.Begin()
			must(b, err)
			stmt, err := tx.Prepare(s)
			must(b, err)
			for range 1000 {
				n++
				_, err := stmt.Exec(fmt.Sprint("new-", n), fmt.Sprint("A new book about number", n), "Some words about what is in it, and who may like it.", true, "2026-01-01 00:00:00+00:00")
				must(b, err)
			}
			must(b, tx.Commit())
			return 1
		}
	}
	b.Run("Thousand", func(b *testing.B) { ratio(b, thousand(plain), thousand(indexed)) })
}
