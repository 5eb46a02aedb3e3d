package read_test

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/tests/pgtest"
)

// shelf is 10,000 books of 1,000 authors and 20 tags.
func shelf() library.Data {
	var d library.Data
	for i := range 1000 {
		d.Authors = append(d.Authors, library.Author{ID: int64(i + 1), Name: "Author " + strconv.Itoa(i), Born: library.P(int64(1900 + i%100))})
	}
	for i := range 20 {
		d.Tags = append(d.Tags, library.Tag{ID: int64(i + 1), Label: "tag" + strconv.Itoa(i)})
	}
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 10000 {
		d.Books = append(d.Books, library.Book{
			ID: fmt.Sprintf("0198c0de-0000-7000-8000-%012d", i), Title: "A book about number " + strconv.Itoa(i), Blurb: library.P("Some words about what is in it."),
			Pages: library.P(int64(i % 700)), Sold: int64(i * 7919 % 10000), Price: library.P(float64(i%100) / 4), InPrint: i%2 == 0,
			PublishedAt: library.P(start.Add(time.Duration(i) * time.Hour)), CreatedAt: start.Add(time.Duration(i) * 1234567 * time.Microsecond),
			Genre: library.P(library.Genres[i%3]), Cost: library.P("4.25"), Author: library.P(int64(i%1000 + 1)), Tags: []int64{int64(i%20 + 1), int64((i+7)%20 + 1)},
		})
	}
	return d
}

// bookColumns takes times as texts on SQLite, which spares the driver from reading
// them; prepared takes them as they are on PostgreSQL.
const bookColumns = `id, title, blurb, page_count, sold, price, in_print, published_at||'', created_at||'', genre, meta, cover, isbn, cost, author_id`

// moment is a time as either database gives it.
type moment struct{ sql.NullString }

func (m *moment) Scan(v any) error {
	if t, ok := v.(time.Time); ok {
		m.String, m.Valid = t.UTC().Format(time.RFC3339Nano), true
		return nil
	}
	if err := m.NullString.Scan(v); err != nil || len(m.String) <= 25 {
		return err
	}
	m.String = m.String[:10] + "T" + m.String[11:len(m.String)-6] + "Z"
	return nil
}

// rawBook is what one would write by hand for this one table, without an engine:
// a prepared statement, scanned into variables, appended to JSON.
type rawBook struct {
	id, title                      string
	sold                           int64
	inPrint                        bool
	published, created             moment
	blurb, genre, meta, isbn, cost sql.NullString
	pages, author                  sql.NullInt64
	price                          sql.NullFloat64
	cover                          []byte
	dest                           []any
}

func newRawBook() *rawBook {
	b := &rawBook{}
	b.dest = []any{&b.id, &b.title, &b.blurb, &b.pages, &b.sold, &b.price, &b.inPrint, &b.published, &b.created, &b.genre, &b.meta, &b.cover, &b.isbn, &b.cost, &b.author}
	return b
}

func (b *rawBook) append(out []byte) []byte {
	text := func(key string, s sql.NullString) {
		out = append(out, key...)
		if !s.Valid {
			out = append(out, "null"...)
			return
		}
		out = strconv.AppendQuote(out, s.String)
	}
	number := func(key string, n sql.NullInt64) {
		out = append(out, key...)
		if !n.Valid {
			out = append(out, "null"...)
			return
		}
		out = strconv.AppendInt(out, n.Int64, 10)
	}
	out = append(out, `{"id":`...)
	out = strconv.AppendQuote(out, b.id)
	out = append(out, `,"title":`...)
	out = strconv.AppendQuote(out, b.title)
	text(`,"blurb":`, b.blurb)
	number(`,"pages":`, b.pages)
	out = append(out, `,"sold":`...)
	out = strconv.AppendInt(out, b.sold, 10)
	out = append(out, `,"price":`...)
	out = strconv.AppendFloat(out, b.price.Float64, 'f', -1, 64)
	out = append(out, `,"inPrint":`...)
	out = strconv.AppendBool(out, b.inPrint)
	text(`,"publishedAt":`, b.published.NullString)
	text(`,"createdAt":`, b.created.NullString)
	text(`,"genre":`, b.genre)
	text(`,"meta":`, b.meta)
	out = append(out, `,"cover":null`...)
	text(`,"isbn":`, b.isbn)
	text(`,"cost":`, b.cost)
	number(`,"authorId":`, b.author)
	return out
}

func prepared(b *testing.B, db *sql.DB, query string) *sql.Stmt {
	b.Helper()
	if pgtest.Here(b) {
		query = pgtest.Marks(b, strings.ReplaceAll(query, "||''", ""))
	}
	s, err := db.Prepare(query)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s
}

// ratio runs raw and engine in turns, so that a noisy machine is noisy for both,
// and reports the engine's time in units of raw's.
func ratio(b *testing.B, raw, engine func() int) {
	b.Helper()
	ratioOf(b, 20, raw, engine)
}

// ratioOf is ratio with so many calls in a turn.
func ratioOf(b *testing.B, turn int, raw, engine func() int) {
	b.Helper()
	require.Greater(b, raw(), 0)
	require.Greater(b, engine(), 0)
	var times [2]time.Duration
	for n := 0; b.Loop(); n++ {
		for i, f := range []func() int{raw, engine} {
			start := time.Now()
			for range turn {
				f()
			}
			times[i] += time.Since(start)
		}
	}
	b.ReportMetric(float64(times[0].Microseconds())/float64(b.N*turn), "raw-µs")
	b.ReportMetric(float64(times[1].Microseconds())/float64(b.N*turn), "engine-µs")
	b.ReportMetric(float64(times[1])/float64(times[0]), "x-raw")
}

