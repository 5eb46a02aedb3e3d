package read

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

type page struct {
	Items      []map[string]any
	Page       int
	TotalCount *int
	NextCursor *string
	Truncated  bool
}

func shelf(t testing.TB, books int) (*sql.DB, *Engine) {
	db := library.Open(t)
	fill(t, db, books)
	return db, New(library.Dialect(t))
}

func fill(t testing.TB, db *sql.DB, books int) {
	d := library.Data{Authors: []library.Author{{ID: 1, Name: "Ann"}}}
	for i := range books {
		d.Books = append(d.Books, library.Book{ID: fmt.Sprintf("b%05d", i), Title: fmt.Sprintf("Title %d", i%7), Sold: int64(i % 5), CreatedAt: time.Unix(int64(i%3), 0), Author: library.P[int64](1)})
	}
	library.Insert(t, db, d)
}

func (p page) ids() (out []string) {
	for _, item := range p.Items {
		out = append(out, item["id"].(string))
	}
	return out
}

func ask(db Querier, e *Engine, input map[string]any, set string) (page, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return page{}, err
	}
	graph := library.Graph()
	c, err := DecodeCollection(raw, graph.Entity("Book"), graph)
	if err != nil {
		return page{}, err
	}
	c.Set = set
	out, err := e.Collection(context.Background(), db, c)
	if err != nil {
		return page{}, err
	}
	var p page
	return p, json.Unmarshal(out, &p)
}

func TestCursorOfAnotherQuery(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestCursorOfAnotherQuery) {
		return
	}
	db, e := shelf(t, 20)
	query := func(more map[string]any) map[string]any {
		in := map[string]any{"filter": map[string]any{"sold": map[string]any{"$gte": 1}}, "sort": "-sold", "pageSize": 3, "q": "tit"}
		for k, v := range more {
			in[k] = v
		}
		return in
	}
	first, err := ask(db, e, query(nil), "default")
	require.NoError(t, err)
	cursor := *first.NextCursor
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	require.NoError(t, err)
	flipped := func(i int) string {
		out := append([]byte{}, raw...)
		out[i] ^= 1
		return base64.RawURLEncoding.EncodeToString(out)
	}
	for name, c := range map[string]struct {
		more map[string]any
		set  string
	}{
		"another value in the filter": {map[string]any{"filter": map[string]any{"sold": map[string]any{"$gte": 2}}}, "default"},
		"another filter":              {map[string]any{"filter": map[string]any{}}, "default"},
		"another sort":                {map[string]any{"sort": "sold"}, "default"},
		"a longer sort":               {map[string]any{"sort": "-sold,title"}, "default"},
		"another place of nulls":      {map[string]any{"sort": map[string]any{"field": "-sold", "nulls": "last"}}, "default"},
		"another q":                   {map[string]any{"q": "title"}, "default"},
		"another set":                 {nil, "tenant-a"},
		"cut off":                     {map[string]any{"cursor": cursor[:len(cursor)-4]}, "default"},
		"something behind it":         {map[string]any{"cursor": cursor + "AAAA"}, "default"},
		"a line break inside":         {map[string]any{"cursor": cursor[:4] + "\n" + cursor[4:]}, "default"},
		"another version":             {map[string]any{"cursor": flipped(0)}, "default"},
		"another tag":                 {map[string]any{"cursor": flipped(3)}, "default"},
		"another page":                {map[string]any{"cursor": flipped(1 + tagSize)}, "default"},
		"another value":               {map[string]any{"cursor": flipped(len(raw) - 1)}, "default"},
		"a page as well":              {map[string]any{"page": 2}, "default"},
	} {
		t.Run(name, func(t *testing.T) {
			in := query(map[string]any{"cursor": cursor})
			for k, v := range c.more {
				in[k] = v
			}
			_, err := ask(db, e, in, c.set)
			f := fault.From(err)
			require.Equal(t, fault.InvalidPayload, f.Code)
			if name == "a page as well" {
				require.Equal(t, "/page", f.Path)
				return
			}
			require.Equal(t, "/cursor", f.Path)
			require.NotEmpty(t, f.Hint)
		})
	}
	// What does not decide about the order may change on the way.
	next, err := ask(db, e, query(map[string]any{"cursor": cursor, "pageSize": 2, "fields": "title", "with": "author", "count": true}), "default")
	require.NoError(t, err)
	require.Equal(t, 2, next.Page)
	require.Equal(t, 16, *next.TotalCount)
}

