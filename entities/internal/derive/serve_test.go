package derive_test

import (
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/derive"
	"github.com/koan-go/koan/entities/internal/inspect"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/database/sqltext"
)

var ctx = context.Background()

// served is a database with what is served of it.
type served struct {
	testing.TB
	db *sql.DB
	e  *read.Engine
	*derive.Derived
}

// file makes a file of SQLite out of statements.
func file(t testing.TB, statements string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "data.db")
	db := sqlitedriver.Open("file:" + path)
	_, err := db.Exec(statements)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	return path
}

// open serves a file for reading only.
func open(t testing.TB, path string, o derive.Overlay) *served {
	t.Helper()
	db, err := sqlite.OpenExisting(ctx, path, true)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	found, err := inspect.SQLite(ctx, db)
	require.NoError(t, err)
	d, err := derive.Graph(found, derive.Options{ReadOnly: true, Overlay: o})
	require.NoError(t, err)
	return &served{t, db, read.New(sqltext.SQLite{}), d}
}

func shop(t testing.TB) *served {
	t.Helper()
	text, err := os.ReadFile("testdata/shop.sql")
	require.NoError(t, err)
	return open(t, file(t, string(text)), nil)
}

func (s *served) entity(name string) *descriptor.Entity {
	s.Helper()
	e := s.Graph.Entity(name)
	require.NotNil(s, e, name)
	return e
}

// page is what a collection returns.
type page struct {
	Items      []map[string]any
	NextCursor *string
	TotalCount int
}

func (s *served) collection(entity, input string) page {
	s.Helper()
	c, err := read.DecodeCollection([]byte(input), s.entity(entity), s.Graph)
	require.NoError(s, err, input)
	out, err := s.e.Collection(ctx, s.db, c)
	require.NoError(s, err, input)
	var p page
	require.NoError(s, json.Unmarshal(out, &p), string(out))
	return p
}

// all reads an entity page by page.
func (s *served) all(entity string, pageSize int, more string) (out []map[string]any) {
	s.Helper()
	cursor := "null"
	for range 1000 {
		p := s.collection(entity, fmt.Sprintf(`{"pageSize":%d,"cursor":%s%s}`, pageSize, cursor, more))
		out = append(out, p.Items...)
		if p.NextCursor == nil {
			return out
		}
		cursor = fmt.Sprintf("%q", *p.NextCursor)
	}
	s.Fatalf("the pages do not end: %v", out[:min(len(out), 8)])
	return nil
}

func (s *served) get(entity, id string) map[string]any {
	s.Helper()
	g, err := read.DecodeGet(fmt.Appendf(nil, `{"id":%q}`, id), s.entity(entity), s.Graph)
	require.NoError(s, err, id)
	out, err := s.e.Get(ctx, s.db, g)
	require.NoError(s, err, id)
	var row map[string]any
	require.NoError(s, json.Unmarshal(out, &row))
	return row
}

func (s *served) count(query string) (n int) {
	s.Helper()
	require.NoError(s, s.db.QueryRow(query).Scan(&n), query)
	return n
}

// Every row of every table and view is reached by pages of any size, and by its id where it has
// one.
func (s *served) checkReach() {
	s.Helper()
	for _, e := range s.Graph.Entities {
		name := e.Resource.Name
		want := s.count("SELECT count(*) FROM " + string(sqltext.AppendName(nil, e.Table)))
		for _, size := range []int{1, 2, 100} {
			if want > 200 && size < 100 {
				continue
			}
			rows := s.all(name, size, "")
			require.Len(s, rows, want, name)
			ids := map[any]bool{}
			for _, row := range rows {
				id, ok := row["id"].(string)
				if !ok {
					require.True(s, e.Key.Absent(), "%s: %v", name, row)
					continue
				}
				require.False(s, ids[id], "%s: %s comes twice", name, id)
				ids[id] = true
				if len(ids) < 200 {
					require.Equal(s, row, s.get(name, id), name)
					found := s.collection(name, fmt.Sprintf(`{"filter":{"id":{"$in":[%q]}}}`, id))
					require.Equal(s, []map[string]any{row}, found.Items, name)
				}
			}
		}
		for i := range e.Edges {
			s.checkEdge(e, &e.Edges[i])
		}
	}
}

