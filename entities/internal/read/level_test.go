package read

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

// Rows beyond the budget are not kept while they are read, so that one call
// cannot fill the memory before its answer is put together.
func TestBudgetOfLevels(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestBudgetOfLevels) {
		return
	}
	db, graph := library.Open(t), library.Graph()
	d := library.Data{Authors: []library.Author{{ID: 1, Name: "A"}, {ID: 2, Name: "B"}}}
	for i := range 50 {
		d.Books = append(d.Books, library.Book{ID: string(rune('A' + i)), Title: "T", Author: library.P(int64(1 + i%2))})
	}
	library.Insert(t, db, d)
	e, ctx := New(library.Dialect(t)), context.Background()

	c, err := DecodeCollection([]byte(`{}`), graph.Entity("Book"), graph)
	require.NoError(t, err)
	e.MaxBytes = 2000
	l, err := e.root(ctx, db, e.page(c), &level{reads: c.reads, order: c.order})
	require.NoError(t, err)
	require.True(t, l.cut)
	require.LessOrEqual(t, len(l.buf), e.MaxBytes)
	require.Equal(t, len(l.buf), l.rows[len(l.rows)-1].end)

	c, err = DecodeCollection([]byte(`{"with":"books"}`), graph.Entity("Author"), graph)
	require.NoError(t, err)
	l, err = e.root(ctx, db, e.page(c), &level{reads: c.reads, order: c.order})
	require.NoError(t, err)
	budget := 2000
	require.ErrorIs(t, e.relate(ctx, db, l, len(l.rows), &budget), errOverflow)
}

// Rows of a relation take memory besides their JSON, and small ones take more of it than
// of JSON.
func TestSmallRowsOfRelationsAreCounted(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSmallRowsOfRelationsAreCounted) {
		return
	}
	db, graph := library.Open(t), library.Graph()
	d := library.Data{Authors: []library.Author{{ID: 1, Name: "A"}}}
	for i := range 200 {
		d.Books = append(d.Books, library.Book{ID: "b" + strconv.Itoa(i), Title: "T", Author: library.P[int64](1)})
	}
	library.Insert(t, db, d)
	e, ctx := New(library.Dialect(t)), context.Background()
	c, err := DecodeCollection([]byte(`{"fields":"id","with":{"books":{"fields":"id"}}}`), graph.Entity("Author"), graph)
	require.NoError(t, err)
	out, err := e.Collection(ctx, db, c)
	require.NoError(t, err)
	e.MaxBytes = 2 * len(out)
	_, err = e.Collection(ctx, db, c)
	require.Equal(t, fault.CallTooLarge, fault.CodeOf(err))
	e.MaxBytes = 200*rowBytes/relationsFactor + 2*len(out)
	_, err = e.Collection(ctx, db, c)
	require.NoError(t, err)
}

// Inputs decide about the shapes of statements: neither many nor long ones stay.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	var all statementTexts
	long := bytes.Repeat([]byte("?,"), maxText)
	require.Equal(t, string(long), all.intern(long))
	require.Empty(t, all.known)
	for i := range 5000 {
		text := []byte(strings.Repeat("x", 4000) + strconv.Itoa(i))
		require.Equal(t, string(text), all.intern(text))
		require.LessOrEqual(t, all.bytes, maxTextBytes)
	}
	kept := 0
	for text := range all.known {
		kept += len(text)
	}
	require.Equal(t, all.bytes, kept)
	require.Positive(t, kept)
}

// A relationship with a limit has all rows of its parents put in order by the database.
func TestLimitedRelationRejectsLongSortValues(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestLimitedRelationRejectsLongSortValues) {
		return
	}
	db, e := shelf(t, 3)
	with := func(options string) (string, error) {
		c, err := DecodeCollection([]byte(`{"fields":"id","with":{"books":`+options+`}}`), library.Graph().Entity("Author"), library.Graph())
		require.NoError(t, err)
		out, err := e.Collection(t.Context(), db, c)
		return string(out), err
	}
	set := func(bytes int) {
		_, err := db.Exec(pgtest.Marks(t, "UPDATE books SET blurb=? WHERE id='b00001'"), strings.Repeat("x", bytes))
		require.NoError(t, err)
	}
	set(MaxCursor)
	out, err := with(`{"sort":"-title,-blurb","fields":"id","limit":1}`)
	require.NoError(t, err)
	require.Contains(t, out, "b00002")
	set(MaxCursor + 1)
	_, err = with(`{"sort":"-title,-blurb","fields":"id","limit":1}`)
	f := fault.From(err)
	require.Equal(t, fault.CallTooLarge, f.Code, "%v", err)
	require.Contains(t, f.Message, fmt.Sprintf(`"blurb" takes %d bytes`, MaxCursor+1))
	for _, options := range []string{`{"sort":"blurb","fields":"id"}`, `{"sort":"title","fields":"id","limit":1}`, `{"sort":"blurb","filter":{"title":"Title 0"},"fields":"id","limit":1}`} {
		_, err = with(options)
		require.NoError(t, err, options)
	}
}
