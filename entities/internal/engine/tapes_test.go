package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/record"
	"github.com/koan-go/koan/framework/run/replay"
	"github.com/koan-go/koan/tests/race"
)

// keeping starts the app with an engine that keeps every run for a replay.
func keeping(t *testing.T, place string, journal bool, o replay.Options) *journaled {
	j := startJournaled(t, place, map[string]any{"journal.enabled": journal, "journal.expose": journal})
	o.Keep = replay.KeepAll
	j.engine = run.NewEngine(run.Options{})
	tapes := replay.New(j.engine, o)
	tapes.Use(j.provider.Books().Tapes)
	j.engine.Join(tapes, recordsIn(j.provider.Books().Journal, record.Options{}))
	return j
}

// What is kept of runs comes back at once and after a start, goes when it is old, and
// the oldest go where it is too much; with the journal's writer, and without.
func TestShelfOfTapes(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestShelfOfTapes) {
		return
	}
	for _, journal := range []bool{true, false} {
		t.Run(fmt.Sprintf("journal=%v", journal), func(t *testing.T) {
			at := place(t)
			j := keeping(t, at, journal, replay.Options{MaxRunBytes: 4000})
			kept := func(id string) *replay.KeptTape {
				k, err := j.provider.Books().Tapes.Get(t.Context(), id)
				require.NoError(t, err)
				return k
			}
			var runs []string
			var bytes int
			for n := range 20 {
				_, o, err := j.try("Todo.upsert", fmt.Sprintf(`{"model":{"title":"Todo %d"}}`, n))
				require.NoError(t, err)
				runs = append(runs, o.Run)
				k := kept(o.Run)
				whole, err := replay.UnpackRun(k.Body)
				require.NoError(t, err)
				require.Equal(t, "koan::Todo.upsert", whole.Operation)
				bytes += len(k.Body)
			}
			_, o, err := j.try("Todo.collection", `{"filter":{"title":{"$ne":"`+strings.Repeat("x", 5000)+`"}}}`)
			require.NoError(t, err)
			require.Nil(t, kept(o.Run).Body)
			require.Contains(t, kept(o.Run).Why, "replay.maxRunBytes")
			_, o, err = j.try("Todo.collection", `{}`)
			require.NoError(t, err)
			j.stop()

			last := runs[len(runs)-1]
			j = keeping(t, at, journal, replay.Options{MaxBytes: int64(bytes * 3 / 4)})
			require.NotNil(t, kept(o.Run), "a graceful end writes what waits")
			require.Eventually(t, func() bool { return kept(runs[0]) == nil }, 10*time.Second, 10*time.Millisecond)
			require.NotNil(t, kept(last))
			j.stop()

			j = keeping(t, at, journal, replay.Options{Retention: time.Nanosecond})
			require.Eventually(t, func() bool { return kept(last) == nil }, 10*time.Second, 10*time.Millisecond)
			j.stop()
		})
	}
}

// A caller with many runs pushes out its own alone, however old those of others are.
func TestTapesOfACallerStayBesideAFlood(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestTapesOfACallerStayBesideAFlood) {
		return
	}
	at := place(t)
	j := keeping(t, at, true, replay.Options{})
	runs := func(subject string, n int) (ids []string, bytes int) {
		j.as.Subject = subject
		for range n {
			_, o, err := j.try("Todo.collection", `{}`)
			require.NoError(t, err)
			k, err := j.provider.Books().Tapes.Get(t.Context(), o.Run)
			require.NoError(t, err)
			require.Equal(t, subject, k.Subject)
			ids, bytes = append(ids, o.Run), bytes+len(k.Body)
		}
		return ids, bytes
	}
	little, few := runs("little", 5)
	flood, many := runs("flood", 40)
	j.stop()
	most := few + many/2
	j = keeping(t, at, true, replay.Options{MaxBytes: int64(most)})
	db := besideLedger(t, at)
	kept := func(subject string) (n, bytes int, last string) {
		q := "SELECT COUNT(*), COALESCE(SUM(size), 0), COALESCE(MAX(run), '') FROM koan_tapes WHERE subject = '" + subject + "'"
		require.NoError(t, db.QueryRow(q).Scan(&n, &bytes, &last))
		return n, bytes, last
	}
	require.Eventually(t, func() bool { n, _, _ := kept("flood"); return n < len(flood) }, 10*time.Second, 50*time.Millisecond)
	n, _, _ := kept("little")
	require.Equal(t, len(little), n, "the oldest of all, and less than an even share")
	n, bytes, last := kept("flood")
	require.LessOrEqual(t, few+bytes, most)
	require.Greater(t, n, 10)
	require.Equal(t, flood[len(flood)-1], last)
}

// Tapes that an earlier version kept without their callers are read, and go as one
// caller's.
func TestTapesOfAnEarlierVersion(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if forEach(t, TestTapesOfAnEarlierVersion) {
		return
	}
	at := place(t)
	j := keeping(t, at, true, replay.Options{})
	_, before, err := j.try("Todo.collection", `{}`)
	require.NoError(t, err)
	j.stop()
	db := besideLedger(t, at)
	for _, statement := range []string{
		"DROP INDEX koan_tapes_room", "ALTER TABLE koan_tapes DROP COLUMN subject", "CREATE INDEX koan_tapes_size ON koan_tapes (run, at, size)",
	} {
		_, err := db.Exec(statement)
		require.NoError(t, err, statement)
	}
	for range 2 {
		j = keeping(t, at, true, replay.Options{})
		k, err := j.provider.Books().Tapes.Get(t.Context(), before.Run)
		require.NoError(t, err)
		require.NotNil(t, k)
		require.Empty(t, k.Subject)
		_, now, err := j.try("Todo.collection", `{}`)
		require.NoError(t, err)
		k, err = j.provider.Books().Tapes.Get(t.Context(), now.Run)
		require.NoError(t, err)
		require.Equal(t, "local", k.Subject)
		j.stop()
	}
}
