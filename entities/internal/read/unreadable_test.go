package read_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/read"
)

// SQLite keeps any value in any column. What is none of the field's type is read as the text that it is, by
// every way of reading.
func TestStrangeValuesAreTexts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for column, c := range map[string]struct{ field, stored, seen string }{
		"page_count": {"pages", "'n/a'", "n/a"},
		"price":      {"price", "'n/a'", "n/a"},
		"in_print":   {"inPrint", "'n/a'", "n/a"},
		"created_at": {"createdAt", "'n/a'", "n/a"},
		"ordered_on": {"orderedOn", "'n/a'", "n/a"},
		"cover":      {"cover", "5", "NQ=="},
	} {
		t.Run(column, func(t *testing.T) {
			db, e := open(t, small())
			_, err := db.Exec(`UPDATE books SET "` + column + `"=` + c.stored + ` WHERE id='dune'`)
			require.NoError(t, err)
			member := `"` + c.field + `":"` + c.seen + `"`
			get, err := read.DecodeGet([]byte(`{"id":"dune"}`), books, graph)
			require.NoError(t, err)
			one, err := e.Get(ctx, db, get)
			require.NoError(t, err)
			require.Contains(t, string(one), member)
			page, err := read.DecodeCollection([]byte(`{"fields":"`+c.field+`"}`), books, graph)
			require.NoError(t, err)
			all, err := e.Collection(ctx, db, page)
			require.NoError(t, err)
			require.Contains(t, string(all), member)
			require.NoError(t, e.Images(ctx, db, books, []any{"dune"}, func(_ any, image []byte) error {
				require.Contains(t, string(image), member)
				return nil
			}))
		})
	}
}
