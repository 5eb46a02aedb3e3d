package read_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

var (
	graph = library.Graph()
	books = graph.Entity("Book")
	ctx   = context.Background()
)

func small() library.Data {
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return library.Data{
		Authors: []library.Author{
			{ID: 1, Name: "Jane", Born: library.P[int64](1775)},
			{ID: 2, Name: "Frank", Mentor: library.P[int64](1)},
			{ID: 3, Name: "Brian", Mentor: library.P[int64](2)},
		},
		Desks: []library.Desk{{ID: 7, Room: "attic", Owner: library.P[int64](2)}},
		Tags:  []library.Tag{{ID: 1, Label: "classic"}, {ID: 2, Label: "desert"}},
		Books: []library.Book{
			{
				ID: "emma", Title: "Emma", Blurb: library.P("Handsome, \"clever\"\nand rich\x01 é"), Pages: library.P[int64](474), Sold: 1 << 60,
				Price: library.P(9.5), InPrint: true, PublishedAt: library.P(time.Date(1815, 12, 23, 1, 30, 0, 0, time.FixedZone("", 3*3600))),
				CreatedAt: day.Add(120 * time.Millisecond), OrderedOn: library.P[library.Day]("2026-02-28"), Genre: library.P("novel"), Meta: library.P("{\"shelf\": [1,\n 2]}"), Keywords: library.P(`["x", "y"]`), Cover: []byte{0, 255},
				ISBN: library.P("6f2b1c1e-3a57-4f3e-8d8a-0c2f1b9d7e55"), Cost: library.P("12.5"), Author: library.P[int64](1), Tags: []int64{1},
			},
			{ID: "dune", Title: "Dune", Sold: 5, CreatedAt: day, Author: library.P[int64](2), Tags: []int64{1, 2}},
			{ID: "messiah", Title: "Dune Messiah", Sold: 3, CreatedAt: day, Author: library.P[int64](2), Tags: []int64{2}},
			{ID: "nobody", Title: "Anonymous", Sold: -1, CreatedAt: day},
		},
	}
}

func open(t testing.TB, d library.Data) (*sql.DB, *read.Engine) {
	db := library.Open(t)
	execute(t, db, library.Dialect(t).MakeIndex(filter.Index(books)))
	library.Insert(t, db, d)
	e := read.New(library.Dialect(t))
	e.Indexed = true
	return db, e
}

// scanning is the engine of an app whose tables have no index of words.
func scanning(t testing.TB) *read.Engine { return read.New(library.Dialect(t)) }

func execute(t testing.TB, db *sql.DB, statements []sqltext.Statement) {
	t.Helper()
	for _, s := range statements {
		_, err := db.Exec(s.Text)
		require.NoError(t, err, s.Text)
	}
}

func collection(t testing.TB, q read.Querier, e *read.Engine, entity *descriptor.Entity, input string) string {
	t.Helper()
	c, err := read.DecodeCollection([]byte(input), entity, graph)
	require.NoError(t, err, input)
	out, err := e.Collection(ctx, q, c)
	require.NoError(t, err, input)
	require.True(t, json.Valid(out), string(out))
	return string(out)
}

// opaque is a cursor in an answer.
var opaque = regexp.MustCompile(`"nextCursor":"[-_\w]+"`)

