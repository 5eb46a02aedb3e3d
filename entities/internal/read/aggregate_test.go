package read_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

func aggregate(t testing.TB, q read.Querier, e *read.Engine, entity *descriptor.Entity, input string) string {
	t.Helper()
	a, err := read.DecodeAggregate([]byte(input), entity, graph)
	require.NoError(t, err, input)
	out, err := e.Aggregate(ctx, q, a)
	require.NoError(t, err, input)
	require.True(t, json.Valid(out), string(out))
	return string(out)
}

func TestAggregate(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestAggregate) {
		return
	}
	db, e := open(t, small())
	nullsLast := map[string]string{
		"by a reference, largest first": `{"rows":[{"authorId":"2","count":2,"sumSold":8},{"authorId":"1","count":1,"sumSold":"1152921504606846976"},{"authorId":null,"count":1,"sumSold":-1}],"truncated":false}`,
		"by a relationship":             `{"rows":[{"author":null,"count":1}],"truncated":true}`,
		"limit that is just enough":     `{"rows":[{"author":"1"},{"author":"2"},{"author":null}],"truncated":false}`,
		"buckets of times":              `{"rows":[{"createdAtMonth":"2026-03-01T00:00:00Z","y":null,"count":3},{"createdAtMonth":"2026-03-01T00:00:00Z","y":"1815-01-01T00:00:00Z","count":1}],"truncated":false}`,
		"having of everything":          `{"rows":[{"authorId":"2","maxCreatedAt":"2026-03-01T12:00:00Z","maxTitle":"Dune Messiah"},{"authorId":null,"maxCreatedAt":"2026-03-01T12:00:00Z","maxTitle":"Anonymous"}],"truncated":false}`,
	}
	for _, c := range []struct{ name, entity, input, want string }{
		{"nothing asked is a count", "Book", `{}`, `{"rows":[{"count":4}],"truncated":false}`},
		{"count of none", "Book", `{"filter":{"title":"?"},"count":true,"sum":"pages"}`, `{"rows":[{"count":0,"sumPages":null}],"truncated":false}`},
		{"groups of none", "Book", `{"filter":{"title":"?"},"groupBy":"genre"}`, `{"rows":[],"truncated":false}`},
		{
			"by a reference, largest first", "Book", `{"groupBy":"authorId","sum":"sold","count":true,"sort":"-count"}`,
			`{"rows":[{"authorId":"2","count":2,"sumSold":8},{"authorId":null,"count":1,"sumSold":-1},{"authorId":"1","count":1,"sumSold":"1152921504606846976"}],"truncated":false}`,
		},
		{"by a relationship", "Book", `{"groupBy":["author"],"sort":"-author","limit":1}`, `{"rows":[{"author":"2","count":2}],"truncated":true}`},
		{"limit that is just enough", "Book", `{"groupBy":["author"],"limit":3,"count":false}`, `{"rows":[{"author":null},{"author":"1"},{"author":"2"}],"truncated":false}`},
		{"several fields", "Book", `{"groupBy":"inPrint,genre"}`, `{"rows":[{"inPrint":false,"genre":null,"count":3},{"inPrint":true,"genre":"novel","count":1}],"truncated":false}`},
		{
			"buckets of times", "Book", `{"groupBy":[{"field":"createdAt","by":"month"},{"field":"publishedAt","by":"year","as":"y"}],"sort":["-y"]}`,
			`{"rows":[{"createdAtMonth":"2026-03-01T00:00:00Z","y":"1815-01-01T00:00:00Z","count":1},{"createdAtMonth":"2026-03-01T00:00:00Z","y":null,"count":3}],"truncated":false}`,
		},
		{"times themselves", "Book", `{"groupBy":{"field":"createdAt"},"max":"publishedAt"}`, `{"rows":[{"createdAt":"2026-03-01T12:00:00Z","maxPublishedAt":null},{"createdAt":"2026-03-01T12:00:00.12Z","maxPublishedAt":"1815-12-22T22:30:00Z"}],"truncated":false}`},
		{"different values", "Book", `{"count":{"all":true,"distinct":["authorId","createdAt","genre"]}}`, `{"rows":[{"count":4,"distinctAuthorId":2,"distinctCreatedAt":2,"distinctGenre":1}],"truncated":false}`},
		{"only different values", "Book", `{"count":{"distinct":"author"}}`, `{"rows":[{"distinctAuthor":2}],"truncated":false}`},
		{"of every type", "Book", `{"min":["title","price","cost","publishedAt","genre","id","authorId"],"avg":["pages","price","cost"],"sum":["cost","price"]}`, `{"rows":[{"sumCost":"12.5","sumPrice":9.5,"avgPages":474,"avgPrice":9.5,"avgCost":"12.5",
			"minTitle":"Anonymous","minPrice":9.5,"minCost":"12.5","minPublishedAt":"1815-12-22T22:30:00Z","minGenre":"novel","minId":"dune","minAuthorId":"1"}],"truncated":false}`},
		{"groups of every type", "Book", `{"groupBy":["cover","isbn","cost","price","pages"],"filter":{"id":"emma"},"count":false}`, `{"rows":[{"cover":"AP8=","isbn":"6f2b1c1e-3a57-4f3e-8d8a-0c2f1b9d7e55","cost":"12.5","price":9.5,"pages":474}],"truncated":false}`},
		{"having", "Book", `{"groupBy":"authorId","having":{"count":{"$gt":1}}}`, `{"rows":[{"authorId":"2","count":2}],"truncated":false}`},
		{"having of everything", "Book", `{"groupBy":"authorId","max":["createdAt","title"],"having":{"$or":[{"authorId":null},{"maxTitle":{"$startsWith":"Dune"},"maxCreatedAt":{"$lte":"2026-03-01T13:00:00+01:00"}}]}}`, `{"rows":[{"authorId":null,"maxCreatedAt":"2026-03-01T12:00:00Z","maxTitle":"Anonymous"},{"authorId":"2","maxCreatedAt":"2026-03-01T12:00:00Z","maxTitle":"Dune Messiah"}],"truncated":false}`},
		{"having of a bucket", "Book", `{"groupBy":{"field":"publishedAt","by":"year"},"having":{"publishedAtYear":{"$lt":"1900-01-01T00:00:00Z"}}}`, `{"rows":[{"publishedAtYear":"1815-01-01T00:00:00Z","count":1}],"truncated":false}`},
		{"having without groups", "Book", `{"having":{"count":{"$gt":9}}}`, `{"rows":[],"truncated":false}`},
		{"filter of a relationship", "Book", `{"filter":{"author":{"name":"Frank"},"tags":{"$some":{"label":"desert"}}},"max":"sold"}`, `{"rows":[{"maxSold":5}],"truncated":false}`},
		{"names of one's own", "Book", `{"groupBy":[{"field":"genre","as":"count"}],"count":false,"sum":"sold","filter":{"genre":null},"having":{"count":null}}`, `{"rows":[{"count":null,"sumSold":7}],"truncated":false}`},
		{"reference of one to one", "Desk", `{"groupBy":"owner"}`, `{"rows":[{"owner":"2","count":1}],"truncated":false}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if want, ok := nullsLast[c.name]; ok && !library.Dialect(t).NullsFirst() {
				c.want = want
			}
			require.JSONEq(t, c.want, aggregate(t, db, e, graph.Entity(c.entity), c.input))
		})
	}
}

// The start of a bucket is right for the last nanosecond before the next one, in
// leap years, in weeks across years, and in whatever form a time was kept.
func TestBuckets(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestBuckets) {
		return
	}
	for _, c := range []struct{ kept, day, week, month, year string }{
		{"2026-01-01 00:00:00+00:00", "2026-01-01", "2025-12-29", "2026-01-01", "2026-01-01"},
		{"2025-12-31 23:59:59.999999999+00:00", "2025-12-31", "2025-12-29", "2025-12-01", "2025-01-01"},
		{"2026-01-04 23:59:59.9999+00:00", "2026-01-04", "2025-12-29", "2026-01-01", "2026-01-01"},
		{"2026-01-05 00:00:00+00:00", "2026-01-05", "2026-01-05", "2026-01-01", "2026-01-01"},
		{"2024-02-29 12:00:00.5+00:00", "2024-02-29", "2024-02-26", "2024-02-01", "2024-01-01"},
		{"0001-01-01 00:00:00+00:00", "0001-01-01", "0001-01-01", "0001-01-01", "0001-01-01"},
		{"9999-12-31 23:59:59+00:00", "9999-12-31", "9999-12-27", "9999-12-01", "9999-01-01"},
		{"2026-01-01 00:30:00+02:00", "2025-12-31", "2025-12-29", "2025-12-01", "2025-01-01"},
		{"2025-12-31T23:30:00-01:00", "2026-01-01", "2025-12-29", "2026-01-01", "2026-01-01"},
		{"2026-03-05T10:00:00Z", "2026-03-05", "2026-03-02", "2026-03-01", "2026-01-01"},
		{"2026-03-05 10:00:00", "2026-03-05", "2026-03-02", "2026-03-01", "2026-01-01"},
	} {
		t.Run(c.kept, func(t *testing.T) {
			db, e := open(t, library.Data{Books: []library.Book{{ID: "x"}}})
			kept := c.kept
			if pgtest.Here(t) { // which keeps microseconds
				kept = strings.Replace(kept, "999999999", "999999", 1)
			}
			_, err := db.Exec(pgtest.Marks(t, "UPDATE books SET published_at = ?"), kept)
			require.NoError(t, err)
			at := func(day string) string { return `"` + day + `T00:00:00Z"` }
			require.JSONEq(t, `{"rows":[{"publishedAtDay":`+at(c.day)+`,"publishedAtWeek":`+at(c.week)+`,"publishedAtMonth":`+at(c.month)+`,"publishedAtYear":`+at(c.year)+`,"count":1}],"truncated":false}`,
				aggregate(t, db, e, books, `{"groupBy":[{"field":"publishedAt","by":"day"},{"field":"publishedAt","by":"week"},{"field":"publishedAt","by":"month"},{"field":"publishedAt","by":"year"}]}`))
		})
	}
}

func TestWrongAggregates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, entity, input, path, says string }{
		{"no object", "Book", `[]`, "", "object"},
		{"unknown member", "Book", `{"groupby":"genre"}`, "/groupby", `did you mean "groupBy"`},
		{"page", "Book", `{"page":1}`, "/page", "unknown input"},
		{"filter", "Book", `{"filter":{"titel":"x"}}`, "/filter/titel", `did you mean "title"`},
		{"unknown group", "Book", `{"groupBy":"gnere"}`, "/groupBy", `did you mean "genre"`},
		{"unknown group in a list", "Book", `{"groupBy":["genre","autor"]}`, "/groupBy/1", `did you mean "author"`},
		{"group of nothing", "Book", `{"groupBy":[]}`, "/groupBy", "at least one"},
		{"group of a number", "Book", `{"groupBy":[1]}`, "/groupBy/0", "name of a field"},
		{"group by a secret", "Book", `{"groupBy":"secret"}`, "/groupBy", "unknown field"},
		{"group by what is write-only", "Book", `{"groupBy":[{"field":"pin"}]}`, "/groupBy/0/field", "unknown field"},
		{"group by JSON", "Book", `{"groupBy":"meta"}`, "/groupBy", "cannot be grouped"},
		{"group by a relationship to many", "Book", `{"groupBy":"tags"}`, "/groupBy", "relates many to many"},
		{"group by a reference on the other side", "Author", `{"groupBy":"desk"}`, "/groupBy", `held by Desk: aggregate Desk by "owner" instead`},
		{"group by the other side of a relationship to itself", "Author", `{"groupBy":"pupils"}`, "/groupBy", `held by Author: aggregate Author by "mentor" instead`},
		{"group by a hidden relationship", "Book", `{"groupBy":"reviews"}`, "/groupBy", "unknown field"},
		{"group twice", "Book", `{"groupBy":"genre,genre"}`, "/groupBy", "two columns"},
		{"too many groups", "Book", `{"groupBy":["title","blurb","pages","sold","price","inPrint","genre","isbn","cost"]}`, "/groupBy", "at most 8"},
		{"bucket without a field", "Book", `{"groupBy":{"by":"day"}}`, "/groupBy/field", "must name what"},
		{"unknown bucket", "Book", `{"groupBy":{"field":"createdAt","by":"mnoth"}}`, "/groupBy/by", `did you mean "month"`},
		{"bucket of a text", "Book", `{"groupBy":{"field":"title","by":"day"}}`, "/groupBy/by", "only times"},
		{"unknown option", "Book", `{"groupBy":{"field":"title","sa":"x"}}`, "/groupBy/sa", `did you mean "as"`},
		{"bad name", "Book", `{"groupBy":{"field":"title","as":"a\";--"}}`, "/groupBy/as", "letters"},
		{"name that is taken", "Book", `{"groupBy":{"field":"title","as":"count"},"count":true}`, "/count", "two columns"},
		{"sum of a text", "Book", `{"sum":"title"}`, "/sum", "is not a number"},
		{"sum of a reference", "Book", `{"sum":"authorId"}`, "/sum", "is not a number"},
		{"avg of a relationship", "Book", `{"avg":["author"]}`, "/avg/0", "is not a number"},
		{"sum of a secret", "Book", `{"sum":"secret"}`, "/sum", "unknown field"},
		{"min of a secret", "Book", `{"min":"secret"}`, "/min", "unknown field"},
		{"max of what is write-only", "Book", `{"max":["pin"]}`, "/max/0", "unknown field"},
		{"max of a boolean", "Book", `{"max":"inPrint"}`, "/max", "cannot be ordered"},
		{"sum of nothing", "Book", `{"sum":[]}`, "/sum", "at least one"},
		{"different secrets", "Book", `{"count":{"distinct":"secret"}}`, "/count/distinct", "unknown field"},
		{"count of a text", "Book", `{"count":"title"}`, "/count", "true, false, or {all, distinct}"},
		{"count of an empty object", "Book", `{"count":{}}`, "/count", "true, false, or {all, distinct}"},
		{"count of what", "Book", `{"count":{"distint":"title"}}`, "/count/distint", `did you mean "distinct"`},
		{"nothing to compute", "Book", `{"count":false}`, "/count", "nothing to compute"},
		{"having of no column", "Book", `{"groupBy":"genre","having":{"cuont":1}}`, "/having/cuont", `did you mean "count"`},
		{"having of a field that is no column", "Book", `{"sum":"pages","having":{"title":"x"}}`, "/having/title", "(there are: sumPages)"},
		{"having of a secret", "Book", `{"having":{"secret":"x"}}`, "/having/secret", "unknown field"},
		{"having of another type", "Book", `{"having":{"count":"x"}}`, "/having/count", "integer"},
		{"having no object", "Book", `{"having":5}`, "/having", "object"},
		{"sort by no column", "Book", `{"groupBy":"genre","sort":"-cuont"}`, "/sort", `did you mean "count"`},
		{"sort by a secret", "Book", `{"sort":"secret"}`, "/sort", "unknown column"},
		{"sort twice", "Book", `{"sort":["count","-count"]}`, "/sort/1", "more than once"},
		{"limit 0", "Book", `{"limit":0}`, "/limit", "from 1"},
		{"limit beyond the cap", "Book", `{"limit":10001}`, "/limit", "to 10000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read.DecodeAggregate([]byte(c.input), graph.Entity(c.entity), graph)
			f := fault.From(err)
			require.Equal(t, fault.InvalidPayload, f.Code, "%v", err)
			require.Len(t, f.Details, 1, f.Message)
			require.Equal(t, c.path, f.Path)
			require.Contains(t, f.Message, c.says)
		})
	}
}

func TestAllThatIsWrongWithAnAggregate(t *testing.T) {
	t.Parallel()
	_, err := read.DecodeAggregate([]byte(`{"filter":{"titel":1},"groupBy":["gnere",{"field":"title","by":"day"}],"sum":"pagse","having":{"gnere":"x","sumPagse":{"$gt":1},"nothing":1},"sort":"sumPagse,-gnere,x","limit":"9"}`), books, graph)
	var paths []string
	for _, d := range fault.From(err).Details.([]fault.Detail) {
		paths = append(paths, d.Path)
	}
	require.ElementsMatch(t, []string{"/filter/titel", "/groupBy/0", "/groupBy/1/by", "/sum", "/having/nothing", "/sort", "/limit"}, paths, "what follows from another problem is not reported")
}

func TestAggregatesAreNeverCutSilently(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestAggregatesAreNeverCutSilently) {
		return
	}
	var d library.Data
	for i := range read.DefaultRows + 1 {
		d.Books = append(d.Books, library.Book{ID: "b" + strings.Repeat("x", i%7) + time.Unix(int64(i), 0).UTC().Format(time.RFC3339), Title: "same"})
	}
	db, e := open(t, d)
	fails := func(code fault.Code, input string) {
		t.Helper()
		a, err := read.DecodeAggregate([]byte(input), books, graph)
		require.NoError(t, err)
		_, err = e.Aggregate(ctx, db, a)
		require.Equal(t, code, fault.CodeOf(err), "%v", err)
	}
	fails(fault.ResultTooLarge, `{"groupBy":"id"}`)
	require.Contains(t, aggregate(t, db, e, books, `{"groupBy":"id","limit":1000}`), `"truncated":true`)
	require.Contains(t, aggregate(t, db, e, books, `{"groupBy":"id","limit":1001}`), `"truncated":false`)
	require.Contains(t, aggregate(t, db, e, books, `{"groupBy":"id","filter":{"id":{"$ne":"b1970-01-01T00:00:00Z"}}}`), `"truncated":false`)
	e.MaxBytes = 2000
	fails(fault.CallTooLarge, `{"groupBy":"id","limit":1000}`)
}

// The database sorts such values beside each other, however large they are.
func TestAggregateRejectsLongValues(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestAggregateRejectsLongValues) {
		return
	}
	text := func(bytes int) *string { return new(strings.Repeat("é", bytes/2) + strings.Repeat("x", bytes%2)) }
	db, e := open(t, library.Data{Books: []library.Book{
		{ID: "a", Title: "short", Blurb: text(read.MaxValue), Cover: make([]byte, read.MaxValue)},
		{ID: "b", Title: "long", Blurb: text(read.MaxValue + 1), Cover: make([]byte, read.MaxValue+1)},
		{ID: "c", Title: "none"},
	}})
	for _, c := range []struct{ input, path, field string }{
		{`{"groupBy":"blurb"}`, "/groupBy", "blurb"},
		{`{"groupBy":["title","cover"]}`, "/groupBy", "cover"},
		{`{"groupBy":"title","min":"blurb"}`, "/min", "blurb"},
		{`{"groupBy":"title","max":["sold","blurb"]}`, "/max", "blurb"},
		{`{"groupBy":"title","count":{"distinct":"blurb"}}`, "/count/distinct", "blurb"},
		{`{"count":{"distinct":"blurb,cover","all":true}}`, "/count/distinct", "blurb"},
		{`{"count":{"distinct":"title,cover"}}`, "/count/distinct", "cover"},
	} {
		a, err := read.DecodeAggregate([]byte(c.input), books, graph)
		require.NoError(t, err)
		_, err = e.Aggregate(ctx, db, a)
		f := fault.From(err)
		require.Equal(t, fault.InvalidPayload, f.Code, "%s: %v", c.input, err)
		require.Equal(t, c.path, f.Path, c.input)
		require.Contains(t, f.Message, fmt.Sprintf("a value of %q takes %d bytes", c.field, read.MaxValue+1), c.input)

		within := strings.Replace(c.input, "{", `{"filter":{"title":{"$ne":"long"}},`, 1)
		aggregate(t, db, e, books, within)
	}
	require.Contains(t, aggregate(t, db, e, books, `{"max":"blurb"}`), "é", "one value at a time")
	require.JSONEq(t, `{"rows":[{"distinctBlurb":1,"distinctCover":1}],"truncated":false}`, aggregate(t, db, e, books, `{"filter":{"title":{"$ne":"long"}},"count":{"distinct":"blurb,cover"}}`))
	require.JSONEq(t, `{"rows":[{"distinctBlurb":0}],"truncated":false}`, aggregate(t, db, e, books, `{"filter":{"title":"nothing"},"count":{"distinct":"blurb"}}`))
}

func TestSumsBeyondIntegers(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSumsBeyondIntegers) {
		return
	}
	db, e := open(t, library.Data{Books: []library.Book{{ID: "a", Sold: 1 << 62}, {ID: "b", Sold: 1 << 62}}})
	a, err := read.DecodeAggregate([]byte(`{"sum":"sold"}`), books, graph)
	require.NoError(t, err)
	_, err = e.Aggregate(ctx, db, a)
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), "%v", err)
	require.Equal(t, "/sum", fault.From(err).Path)
	require.JSONEq(t, `{"rows":[{"avgSold":4611686018427387904,"maxSold":"4611686018427387904"}],"truncated":false}`, aggregate(t, db, e, books, `{"avg":"sold","max":"sold"}`))
}

// What is passed on the way does not matter, whatever the order of the rows is.
func TestSumsThatPassAnIntegerAndComeBack(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSumsThatPassAnIntegerAndComeBack) {
		return
	}
	for want, sold := range map[string][]int64{
		"9223372036854775807":  {math.MaxInt64, 5, -5},
		"9223372036854775803":  {-5, math.MaxInt64, 1},
		"-9223372036854775808": {math.MinInt64, -1, 1},
		"-9223372036854775806": {-1, math.MinInt64, 3},
		"-3":                   {-1, -1, -1},
		"4294967296":           {1, math.MaxUint32},
	} {
		var data library.Data
		for i, n := range sold {
			data.Books = append(data.Books, library.Book{ID: string(rune('a' + i)), Sold: n})
		}
		db, e := open(t, data)
		if n, _ := strconv.ParseInt(want, 10, 64); n > 1<<53 || n < -1<<53 {
			want = `"` + want + `"`
		}
		require.JSONEq(t, `{"rows":[{"sumSold":`+want+`}],"truncated":false}`, aggregate(t, db, e, books, `{"sum":"sold"}`))
	}
}

func TestSumsBeyondFloats(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSumsBeyondFloats) {
		return
	}
	db, e := open(t, library.Data{Books: []library.Book{{ID: "a", Price: new(1e308)}, {ID: "b", Price: new(1e308)}}})
	for _, call := range []string{"sum", "avg"} {
		a, err := read.DecodeAggregate([]byte(`{"`+call+`":"price"}`), books, graph)
		require.NoError(t, err)
		_, err = e.Aggregate(ctx, db, a)
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), "%s: %v", call, err)
		require.Contains(t, err.Error(), "1.8e308")
	}
	require.JSONEq(t, `{"rows":[{"maxPrice":1e308}],"truncated":false}`, aggregate(t, db, e, books, `{"max":"price"}`))
}

// FuzzAggregate: whatever the decoder takes the schema takes too, and SQLite
// executes it without an error.
func FuzzAggregate(f *testing.F) {
	for _, seed := range []string{
		`{"groupBy":{"field":"createdAt","by":"week"},"timeZone":"America/Havana"}`,
		`{}`, `{"groupBy":"genre,inPrint","count":{"all":true,"distinct":["author","cost"]},"sum":"pages","avg":"price,cost","min":"title","max":["createdAt","id"]}`,
		`{"groupBy":[{"field":"createdAt","by":"week"},{"field":"publishedAt","by":"day","as":"d"}],"having":{"$not":{"count":{"$in":[1,2]}},"d":null},"sort":"-count,d","limit":3}`,
		`{"filter":{"tags":{"$some":{"label":"x"}}},"groupBy":{"field":"author","as":"a"},"having":{"a":{"$ne":"1"}},"set":"default"}`,
		`{"sum":"cost","having":{"sumCost":{"$gt":"1e300"}},"sort":["sumCost"]}`, `{"groupBy":{"field":"title","as":"__proto__"}}`,
		`{"groupBy":"cover,isbn,meta","having":{"cover":"AP8="}}`, `{"count":false}`, `{"count":{"all":false}}`, `{"avg":"sold","limit":10000}`,
	} {
		f.Add([]byte(seed))
	}
	db, e := open(f, small())
	schema := compiled(f, read.AggregateSchema(books, graph))
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := read.DecodeAggregate(raw, books, graph)
		if err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
			return
		}
		var in struct{ Set *string }
		require.NoError(t, json.Unmarshal(raw, &in))
		if in.Set == nil || a.Set == "default" { // a set that does not exist is refused elsewhere
			requireAccepted(t, schema, raw)
		}
		out, err := e.Aggregate(ctx, db, a)
		require.NoError(t, err)
		require.True(t, json.Valid(out))
	})
}

// BenchmarkAggregate is 10,000 rows in groups by two fields, against the
// statement by hand.
func BenchmarkAggregate(b *testing.B) {
	db, e := open(b, shelf())
	stmt := prepared(b, db, "SELECT genre, substr(published_at,1,7), count(*), sum(sold), avg(price) FROM books WHERE in_print=? GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2")
	a, err := read.DecodeAggregate([]byte(`{"filter":{"inPrint":true},"groupBy":["genre",{"field":"publishedAt","by":"month"}],"count":true,"sum":"sold","avg":"price","sort":"-count"}`), books, graph)
	require.NoError(b, err)
	ratio(b, func() int { return rawGroups(b, stmt) }, func() int {
		out, err := e.Aggregate(ctx, db, a)
		must(b, err)
		return len(out)
	})
}

func rawGroups(b *testing.B, stmt *sql.Stmt) int {
	rows, err := stmt.QueryContext(ctx, true)
	must(b, err)
	out := append(make([]byte, 0, 4096), `{"rows":[`...)
	for rows.Next() {
		var genre, month string
		var count, sum int64
		var avg float64
		must(b, rows.Scan(&genre, &month, &count, &sum, &avg))
		row, err := json.Marshal(map[string]any{"genre": genre, "month": month, "count": count, "sum": sum, "avg": avg})
		must(b, err)
		out = append(append(out, row...), ',')
	}
	must(b, rows.Err())
	must(b, rows.Close())
	return len(out)
}
