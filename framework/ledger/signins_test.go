package ledger_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/tests/pgtest"
)

func TestSignInsEnd(t *testing.T) {
	if pgtest.ForEach(t, TestSignInsEnd) {
		return
	}
	db := database(t)
	k := ledger.NewKeys(db, sqltext.SQLite{})
	if pgtest.Here(t) {
		db = pgtest.Open(t)
		k = ledger.NewKeys(db, sqltext.PostgreSQL{})
	}
	for _, statement := range ledger.SignInTables() {
		_, err := db.Exec(statement)
		require.NoError(t, err)
	}
	s, now := k.SignIns(), time.UnixMilli(1_800_000_000_000)
	const idle, most = time.Hour, 3
	keep := func(id, holder string) {
		require.NoError(t, s.Keep(t.Context(), id, holder, "of "+id, now, now.Add(-idle), most))
	}
	found := func(id string) bool {
		content, used, ok, err := s.Find(t.Context(), id, now.Add(-idle))
		require.NoError(t, err)
		if ok {
			require.Equal(t, "of "+id, content)
			require.False(t, used.After(now))
		}
		return ok
	}
	keep("a", "ann")
	require.True(t, found("a"))
	require.False(t, found("b"))
	now = now.Add(idle)
	require.True(t, found("a"))
	require.NoError(t, s.Use(t.Context(), "a", now))
	now = now.Add(idle + time.Millisecond)
	require.False(t, found("a"), "unused for too long")
	keep("other", "bob")
	for _, id := range []string{"b", "c", "d", "e"} {
		now = now.Add(time.Second)
		keep(id, "ann")
	}
	require.False(t, found("b"), "the one unused for longest makes room")
	require.True(t, found("c"))
	require.True(t, found("other"), "nobody ends the sessions of others by signing in often")
	require.NoError(t, s.End(t.Context(), "c"))
	require.NoError(t, s.End(t.Context(), "c"))
	require.False(t, found("c"))
	require.True(t, found("d"))
}
