package read

import (
	"bytes"
	"context"
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
	l, err := e.page(ctx, db, c)
	require.NoError(t, err)
	require.True(t, l.cut)
	require.LessOrEqual(t, len(l.buf), e.MaxBytes)
	require.Equal(t, len(l.buf), l.rows[len(l.rows)-1].end)

	c, err = DecodeCollection([]byte(`{"with":"books"}`), graph.Entity("Author"), graph)
	require.NoError(t, err)
	l, err = e.page(ctx, db, c)
	require.NoError(t, err)
	budget := 2000
	require.ErrorIs(t, e.relate(ctx, db, l, len(l.rows), &budget), errOverflow)
}

// Rows of a relation take memory besides their JSON, and small ones take more of it than
// of JSON.
func TestSmallRowsOfRelationsAreCounted(t *testing.T) {
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
	var all texts
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
