package entities_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run"
)

// keeping starts the app with an engine that keeps every run for a replay.
func keeping(t *testing.T, place string, journal bool, o run.TapeOptions) *journaled {
	j := startJournaled(t, place, map[string]any{"journal.enabled": journal, "journal.expose": journal})
	o.Keep = run.KeepAll
	j.engine = run.NewEngine(run.Options{Journal: j.provider.Journal(), Tapes: o})
	j.engine.KeepTapes(j.provider.Shelf())
	return j
}

// What is kept of runs comes back at once and after a start, goes when it is old, and
// the oldest go where it is too much; with the journal's writer, and without.
func TestShelfOfTapes(t *testing.T) {
	if forEach(t, TestShelfOfTapes) {
		return
	}
	for _, journal := range []bool{true, false} {
		t.Run(fmt.Sprintf("journal=%v", journal), func(t *testing.T) {
			at := place(t)
			j := keeping(t, at, journal, run.TapeOptions{MaxRunBytes: 4000})
			kept := func(id string) *run.KeptTape {
				k, err := j.provider.Shelf().Get(t.Context(), id)
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
				whole, err := run.UnpackRun(k.Body)
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
			j = keeping(t, at, journal, run.TapeOptions{MaxBytes: int64(bytes * 3 / 4)})
			require.NotNil(t, kept(o.Run), "a graceful end writes what waits")
			require.Eventually(t, func() bool { return kept(runs[0]) == nil }, 10*time.Second, 10*time.Millisecond)
			require.NotNil(t, kept(last))
			j.stop()

			j = keeping(t, at, journal, run.TapeOptions{Retention: time.Nanosecond})
			require.Eventually(t, func() bool { return kept(last) == nil }, 10*time.Second, 10*time.Millisecond)
			j.stop()
		})
	}
}