// Whoever makes up a cursor with a right digest gets no further than with a
// filter: values of other types are refused.
func TestMadeUpValues(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestMadeUpValues) {
		return
	}
	db, e := shelf(t, 5)
	graph := library.Graph()
	for sort, wrong := range map[string][]any{
		"title":       {nil, int64(1), true, "a\x00b", "\xff"},
		"sold":        {"1", "1; DROP TABLE books", 1.5, nil},
		"price":       {"x", true},
		"inPrint":     {"true"},
		"publishedAt": {"yesterday", int64(3), "' OR 1=1 --"},
		"isbn":        {"x"},
		"cost":        {"x", true},
		"authorId":    {"1"},
		"author.name": {int64(1), "a\x00b"},
		"author.born": {"1900", 1.5},
	} {
		for _, v := range wrong {
			c, err := DecodeCollection([]byte(`{"sort":"`+sort+`"}`), graph.Entity("Book"), graph)
			require.NoError(t, err)
			for _, values := range [][]any{{v, "b00001"}, {v}, {v, "b00001", "x"}, {}} {
				made, err := c.cursor(place{2, values})
				require.NoError(t, err)
				_, err = ask(db, e, map[string]any{"sort": sort, "cursor": made}, "")
				require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), "%s %v", sort, values)
			}
		}
	}
}

// Rows that come and go while a walk is under way move no others.
func TestWalkWhileRowsComeAndGo(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestWalkWhileRowsComeAndGo) {
		return
	}
	db, e := shelf(t, 60)
	exec := func(query string, args ...any) {
		_, err := db.Exec(pgtest.Marks(t, query), args...)
		require.NoError(t, err)
	}
	insert := `INSERT INTO books (id,title,sold,in_print,created_at,secret,pin) VALUES (?,?,?,false,'2026-01-01 00:00:00+00:00','','')`
	in := map[string]any{"sort": "title", "pageSize": 7, "fields": "title"}
	seen := map[string]int{}
	for n := 0; ; n++ {
		p, err := ask(db, e, in, "")
		require.NoError(t, err)
		for _, id := range p.ids() {
			seen[id]++
		}
		if p.NextCursor == nil {
			break
		}
		in["cursor"] = *p.NextCursor
		last := p.ids()[len(p.Items)-1]
		exec("DELETE FROM books WHERE id=?", last)                        // the row that the cursor stands at
		exec(insert, fmt.Sprintf("a%d", n), "A title before all", 1)      // behind the walk
		exec(insert, fmt.Sprintf("z%d", n), "Title 6 and more to say", 1) // ahead of it
	}
	for i := range 60 {
		require.Equal(t, 1, seen[fmt.Sprintf("b%05d", i)], i)
	}
	for id, n := range seen {
		require.Equal(t, 1, n, id)
		require.False(t, strings.HasPrefix(id, "a"), id)
	}
	require.Contains(t, seen, "z0")
}

// A page that is cut at the limit of bytes goes on where it was cut.
func TestWalkOfCutPages(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestWalkOfCutPages) {
		return
	}
	db, e := shelf(t, 50)
	e.MaxBytes = 2000
	for _, with := range []any{[]string{"author"}, nil} {
		in := map[string]any{"pageSize": 40}
		if with != nil {
			in["with"] = with
		}
		var seen []string
		cut := 0
		for {
			p, err := ask(db, e, in, "")
			require.NoError(t, err)
			seen = append(seen, p.ids()...)
			if p.Truncated {
				cut++
				require.NotNil(t, p.NextCursor)
			}
			if p.NextCursor == nil {
				break
			}
			in["cursor"] = *p.NextCursor
		}
		require.Positive(t, cut)
		require.Len(t, seen, 50)
		require.Equal(t, "b00049", seen[49])
	}
}

func TestLastPageHasNoCursor(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestLastPageHasNoCursor) {
		return
	}
	db, e := shelf(t, 10)
	p, err := ask(db, e, map[string]any{"pageSize": 5, "page": 2}, "")
	require.NoError(t, err)
	require.Nil(t, p.NextCursor, "a full page that is the last one")
	require.Equal(t, 10, *p.TotalCount)
	p, err = ask(db, e, map[string]any{"pageSize": 5, "page": 3}, "")
	require.NoError(t, err)
	require.Nil(t, p.NextCursor)
	require.Empty(t, p.Items)
}

func TestSortTooLongForACursor(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSortTooLongForACursor) {
		return
	}
	db, e := shelf(t, 2)
	_, err := db.Exec(pgtest.Marks(t, "UPDATE books SET title=?"), strings.Repeat("x", MaxCursor))
	require.NoError(t, err)
	_, err = ask(db, e, map[string]any{"pageSize": 1, "sort": "title", "fields": "id"}, "")
	require.Equal(t, fault.CallTooLarge, fault.CodeOf(err))
	_, err = ask(db, e, map[string]any{"sort": "title", "fields": "id"}, "")
	require.NoError(t, err, "nothing follows, so no cursor is needed")
}

