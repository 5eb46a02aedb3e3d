package read

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/tests/pgtest"
)

// deepPlan is how SQLite reads a page that comes behind many rows.
func deepPlan(t *testing.T, sort, index string) string {
	t.Helper()
	db, e := shelf(t, 10)
	if index != "" {
		_, err := db.Exec(index)
		require.NoError(t, err)
	}
	graph := library.Graph()
	c, err := DecodeCollection([]byte(`{"page":101,"sort":"`+sort+`"}`), graph.Entity("Book"), graph)
	require.NoError(t, err)
	b := e.page(c)
	rows, err := db.Query("EXPLAIN QUERY PLAN "+string(b.Text()), b.Args()...)
	require.NoError(t, err)
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		plan = append(plan, step)
	}
	require.NoError(t, rows.Err())
	return strings.Join(plan, "\n")
}

// What is sorted for a page far behind are ids, by the sorter, and rows are looked up by them.
func TestDeepPageSortsKeysAlone(t *testing.T) {
	t.Parallel()
	plan := deepPlan(t, "-pages", "")
	require.Contains(t, plan, "SEARCH t0 USING INDEX sqlite_autoindex_books_1 (id=?)")
	require.Contains(t, plan, "MERGE (UNION ALL)\nLEFT\nSCAN t1\nUSE TEMP B-TREE FOR ORDER BY")
}

// An index of the sort is read from its start, as far as the page.
func TestDeepPageReadsIndexOfSort(t *testing.T) {
	t.Parallel()
	plan := deepPlan(t, "-pages", "CREATE INDEX books_pages ON books (page_count DESC, id)")
	require.Contains(t, plan, "LEFT\nSCAN t1 USING COVERING INDEX books_pages\nRIGHT")
}

func TestFirstPagesAreReadAtOnce(t *testing.T) {
	t.Parallel()
	graph := library.Graph()
	books := graph.Entity("Book")
	for page, late := range map[int]bool{1: false, 100: false, 101: true, 5000: true} {
		c, err := DecodeCollection(fmt.Appendf(nil, `{"page":%d,"sort":"sold"}`, page), books, graph)
		require.NoError(t, err)
		for _, d := range []sqltext.Dialect{sqltext.SQLite{}, sqltext.PostgreSQL{}} {
			require.Equal(t, late, strings.Contains(string(New(d).page(c).Text()), `(t0."id") IN (SELECT `), "page %d", page)
		}
	}
}

// Rows whose ids are of several columns are found by all of them.
func TestDeepPagesOfSeveralColumns(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestDeepPagesOfSeveralColumns) {
		return
	}
	db := library.Open(t)
	_, err := db.Exec("CREATE TABLE pairs (a text NOT NULL, b bigint NOT NULL, n bigint NULL, PRIMARY KEY (a, b))")
	require.NoError(t, err)
	for i := range 30 {
		_, err := db.Exec(fmt.Sprintf("INSERT INTO pairs VALUES ('%c', %d, nullif(%d, 2))", 'a'+i%3, i/3, i%5))
		require.NoError(t, err)
	}
	column := func(name string, s descriptor.Storage) descriptor.Column {
		return descriptor.Column{Field: name, Ent: name, Name: name, Storage: s}
	}
	pairs := &descriptor.Entity{
		Resource: catalog.Resource{Name: "Pair", Key: catalog.Field{Name: "id", Type: catalog.TypeID}, Fields: []catalog.Field{{Name: "n", Type: catalog.TypeInt, Nullable: true}}},
		Table:    "pairs",
		Key:      descriptor.Column{Field: "id", Ent: "id", Parts: []descriptor.Column{column("a", descriptor.Text), column("b", descriptor.Int)}},
		Columns:  []descriptor.Column{{Field: "n", Ent: "n", Name: "n", Storage: descriptor.Int, Nullable: true}},
	}
	graph := descriptor.NewGraph(pairs)
	e, late := New(library.Dialect(t)), New(library.Dialect(t))
	late.late = 0
	for _, sort := range []string{`"id"`, `"-id"`, `"n"`, `"-n"`, `{"field":"n","nulls":"first"}`, `{"field":"-n","nulls":"last"}`} {
		for page := 1; page <= 5; page++ {
			c, err := DecodeCollection(fmt.Appendf(nil, `{"page":%d,"pageSize":7,"sort":%s}`, page, sort), pairs, graph)
			require.NoError(t, err)
			want, err := e.Collection(t.Context(), db, c)
			require.NoError(t, err)
			require.Contains(t, string(want), `"id":"`)
			got, err := late.Collection(t.Context(), db, c)
			require.NoError(t, err)
			require.JSONEq(t, string(want), string(got), "%s, page %d", sort, page)
		}
	}
}
