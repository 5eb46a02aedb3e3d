package read_test

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/tests/pgtest"
)

// prose is a text of so many words, of which few are in most texts and most in few.
func prose(z *rand.Zipf, words int) string {
	var b strings.Builder
	for i := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		fmt.Fprintf(&b, "w%dord", z.Uint64())
	}
	return b.String()
}

// notes is a library of 100,000 books with a title and a text of 100 words, and an index of words.
func notes(b *testing.B) *sql.DB {
	b.Helper()
	db := library.Open(b)
	z := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 8, 20_000)
	d := library.Data{}
	for i := range 100_000 {
		d.Books = append(d.Books, library.Book{ID: fmt.Sprintf("0198c0de-0000-7000-8000-%012d", i), Title: prose(z, 5), Blurb: library.P(prose(z, 100)), CreatedAt: time.Unix(int64(i), 0)})
	}
	library.Insert(b, db, d)
	execute(b, db, library.Dialect(b).MakeIndex(filter.Index(books)))
	if pgtest.Here(b) {
		_, err := db.Exec("VACUUM ANALYZE books")
		require.NoError(b, err)
	}
	return db
}

// BenchmarkNotes looks for words that many texts have, and few: the best 20 of them, and how many there are.
func BenchmarkNotes(b *testing.B) {
	if pgtest.ForEach(b, BenchmarkNotes) {
		return
	}
	db, e := notes(b), read.New(library.Dialect(b))
	e.Indexed = true
	for _, c := range []struct{ name, q string }{{"Most", "w0ord"}, {"Many", "w10ord"}, {"Few", "w3000ord"}, {"Two", "w0ord w1ord"}, {"Start", "w10"}} {
		b.Run(c.name, func(b *testing.B) {
			in, err := read.DecodeCollection(fmt.Appendf(nil, `{"q":%q,"pageSize":20}`, c.q), books, graph)
			require.NoError(b, err)
			for b.Loop() {
				_, err := e.Collection(ctx, db, in)
				must(b, err)
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms")
		})
	}
}