func BenchmarkGetByID(b *testing.B) {
	if pgtest.ForEach(b, BenchmarkGetByID) {
		return
	}
	db, e := open(b, shelf())
	const id = "0198c0de-0000-7000-8000-000000004711"
	stmt := prepared(b, db, "SELECT "+bookColumns+" FROM books WHERE id=?")
	g, err := read.DecodeGet([]byte(`{"id":"`+id+`"}`), books, graph)
	require.NoError(b, err)
	ratio(b, func() int {
		book := newRawBook()
		must(b, stmt.QueryRowContext(ctx, id).Scan(book.dest...))
		return len(append(book.append(make([]byte, 0, 512)), '}'))
	}, func() int {
		out, err := e.Get(ctx, db, g)
		must(b, err)
		return len(out)
	})
}

const page20 = "SELECT " + bookColumns + " FROM books WHERE in_print=? AND sold>=? AND genre=? ORDER BY sold DESC, id LIMIT ? OFFSET ?"

const input20 = `{"filter":{"inPrint":true,"sold":{"$gte":2000},"genre":"novel"},"sort":"-sold","pageSize":20,"count":false`

func rawPage(b *testing.B, stmt *sql.Stmt, each func(*rawBook, []byte) []byte) []byte {
	rows, err := stmt.QueryContext(ctx, true, 2000, "novel", 20, 0)
	must(b, err)
	out := append(make([]byte, 0, 16384), `{"items":[`...)
	book := newRawBook()
	for n := 0; rows.Next(); n++ {
		must(b, rows.Scan(book.dest...))
		out = each(book, out)
	}
	must(b, rows.Err())
	must(b, rows.Close())
	return append(out, `],"page":1,"pageSize":20,"truncated":false}`...)
}

func BenchmarkCollection20(b *testing.B) {
	if pgtest.ForEach(b, BenchmarkCollection20) {
		return
	}
	db, e := open(b, shelf())
	stmt := prepared(b, db, page20)
	c, err := read.DecodeCollection([]byte(input20+"}"), books, graph)
	require.NoError(b, err)
	ratio(b, func() int {
		return len(rawPage(b, stmt, func(book *rawBook, out []byte) []byte { return append(book.append(out), '}', ',') }))
	}, func() int {
		out, err := e.Collection(ctx, db, c)
		must(b, err)
		return len(out)
	})
}

func BenchmarkCollection20With2Edges(b *testing.B) {
	if pgtest.ForEach(b, BenchmarkCollection20With2Edges) {
		return
	}
	db, e := open(b, shelf())
	marks := "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?"
	stmt := prepared(b, db, page20)
	authors := prepared(b, db, "SELECT id, name, born, mentor_id FROM authors WHERE id IN ("+marks+")")
	tags := prepared(b, db, "SELECT t.id, t.label, j.book_id FROM tags t JOIN book_tags j ON j.tag_id=t.id WHERE j.book_id IN ("+marks+") ORDER BY t.id")
	c, err := read.DecodeCollection([]byte(input20+`,"with":"author,tags"}`), books, graph)
	require.NoError(b, err)
	ratio(b, func() int { return rawEdges(b, stmt, authors, tags) }, func() int {
		out, err := e.Collection(ctx, db, c)
		must(b, err)
		return len(out)
	})
}

func rawEdges(b *testing.B, stmt, authors, tags *sql.Stmt) int {
	var parts [][]byte
	var ids, refs []any
	rawPage(b, stmt, func(book *rawBook, out []byte) []byte {
		parts = append(parts, book.append(nil))
		ids, refs = append(ids, book.id), append(refs, book.author.Int64)
		return out
	})
	byID := map[int64][]byte{}
	rows, err := authors.QueryContext(ctx, refs...)
	must(b, err)
	for rows.Next() {
		var id int64
		var name string
		var born, mentor sql.NullInt64
		must(b, rows.Scan(&id, &name, &born, &mentor))
		one := strconv.AppendInt([]byte(`{"id":"`), id, 10)
		one = strconv.AppendQuote(append(one, `","name":`...), name)
		one = strconv.AppendInt(append(one, `,"born":`...), born.Int64, 10)
		byID[id] = append(one, `,"mentorId":null}`...)
	}
	must(b, rows.Close())
	byBook := map[string][]byte{}
	rows, err = tags.QueryContext(ctx, ids...)
	must(b, err)
	for rows.Next() {
		var id int64
		var label, book string
		must(b, rows.Scan(&id, &label, &book))
		list := append(byBook[book], `{"id":"`...)
		list = append(strconv.AppendInt(list, id, 10), `","label":`...)
		byBook[book] = append(strconv.AppendQuote(list, label), '}', ',')
	}
	must(b, rows.Close())
	out := make([]byte, 0, 16384)
	for i, p := range parts {
		out = append(append(append(out, p...), `,"author":`...), byID[refs[i].(int64)]...)
		out = append(append(append(out, `,"tags":[`...), byBook[ids[i].(string)]...), ']', '}')
	}
	return len(out)
}

// BenchmarkDecode is what checking an input costs, beside the engine's work.
func BenchmarkDecode(b *testing.B) {
	for name, input := range map[string]string{"collection": input20 + "}", "with": input20 + `,"with":"author,tags"}`} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := read.DecodeCollection([]byte(input), books, graph)
				must(b, err)
			}
		})
	}
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := read.DecodeGet([]byte(`{"id":"0198c0de-0000-7000-8000-000000004711"}`), books, graph)
			must(b, err)
		}
	})
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}
