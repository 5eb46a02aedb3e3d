package sqlite

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"
)

// Both drivers understand the mode, and their own defaults never count: what commits over any
// connection outlives a loss of power, unless the sets' commits need not.
func TestConnectionsSyncAsConfigured(t *testing.T) {
	const full, normal = 2, 1
	for mode, want := range map[Sync]int{SyncFull: full, SyncNormal: normal} {
		t.Run(string(mode), func(t *testing.T) {
			ctx := context.Background()
			f, err := OpenFolder(filepath.Join(t.TempDir(), "new", "folder"), things(), mode)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, f.Close()) })
			syncOf := func(q interface {
				QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
			},
			) (n int) {
				require.NoError(t, q.QueryRowContext(ctx, "PRAGMA synchronous").Scan(&n))
				return n
			}
			d := use(t, f, "default")
			require.Equal(t, want, syncOf(d.db))
			require.Equal(t, want, syncOf(d.runs))
			draft, _, release, err := f.Draft(ctx, "other")
			require.NoError(t, err)
			t.Cleanup(release)
			require.Equal(t, want, syncOf(draft.(*Draft).runs))
			own, err := f.Own(ctx, nil)
			require.NoError(t, err)
			t.Cleanup(func() { _ = own.Close() })
			require.Equal(t, full, syncOf(own), "the ledger")
			require.NoError(t, f.Change(ctx, "default", func(ctx context.Context, drv dialect.Driver) error {
				var rows entsql.Rows
				require.NoError(t, drv.Query(ctx, "PRAGMA synchronous", []any{}, &rows))
				n, err := entsql.ScanInt(rows)
				require.NoError(t, err)
				require.Equal(t, full, n, "migrations")
				return rows.Close()
			}))
		})
	}
}