// checkEdge compares a relationship with what a filter over it finds.
func (s *served) checkEdge(e *descriptor.Entity, edge *descriptor.Edge) {
	s.Helper()
	name := e.Resource.Name
	with := 0
	for _, row := range s.all(name, 100, fmt.Sprintf(`,"with":%q`, edge.Name)) {
		switch related := row[edge.Name].(type) {
		case []any:
			if len(related) > 0 {
				with++
			}
		case map[string]any:
			with++
		}
	}
	filter := `{"$exists":true}`
	if c := e.Resource.Edge(edge.Name); !c.Many {
		filter = `{}`
	}
	found := s.collection(name, fmt.Sprintf(`{"count":true,"pageSize":1,"filter":{%q:%s}}`, edge.Name, filter))
	require.Equal(s, found.TotalCount, with, "%s.%s", name, edge.Name)
	if e.Resource.Edge(edge.Name).Many {
		s.all(name, 100, fmt.Sprintf(`,"with":{%q:{"limit":1}}`, edge.Name))
	}
}

func TestShopIsServedWhole(t *testing.T) {
	s := shop(t)
	s.checkReach()
}

// Databases of others are tried by hand: KOAN_TRY names a file.
func TestGivenFile(t *testing.T) {
	path := os.Getenv("KOAN_TRY")
	if path == "" {
		return
	}
	s := open(t, path, nil)
	for _, e := range s.Graph.Entities {
		fmt.Println(e.Table, "->", e.Resource.Name)
		for i := range e.Resource.Fields {
			f := e.Resource.Fields[i]
			fmt.Println("    ", e.Columns[i].Name, "->", f.Name, f.Type, f.Edge)
		}
		for _, c := range e.Resource.Edges {
			fmt.Println("    =>", c.Name, c.Target, c.Many)
		}
	}
	fmt.Println(s.Links, s.Omitted)
	s.checkReach()
}

func decodeGet(s *served, entity, id string) (*read.Get, error) {
	return read.DecodeGet(fmt.Appendf(nil, `{"id":%s}`, id), s.entity(entity), s.Graph)
}

// compareWithSQL compares what callers get of a column with what SQLite has in it.
func compareWithSQL(s *served, row map[string]any, column, declared, about string) {
	s.Helper()
	var kind string
	var text sql.NullString
	require.NoError(s, s.db.QueryRow(fmt.Sprintf("SELECT typeof(%[1]s), CASE typeof(%[1]s) WHEN 'blob' THEN hex(%[1]s) ELSE CAST(%[1]s AS TEXT) END FROM things WHERE n = ?", column), row["n"]).Scan(&kind, &text))
	if !text.Valid {
		require.Nil(s, row[column], about)
		return
	}
	if declared == "JSON" && kind == "text" && json.Valid([]byte(text.String)) {
		got, err := json.Marshal(row[column])
		require.NoError(s, err)
		require.JSONEq(s, text.String, string(got), about)
		return
	}
	switch got := row[column].(type) {
	case nil:
		require.Fail(s, "a value is lost", "%s %s in %s: %s", kind, text.String, column, about)
	case bool:
		require.Equal(s, map[bool]string{true: "1", false: "0"}[got], text.String, about)
	case float64:
		var want float64
		_, err := fmt.Sscan(text.String, &want)
		require.NoError(s, err, about)
		require.InDelta(s, want, got, 1e-9*max(1, want), about)
	case string:
		if kind == "blob" {
			raw, err := hex.DecodeString(text.String)
			require.NoError(s, err)
			require.Contains(s, []string{string(raw), base64.StdEncoding.EncodeToString(raw)}, got, about)
			return
		}
		texts := []string{got}
		if raw, err := base64.StdEncoding.DecodeString(got); err == nil && (declared == "BLOB" || declared == "") {
			texts = append(texts, string(raw))
		}
		require.True(s, slices.ContainsFunc(texts, func(got string) bool { return isSameValue(got, text.String) }), "%s is %q: %s", text.String, got, about)
	}
}

// isSameValue reports whether two texts are one value: written alike, as one time or as one number.
func isSameValue(a, b string) bool {
	plain := strings.NewReplacer("T", " ", "Z", "", ".000", "")
	x, err := strconv.ParseFloat(a, 64)
	y, other := strconv.ParseFloat(b, 64)
	return plain.Replace(a) == plain.Replace(b) || err == nil && other == nil && x == y
}
