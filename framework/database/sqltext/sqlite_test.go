package sqltext_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// What is bound for a time is what the driver itself stores for it in UTC, and
// such texts order as their moments do.
func TestTimesOrderAsTexts(t *testing.T) {
	db := sqlitedriver.Open(filepath.Join(t.TempDir(), "t.db"))
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	_, err := db.Exec("CREATE TABLE times (at datetime)")
	require.NoError(t, err)
	base := time.Date(2026, 1, 1, 23, 59, 59, 0, time.FixedZone("", -7*3600))
	moments := []time.Time{base.Add(-time.Second), base, base.Add(1), base.Add(5 * time.Millisecond), base.Add(45 * time.Millisecond), base.Add(450 * time.Millisecond), base.Add(time.Second)}
	var texts []string
	for _, m := range moments {
		text := sqltext.SQLite{}.Time(m).(string)
		texts = append(texts, text)
		_, err := db.Exec("INSERT INTO times VALUES (?)", m.UTC())
		require.NoError(t, err)
		var n int
		require.NoError(t, db.QueryRow("SELECT count(*) FROM times WHERE at=?", text).Scan(&n))
		require.Equal(t, 1, n, text)
	}
	require.True(t, slices.IsSorted(texts), texts)
}

func TestBuilder(t *testing.T) {
	b := sqltext.Builder{Dialect: sqltext.SQLite{}}
	for range 11 {
		b.NewAlias()
	}
	b.Column(10, `odd"name`).Raw(" IN (").List([]any{1, 2, 3, 4, 5}).Raw(")")
	require.Equal(t, `t10."odd""name" IN (?,?,?,?,?,?,?,?)`, string(b.Text()))
	require.Equal(t, []any{1, 2, 3, 4, 5, 5, 5, 5}, b.Args())
	b.Reset()
	require.Empty(t, b.Text())
	require.Empty(t, b.Args())
	require.Equal(t, sqltext.Alias(0), b.NewAlias())
}