func TestCollection(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestCollection) {
		return
	}
	db, e := open(t, small())
	entity := func(name string) *descriptor.Entity { return graph.Entity(name) }
	for _, c := range []struct{ name, entity, input, want string }{
		{"all by id, every type", "Book", `{"pageSize":2}`, `{"items":[
			{"id":"dune","title":"Dune","blurb":null,"pages":null,"sold":5,"price":null,"inPrint":false,"publishedAt":null,
			 "createdAt":"2026-03-01T12:00:00Z","orderedOn":null,"genre":null,"meta":null,"keywords":null,"cover":null,"isbn":null,"cost":null,"authorId":"2"},
			{"id":"emma","title":"Emma","blurb":"Handsome, \"clever\"\nand rich\u0001 é","pages":474,"sold":"1152921504606846976","price":9.5,"inPrint":true,
			 "publishedAt":"1815-12-22T22:30:00Z","createdAt":"2026-03-01T12:00:00.12Z","orderedOn":"2026-02-28","genre":"novel","meta":{"shelf":[1,2]},"keywords":["x","y"],"cover":"AP8=",
			 "isbn":"6f2b1c1e-3a57-4f3e-8d8a-0c2f1b9d7e55","cost":"12.5","authorId":"1"}],
			"page":1,"pageSize":2,"totalCount":4,"nextCursor":"…","truncated":false}`},
		{
			"second page, no count", "Book", `{"pageSize":3,"page":2,"count":false,"fields":"title"}`,
			`{"items":[{"id":"nobody","title":"Anonymous"}],"page":2,"pageSize":3,"nextCursor":null,"truncated":false}`,
		},
		{"beyond the end", "Book", `{"pageSize":3,"page":9,"fields":["title"]}`, `{"items":[],"page":9,"pageSize":3,"totalCount":4,"nextCursor":null,"truncated":false}`},
		{"a cursor that begins", "Book", `{"pageSize":3,"page":9,"cursor":null,"fields":["title"]}`, `{"items":[],"page":9,"pageSize":3,"totalCount":4,"nextCursor":null,"truncated":false}`},
		{
			"sorted down, ties by id", "Book", `{"sort":["-createdAt","-inPrint"],"fields":["inPrint"],"count":false}`,
			`{"items":[{"id":"emma","inPrint":true},{"id":"dune","inPrint":false},{"id":"messiah","inPrint":false},{"id":"nobody","inPrint":false}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`,
		},
		{
			"q looks for every word in every searchable field", "Book", `{"q":"dUNE mess","fields":"title","count":false}`,
			`{"items":[{"id":"messiah","title":"Dune Messiah"}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`,
		},
		{"to one and to many", "Book", `{"with":"author.mentor,tags","fields":"title","sort":"-title","pageSize":3,"count":false}`, `{"items":[
			{"id":"emma","title":"Emma","author":{"id":"1","name":"Jane","born":1775,"mentorId":null,"mentor":null},"tags":[{"id":"1","label":"classic"}]},
			{"id":"messiah","title":"Dune Messiah","author":{"id":"2","name":"Frank","born":null,"mentorId":"1","mentor":{"id":"1","name":"Jane","born":1775,"mentorId":null}},"tags":[{"id":"2","label":"desert"}]},
			{"id":"dune","title":"Dune","author":{"id":"2","name":"Frank","born":null,"mentorId":"1","mentor":{"id":"1","name":"Jane","born":1775,"mentorId":null}},"tags":[{"id":"1","label":"classic"},{"id":"2","label":"desert"}]}],
			"page":1,"pageSize":3,"nextCursor":"…","truncated":false}`},
		{
			"none related", "Book", `{"with":["author","tags"],"fields":"id","filter":{"id":"nobody"},"count":false}`,
			`{"items":[{"id":"nobody","author":null,"tags":[]}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`,
		},
		{"all is one level", "Author", `{"with":"all","filter":{"id":2},"fields":"name","count":false}`, `{"items":[{"id":"2","name":"Frank","books":[` +
			bookJSON("dune", "Dune", 5) + `,` + bookJSON("messiah", "Dune Messiah", 3) + `],
			"mentor":{"id":"1","name":"Jane","born":1775,"mentorId":null},"desk":{"id":"7","room":"attic","ownerId":"2"},"pupils":[{"id":"3","name":"Brian","born":null,"mentorId":"2"}]}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`},
		{
			"limit, sort, filter, fields and with of an edge", "Author", `{"fields":"name","count":false,"with":{"books":{"limit":1,"sort":"-title","filter":{"title":{"$startsWith":"D"}},"fields":"title","with":{"tags":{"fields":["label"]}}}}}`,
			`{"items":[{"id":"1","name":"Jane","books":[]},{"id":"2","name":"Frank","books":[{"id":"messiah","title":"Dune Messiah","tags":[{"id":"2","label":"desert"}]}]},{"id":"3","name":"Brian","books":[]}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`,
		},
		{
			"limit of many to many", "Tag", `{"count":false,"with":{"books":{"limit":1,"sort":"-sold","fields":"title"}}}`,
			`{"items":[{"id":"1","label":"classic","books":[{"id":"emma","title":"Emma"}]},{"id":"2","label":"desert","books":[{"id":"dune","title":"Dune"}]}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`,
		},
		{"one to one, from both sides", "Author", `{"with":"desk.owner.desk","fields":"name","filter":{"desk":{"room":"attic"}},"count":false}`, `{"items":[{"id":"2","name":"Frank","desk":
			{"id":"7","room":"attic","ownerId":"2","owner":{"id":"2","name":"Frank","born":null,"mentorId":"1","desk":{"id":"7","room":"attic","ownerId":"2"}}}}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`},
		{
			"fields of related entities", "Book", `{"fields":["title","author.name","author.mentor.name","tags.id"],"filter":{"id":"dune"},"count":false}`,
			`{"items":[{"id":"dune","title":"Dune","author":{"id":"2","name":"Frank","mentor":{"id":"1","name":"Jane"}},"tags":[{"id":"1"},{"id":"2"}]}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`,
		},
		{
			"a relationship on the way to a field", "Book", `{"fields":"author.mentor.name","filter":{"id":"dune"},"count":false}`,
			`{"items":[{"id":"dune","author":{"id":"2","mentor":{"id":"1","name":"Jane"}}}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`,
		},
		{
			"fields of related entities narrow what with reads, and add to its fields", "Author",
			`{"fields":"books.title","with":{"books":{"limit":1,"sort":"-title","fields":"sold"},"mentor":{"fields":"born"}},"filter":{"id":2},"count":false}`,
			`{"items":[{"id":"2","books":[{"id":"messiah","title":"Dune Messiah","sold":3}],"mentor":{"id":"1","born":1775}}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`,
		},
		{
			"the same relationship twice, and a circle", "Book", `{"with":["author","author.books","author"],"fields":"author.books.title","filter":{"id":"emma"},"count":false}`,
			`{"items":[{"id":"emma","author":{"id":"1","name":"Jane","born":1775,"mentorId":null,"books":[{"id":"emma","title":"Emma"}]}}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`,
		},
		{
			"one to one without", "Author", `{"with":"desk","fields":"name","filter":{"desk":null},"count":false,"pageSize":1}`,
			`{"items":[{"id":"1","name":"Jane","desk":null}],"page":1,"pageSize":1,"nextCursor":"…","truncated":false}`,
		},
		{
			"edge filters", "Author", `{"fields":"name","filter":{"books":{"$some":{"tags":{"$some":{"label":"desert"}}}},"mentor":{"name":"Jane"}}}`,
			`{"items":[{"id":"2","name":"Frank"}],"page":1,"pageSize":50,"totalCount":1,"nextCursor":null,"truncated":false}`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := collection(t, db, e, entity(c.entity), c.input)
			require.JSONEq(t, c.want, opaque.ReplaceAllString(got, `"nextCursor":"…"`), got)
		})
	}
}

