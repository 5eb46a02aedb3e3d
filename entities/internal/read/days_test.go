package read_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// A day is the first ten characters of what SQLite keeps, whoever wrote it; what does not
// begin with a day is read as these characters.
func TestStrangeDays(t *testing.T) {
	t.Parallel()
	db, e := open(t, small())
	for _, stored := range []string{"2026-01-31", "2026-01-31 00:00:00+00:00", "2026-01-31T00:00:00Z", "2026-01-31 23:59:59.999-11:00", "2026-01-31 00:30:00+13:00"} {
		_, err := db.Exec("UPDATE books SET ordered_on=? WHERE id='dune'", stored)
		require.NoError(t, err)
		for input, want := range map[string]string{
			`{"filter":{"orderedOn":"2026-01-31"},"fields":"orderedOn"}`:           `"orderedOn":"2026-01-31"`,
			`{"filter":{"orderedOn":{"$in":["2026-01-31"]}},"fields":"orderedOn"}`: `"orderedOn":"2026-01-31"`,
			`{"filter":{"orderedOn":{"$gt":"2026-01-31"}},"fields":"orderedOn"}`:   `"items":[{"id":"emma"`,
		} {
			require.Contains(t, collection(t, db, e, books, input), want, stored)
		}
		rows := aggregate(t, db, e, books, `{"filter":{"id":"dune"},"groupBy":[{"field":"orderedOn","by":"week"},"orderedOn"],"max":"orderedOn"}`)
		require.JSONEq(t, `{"rows":[{"orderedOnWeek":"2026-01-26","orderedOn":"2026-01-31","maxOrderedOn":"2026-01-31"}],"truncated":false}`, rows)
	}
	for stored, seen := range map[any]string{"soon": "soon", "2026-02-30": "2026-02-30", "2026-1-3": "2026-1-3", "": "", 20260131: "20260131", "2026": "2026", "tomorrow morning": "tomorrow m"} {
		_, err := db.Exec("UPDATE books SET ordered_on=? WHERE id='dune'", stored)
		require.NoError(t, err)
		input, err := read.DecodeGet([]byte(`{"id":"dune","fields":"orderedOn"}`), books, graph)
		require.NoError(t, err)
		row, err := e.Get(context.Background(), db, input)
		require.NoError(t, err)
		require.JSONEq(t, `{"id":"dune","orderedOn":"`+seen+`"}`, string(row))
	}
}

// A comparison with a day uses the index of its column.
func TestDayUsesIndex(t *testing.T) {
	t.Parallel()
	db, _ := open(t, library.Data{})
	_, err := db.Exec("CREATE INDEX books_ordered ON books (ordered_on)")
	require.NoError(t, err)
	for _, condition := range []string{`"2026-01-31"`, `{"$gte":"2026-01-01","$lt":"2026-02-01"}`, `{"$between":["2026-01-01","2026-01-31"]}`} {
		tree, details := filter.Parse([]byte(`{"orderedOn":`+condition+`}`), books, graph, "")
		require.Empty(t, details)
		b := sqltext.Builder{Dialect: sqltext.SQLite{}}
		b.Raw("EXPLAIN QUERY PLAN SELECT id FROM books AS ").Alias(b.NewAlias()).Raw(" WHERE ")
		tree.Where(&b, 0)
		var id, parent, unused int
		var plan string
		require.NoError(t, db.QueryRow(string(b.Text()), b.Args()...).Scan(&id, &parent, &unused, &plan))
		require.True(t, strings.Contains(plan, "books_ordered"), plan)
	}
}