// The next page starts at an index instead of reading what went before.
// What a page keeps of its rows for a cursor counts as what it answers does.
func TestPageOfLongSortValuesIsCut(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestPageOfLongSortValuesIsCut) {
		return
	}
	db, e := shelf(t, 50)
	_, err := db.Exec(pgtest.Marks(t, "UPDATE books SET blurb=? || id"), strings.Repeat("x", 10_000))
	require.NoError(t, err)
	e.MaxBytes = 64 << 10
	query := map[string]any{"sort": "blurb", "fields": []string{"id"}, "pageSize": 50}
	var ids []string
	for range 20 {
		p, err := ask(db, e, query, "")
		require.NoError(t, err)
		require.LessOrEqual(t, len(p.Items), 7)
		ids = append(ids, p.ids()...)
		if p.NextCursor == nil {
			break
		}
		require.Equal(t, len(p.Items) < 50, p.Truncated)
		query["cursor"] = *p.NextCursor
	}
	require.Len(t, ids, 50)
	require.True(t, slices.IsSorted(ids))
}

func TestNextPageStartsAtAnIndex(t *testing.T) {
	t.Parallel()
	db, _ := shelf(t, 10)
	graph := library.Graph()
	books := graph.Entity("Book")
	for name, order := range map[string][]term{
		"id":           {{column: &books.Key}},
		"books_author": {{column: books.Column("authorId")}, {column: &books.Key}},
	} {
		b := sqltext.Builder{Dialect: sqltext.SQLite{}}
		b.Raw("EXPLAIN QUERY PLAN SELECT id FROM books AS ").Alias(b.NewAlias()).Raw(" WHERE ")
		values := []any{int64(1), "b00003"}
		appendAfter(&b, 0, order, values[2-len(order):])
		orderBy(&b, 0, order)
		var id, parent, unused int
		var plan string
		require.NoError(t, db.QueryRow(string(b.Text()), b.Args()...).Scan(&id, &parent, &unused, &plan))
		require.Contains(t, plan, "SEARCH", name)
		require.Contains(t, plan, ">?", name)
	}
}

func FuzzCursor(f *testing.F) {
	db, e := shelf(f, 5)
	for _, sort := range []string{"id", "-title,price", "publishedAt"} {
		p, err := ask(db, e, map[string]any{"sort": sort, "pageSize": 1}, "")
		require.NoError(f, err)
		f.Add(*p.NextCursor, sort)
	}
	f.Add("", "id")
	f.Fuzz(func(t *testing.T, cursor, sort string) {
		if read, err := readCursor(cursor); err == nil {
			require.Positive(t, read.page)
			raw, err := base64.RawURLEncoding.DecodeString(cursor)
			require.NoError(t, err)
			require.Equal(t, raw[1+tagSize:], read.encode())
		}
		p, err := ask(db, e, map[string]any{"cursor": cursor, "sort": sort}, "")
		if err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), "%v", err)
			return
		}
		require.LessOrEqual(t, len(p.Items), 5)
	})
}

// FuzzPlace: values that somebody made up, digest and all, never end in an error
// of the database.
func FuzzPlace(f *testing.F) {
	f.Add("title", []byte("\x02s\x01xs\x01y"))
	f.Add("price,publishedAt", place{3, []any{1.5, nil, "b00001"}}.encode())
	f.Add("-inPrint,isbn,cost", place{1, []any{true, "6f2b1c1e-3a57-4f3e-8d8a-0c2f1b9d7e55", int64(math.MinInt64), "b"}}.encode())
	f.Add("author.mentor.name,-author.born", place{2, []any{"Ann", nil, "b00001"}}.encode())
	f.Add("publishedAt", place{9, []any{"2026-01-01 00:00:00+00:00", "b"}}.encode())
	db, e := shelf(f, 5)
	beside, on := library.PostgreSQL(f), New(sqltext.PostgreSQL{}) // without rows: what is wrong shows anyway
	graph := library.Graph()
	f.Fuzz(func(t *testing.T, sort string, payload []byte) {
		c, err := DecodeCollection([]byte(`{}`), graph.Entity("Book"), graph)
		require.NoError(t, err)
		in := &input{entity: c.Entity, graph: graph, members: map[string]any{"sort": sort}}
		c.order = in.sort(c.Entity, in.members, "")
		if len(in.details) > 0 {
			return
		}
		p, err := decodePlace(payload)
		if err != nil {
			return
		}
		made, err := c.cursor(p)
		if err != nil {
			return
		}
		_, err = ask(db, e, map[string]any{"sort": sort, "cursor": made}, "")
		_, there := ask(beside, on, map[string]any{"sort": sort, "cursor": made}, "")
		for _, err := range []error{err, there} {
			if err != nil {
				require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), "%v", err)
			}
		}
	})
}