func bookJSON(id, title string, sold int) string {
	raw, _ := json.Marshal(map[string]any{
		"id": id, "title": title, "blurb": nil, "pages": nil, "sold": sold, "price": nil, "inPrint": false, "publishedAt": nil,
		"createdAt": "2026-03-01T12:00:00Z", "orderedOn": nil, "genre": nil, "meta": nil, "keywords": nil, "cover": nil, "isbn": nil, "cost": nil, "authorId": "2",
	})
	return string(raw)
}

func TestGetCountImageExists(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestGetCountImageExists) {
		return
	}
	db, e := open(t, small())
	authors := graph.Entity("Author")
	for name, input := range map[string]string{"native id": `{"id":3,"with":"mentor"}`, "string id": `{"id":"3","with":["mentor"],"fields":["name","born","mentorId"]}`} {
		t.Run(name, func(t *testing.T) {
			g, err := read.DecodeGet([]byte(input), authors, graph)
			require.NoError(t, err)
			out, err := e.Get(ctx, db, g)
			require.NoError(t, err)
			require.Equal(t, `{"id":"3","name":"Brian","born":null,"mentorId":"2","mentor":{"id":"2","name":"Frank","born":null,"mentorId":"1"}}`, string(out))
		})
	}
	g, err := read.DecodeGet([]byte(`{"id":"`+strings.Repeat("x", 300)+`","set":"lake-house"}`), books, graph)
	require.NoError(t, err)
	_, err = e.Get(ctx, db, g)
	f := fault.From(err)
	require.Equal(t, fault.NotFound, f.Code)
	require.Contains(t, f.Message, "Book")
	require.Contains(t, f.Message, "lake-house")
	require.Less(t, len(f.Message), 200)

	c, err := read.DecodeCount([]byte(`{"filter":{"tags":{"$exists":true}}}`), books, graph)
	require.NoError(t, err)
	out, err := e.Count(ctx, db, c)
	require.NoError(t, err)
	require.Equal(t, `{"count":3}`, string(out))

	tx, err := db.BeginTx(ctx, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback()) }()
	_, err = tx.Exec("UPDATE authors SET name='Janet' WHERE id=1")
	require.NoError(t, err)
	out, err = e.Image(ctx, tx, authors, int64(1), nil)
	require.NoError(t, err)
	require.Equal(t, `{"id":"1","name":"Janet","born":1775,"mentorId":null}`, string(out))
	out, err = e.Image(ctx, tx, authors, int64(99), nil)
	require.NoError(t, err)
	require.Nil(t, out)
	for key, want := range map[any]bool{int64(1): true, int64(99): false} {
		got, err := e.Exists(ctx, tx, authors, key, nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestLimitOfBytes(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestLimitOfBytes) {
		return
	}
	db, e := open(t, small())
	whole := collection(t, db, e, books, `{}`)
	e.MaxBytes = 900
	var page struct {
		Items      []map[string]any
		TotalCount int
		Truncated  bool
	}
	require.Greater(t, len(whole), e.MaxBytes)
	require.NoError(t, json.Unmarshal([]byte(collection(t, db, e, books, `{}`)), &page))
	require.True(t, page.Truncated)
	require.NotEmpty(t, page.Items)
	require.Less(t, len(page.Items), 4)
	require.Equal(t, 4, page.TotalCount)

	require.NoError(t, json.Unmarshal([]byte(collection(t, db, e, graph.Entity("Author"), `{"with":"books.tags","sort":"-id"}`)), &page))
	require.True(t, page.Truncated)
	require.NotEmpty(t, page.Items)

	e.MaxBytes = 150
	c, err := read.DecodeCollection([]byte(`{}`), books, graph)
	require.NoError(t, err)
	_, err = e.Collection(ctx, db, c)
	require.Equal(t, fault.CallTooLarge, fault.CodeOf(err))
	g, err := read.DecodeGet([]byte(`{"id":2,"with":"books"}`), graph.Entity("Author"), graph)
	require.NoError(t, err)
	_, err = e.Get(ctx, db, g)
	require.Equal(t, fault.CallTooLarge, fault.CodeOf(err))
}

func TestStrangeTimes(t *testing.T) {
	t.Parallel()
	db, e := open(t, small())
	for stored, want := range map[string]string{
		"'2026-01-02 03:04:05.678+00:00'": `"2026-01-02T03:04:05.678Z"`,
		"'2026-01-02 03:04:05-07:00'":     `"2026-01-02T10:04:05Z"`,
		"'2026-01-02 03:04:05'":           `"2026-01-02T03:04:05Z"`,
		"'2026-01-02T03:04:05Z'":          `"2026-01-02T03:04:05Z"`,
		"'2026-01-02'":                    `"2026-01-02T00:00:00Z"`,
		"1767323045":                      `"2026-01-02T03:04:05Z"`,
	} {
		_, err := db.Exec("UPDATE books SET published_at=" + stored + " WHERE id='dune'")
		require.NoError(t, err)
		got := collection(t, db, e, books, `{"filter":{"id":"dune"},"fields":"publishedAt","count":false}`)
		require.Contains(t, got, `"publishedAt":`+want, stored)
	}
}

// A boolean keeps its index: SQLite takes none for a bare column.
func TestBooleanUsesIndex(t *testing.T) {
	t.Parallel()
	db, _ := open(t, small())
	tree, details := filter.Parse([]byte(`{"inPrint":true,"sold":{"$gte":3}}`), books, graph, "")
	require.Empty(t, details)
	b := sqltext.Builder{Dialect: sqltext.SQLite{}}
	b.Raw("EXPLAIN QUERY PLAN SELECT id FROM books AS ").Alias(b.NewAlias()).Raw(" WHERE ")
	tree.Where(&b, 0)
	var id, parent, unused int
	var plan string
	require.NoError(t, db.QueryRow(string(b.Text()), b.Args()...).Scan(&id, &parent, &unused, &plan))
	require.Contains(t, plan, "books_sold (in_print=? AND sold>?)")
}

// An overflow of relations leaves no rows out silently, and the statements that
// take many parents are cut where SQLite's arguments end.
func TestManyParents(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestManyParents) {
		return
	}
	d := library.Data{Authors: []library.Author{{ID: 1, Name: "Prolific"}}, Tags: []library.Tag{{ID: 1, Label: "x"}}}
	const many = 17000 // padded to a power of two, more than SQLite takes as arguments
	for i := range many {
		b := library.Book{ID: fmt.Sprintf("b%05d", i), Title: "T", CreatedAt: time.Unix(0, 0), Author: library.P[int64](1)}
		if i%2 == 0 {
			b.Tags = []int64{1}
		}
		d.Books = append(d.Books, b)
	}
	db, e := open(t, d)
	var page struct {
		Items []struct {
			Books []struct{ Tags []struct{ ID string } }
		}
		Truncated bool
	}
	require.NoError(t, json.Unmarshal([]byte(collection(t, db, e, graph.Entity("Author"), `{"with":{"books":{"fields":"title","with":"tags"}}}`)), &page))
	require.False(t, page.Truncated)
	require.Len(t, page.Items[0].Books, many)
	for i, b := range page.Items[0].Books {
		if len(b.Tags) != 1-i%2 {
			require.Len(t, b.Tags, 1-i%2, i)
		}
	}
}

