package read

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/library"
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
