package read

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/framework/database/words"
)

// shortBooks are books of few words, so that each search finds many, of all ranks.
func shortBooks(r *rand.Rand, n int) library.Data {
	letters := []string{"a", "ab", "abc", "A", "AB", "b", "é", "x-ab", "a.", "Straße", "日本", "koanother"}
	text := func(most int) string {
		var out []string
		for range 1 + r.IntN(most) {
			out = append(out, letters[min(r.IntN(len(letters)), r.IntN(2*len(letters)))])
		}
		return strings.Join(out, " ")
	}
	var d library.Data
	for i := range n {
		b := library.Book{ID: fmt.Sprintf("b%05d", i*7919%100_000), Title: text(3), Sold: int64(i % 3)}
		if i%9 > 0 {
			b.Blurb = library.P(text(6))
		}
		d.Books = append(d.Books, b)
	}
	return d
}

// best are the ids of the books that a search finds, in its order.
func best(books []library.Book, q string, fits func(library.Book) bool) []any {
	type hit struct {
		id    string
		score int64
	}
	var hits []hit
	for _, b := range books {
		blurb := ""
		if b.Blurb != nil {
			blurb = *b.Blurb
		}
		if score := words.Value(q, b.Title, blurb); score > 0 && fits(b) {
			hits = append(hits, hit{b.ID, score})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int {
		if a.score != b.score {
			return int(b.score - a.score)
		}
		return strings.Compare(a.id, b.id)
	})
	out := []any{}
	for _, h := range hits {
		out = append(out, h.id)
	}
	return out
}

// Of rows that the index of words knows it says which are the best, and in which order: as their texts would say.
func TestIndexRanksAsTextsDo(t *testing.T) {
	t.Parallel()
	db, e := library.SQLite(t), New(library.Dialect(t))
	e.Indexed = true
	graph := library.Graph()
	books := graph.Entity("Book")
	d := shortBooks(rand.New(rand.NewPCG(3, 33)), 900)
	library.Insert(t, db, d)
	for _, s := range e.dialect.MakeIndex(filter.Index(books)) {
		_, err := db.Exec(s.Text)
		require.NoError(t, err)
	}
	for i := range 40 { // which the index is told later
		d.Books[i].Title = "ab " + d.Books[i].Title
		_, err := db.Exec("UPDATE books SET title=? WHERE id=?", d.Books[i].Title, d.Books[i].ID)
		require.NoError(t, err)
		_, err = db.Exec("DELETE FROM books WHERE id=?", d.Books[len(d.Books)-1].ID)
		require.NoError(t, err)
		d.Books = d.Books[:len(d.Books)-1]
	}
	for _, q := range []string{"a", "ab", "abc", "a ab", "ab a", "a a", "b a ab", "é", "b é", "koan", "nothing"} {
		for _, sold := range []string{"", `,"filter":{"sold":1}`} {
			want := best(d.Books, q, func(b library.Book) bool { return sold == "" || b.Sold == 1 })
			for from, page := 0, 1; page < 4; from, page = from+200, page+1 {
				c, err := DecodeCollection(fmt.Appendf(nil, `{"q":%q,"page":%d,"pageSize":200%s}`, q, page, sold), books, graph)
				require.NoError(t, err)
				got, ok, err := e.rankedKeys(t.Context(), db, c)
				require.NoError(t, err)
				require.True(t, ok, q)
				require.Equal(t, want[min(from, len(want)):min(from+201, len(want))], append([]any{}, got...), "%q, page %d", q, page)
				total, err := e.total(t.Context(), db, c, 0, true)
				require.NoError(t, err)
				require.Equal(t, len(want), total, q)
			}
			require.Equal(t, want, walked(t, db, e, map[string]any{"q": q, "pageSize": 150}, sold), q)
		}
	}
}

// walked are the ids that a walk by cursors visits.
func walked(t *testing.T, db Querier, e *Engine, input map[string]any, sold string) []any {
	t.Helper()
	if sold != "" {
		input["filter"] = map[string]any{"sold": 1}
	}
	out := []any{}
	graph := library.Graph()
	for {
		raw, err := json.Marshal(input)
		require.NoError(t, err)
		c, err := DecodeCollection(raw, graph.Entity("Book"), graph)
		require.NoError(t, err)
		text, err := e.Collection(t.Context(), db, c)
		require.NoError(t, err)
		var page struct {
			Items      []struct{ ID string }
			NextCursor *string
		}
		require.NoError(t, json.Unmarshal(text, &page))
		for _, item := range page.Items {
			out = append(out, item.ID)
		}
		if page.NextCursor == nil {
			return out
		}
		input["cursor"] = *page.NextCursor
	}
}

// What the index is not sure of is ranked by the texts of all rows, as a search without an index is.
func TestIndexLeavesToTextsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	db, e := library.SQLite(t), New(library.Dialect(t))
	graph := library.Graph()
	ranks := func(input string) bool {
		c, err := DecodeCollection([]byte(input), graph.Entity("Book"), graph)
		require.NoError(t, err)
		_, ok, err := e.rankedKeys(t.Context(), db, c)
		require.NoError(t, err)
		return ok
	}
	require.False(t, ranks(`{"q":"a"}`), "there is no index")
	e.Indexed = true
	for _, s := range e.dialect.MakeIndex(filter.Index(graph.Entity("Book"))) {
		_, err := db.Exec(s.Text)
		require.NoError(t, err)
	}
	require.True(t, ranks(`{"q":"a b"}`))
	require.False(t, ranks(`{"q":"a","sort":"sold"}`), "another order")
	require.False(t, ranks(`{"q":"x-ray"}`), "two words for the index")
	require.False(t, ranks(`{"q":"strass"}`), "the index has ß")
	require.False(t, ranks(`{"q":"日本"}`), "no letters")
	require.False(t, ranks(`{}`))
}