// Rows that many parents share multiply only in the answer; the limit holds
// there too.
func TestLimitOfSharedRows(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestLimitOfSharedRows) {
		return
	}
	d := library.Data{Authors: []library.Author{{ID: 1, Name: strings.Repeat("long ", 200)}}}
	for i := range 100 {
		d.Books = append(d.Books, library.Book{ID: fmt.Sprintf("b%03d", i), Title: "T", CreatedAt: time.Unix(0, 0), Author: library.P[int64](1)})
	}
	db, e := open(t, d)
	e.MaxBytes = 50000
	var page struct {
		Items     []json.RawMessage
		Truncated bool
	}
	out := collection(t, db, e, books, `{"fields":"title","with":"author","pageSize":200}`)
	require.NoError(t, json.Unmarshal([]byte(out), &page))
	require.True(t, page.Truncated)
	require.Greater(t, len(page.Items), 40)
	require.Less(t, len(out), e.MaxBytes+200)
}

// prefixed is what the engine asks of texts that begin with another one.
func prefixed(t *testing.T, prefix string) *sqltext.Builder {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"title": map[string]any{"$startsWith": prefix}})
	require.NoError(t, err)
	tree, details := filter.Parse(raw, books, graph, "")
	require.Empty(t, details)
	b := &sqltext.Builder{Dialect: library.Dialect(t), Indexed: true}
	b.Raw("SELECT id FROM books AS ").Alias(b.NewAlias()).Raw(" WHERE ")
	tree.Where(b, 0)
	return b
}

