package read_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/fault"
)

// SQLite keeps any value in any column. What is none of the field's type is a fault that names
// the row, by every way of reading it, and does not have the value in it.
func TestStrangeValuesAreNamed(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for column, c := range map[string]struct {
		field, stored, why string
	}{
		"page_count": {"pages", "'n/a'", "it is not an integer"},
		"price":      {"price", "'n/a'", "it is not a number"},
		"in_print":   {"inPrint", "'n/a'", "it is not a boolean"},
		"created_at": {"createdAt", "'n/a'", "it is not a time"},
		"ordered_on": {"orderedOn", "'n/a'", "it does not begin with a day"},
		"cover":      {"cover", "5", "it is not bytes"},
	} {
		t.Run(column, func(t *testing.T) {
			db, e := open(t, small())
			_, err := db.Exec(`UPDATE books SET "` + column + `"=` + c.stored + ` WHERE id='dune'`)
			require.NoError(t, err)
			check := func(err error) {
				t.Helper()
				require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err), err)
				f := fault.From(err)
				require.Contains(t, f.Message, `"`+c.field+`" of Book "dune" cannot be read`)
				require.Contains(t, f.Message, c.why)
				require.NotContains(t, f.Message, "n/a")
				require.Equal(t, map[string]any{"entity": "Book", "field": c.field, "id": "dune"}, f.Details)
				require.Equal(t, fault.Never, f.Retry)
			}
			get, err := read.DecodeGet([]byte(`{"id":"dune"}`), books, graph)
			require.NoError(t, err)
			_, err = e.Get(ctx, db, get)
			check(err)
			page, err := read.DecodeCollection([]byte(`{"filter":{"id":"dune"},"fields":"`+c.field+`"}`), books, graph)
			require.NoError(t, err)
			_, err = e.Collection(ctx, db, page)
			check(err)
			check(e.Images(ctx, db, books, []any{"dune"}, func(any, []byte) error { return nil }))
		})
	}
}