// A prefix is a range of an index: of a plain one where the files are Koan's own, and of one in the order of bytes on
// PostgreSQL.
func TestPrefixUsesIndex(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestPrefixUsesIndex) {
		return
	}
	db, _ := open(t, small())
	x := &sqltext.PrefixIndex{Table: "books", Column: "title"}
	tx, err := db.Begin()
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback()) }()
	explain, want := "EXPLAIN QUERY PLAN ", "books_title (title>? AND title<?)"
	statements := []sqltext.Statement{{Text: "CREATE INDEX books_title ON books (title)"}}
	if pgtest.Here(t) {
		explain, want = "EXPLAIN (COSTS OFF) ", "Index Cond: ((title ~>=~ 'Dü'::text) AND (title ~<~ 'Dý'::text))"
		statements = append(library.Dialect(t).MakePrefix(x), sqltext.Statement{Text: "SET LOCAL enable_seqscan=off"})
	}
	for _, s := range statements {
		_, err := tx.Exec(s.Text)
		require.NoError(t, err)
	}
	b := prefixed(t, "Dü")
	require.Contains(t, plan(t, tx, explain+string(b.Text()), b.Args()...), want)
}

// plan is what a database says of how it reads, which is the last column.
func plan(t *testing.T, q read.Querier, query string, args ...any) string {
	t.Helper()
	rows, err := q.QueryContext(ctx, query, args...)
	require.NoError(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	require.NoError(t, err)
	var out []string
	for rows.Next() {
		line, dest := "", make([]any, len(columns))
		for i := range dest {
			dest[i] = new(any)
		}
		dest[len(dest)-1] = &line
		require.NoError(t, rows.Scan(dest...))
		out = append(out, line)
	}
	require.NoError(t, rows.Err())
	return strings.Join(out, "\n")
}

// Texts begin with another one as they do in Go, whatever means something to a pattern, to a collation or to an encoding.
func TestStartsWithIsExact(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestStartsWithIsExact) {
		return
	}
	pieces := []string{"a", "A", "%", "_", `\`, "*", "?", "[", "'", "é", "e\u0301", "É", "ß", "ss", "\u00ad", "\u200b", " ", "\n", "-", "\x7f", "\ud7ff", "\ue000", "\uffff", "\U0010ffff", "Z", "z"}
	r := rand.New(rand.NewPCG(5, 2026))
	text := func(most int) string {
		var b strings.Builder
		for range r.IntN(most) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		return b.String()
	}
	var d library.Data
	for i := range 400 {
		b := library.Book{ID: fmt.Sprintf("b%03d", i), Title: text(4), CreatedAt: time.Unix(0, 0)}
		if i%3 > 0 {
			b.Blurb = library.P(text(4))
		}
		d.Books = append(d.Books, b)
	}
	db, e := open(t, d)
	execute(t, db, library.Dialect(t).MakePrefix(&sqltext.PrefixIndex{Table: "books", Column: "title"}))
	found := 0
	for range 300 {
		prefix := text(3)
		for field, of := range map[string]func(library.Book) *string{"title": func(b library.Book) *string { return &b.Title }, "blurb": func(b library.Book) *string { return b.Blurb }} {
			raw, err := json.Marshal(map[string]any{field: map[string]any{"$startsWith": prefix}})
			require.NoError(t, err)
			for _, negate := range []bool{false, true} {
				input := `{"count":false,"pageSize":200,"fields":"id","filter":` + string(raw) + `}`
				if negate {
					input = `{"count":false,"pageSize":200,"fields":"id","filter":{"$not":` + string(raw) + `}}`
				}
				want := []string{}
				for _, b := range d.Books {
					if v := of(b); (v != nil && strings.HasPrefix(*v, prefix)) != negate && len(want) < 200 {
						want = append(want, b.ID)
					}
				}
				var got answer
				require.NoError(t, json.Unmarshal([]byte(collection(t, db, e, books, input)), &got))
				require.Equal(t, want, append([]string{}, got.ids()...), input)
				found += len(want)
			}
		}
	}
	require.Greater(t, found, 10_000)
}
