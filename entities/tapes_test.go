package entities_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/specimen/ent"
	"github.com/koan-go/koan/framework/run"
)

// What is kept of runs comes back, goes when it is old, and the oldest go where it is
// too much.
func TestShelfOfTapes(t *testing.T) {
	if forEach(t, TestShelfOfTapes) {
		return
	}
	shelf := start(t, ent.Entities()).provider.Shelf()
	now := time.Now().UTC().Truncate(time.Millisecond)
	tape := func(n int) run.KeptTape {
		return run.KeptTape{Run: fmt.Sprintf("run-%03d", n), At: now.Add(time.Duration(n) * time.Minute), Operation: "o", Outcome: "ok", Bytes: 500, Body: make([]byte, 100)}
	}
	var all []run.KeptTape
	for n := range 100 {
		all = append(all, tape(n))
	}
	require.NoError(t, shelf.Put(t.Context(), all))
	got, err := shelf.Get(t.Context(), "run-042")
	require.NoError(t, err)
	require.Equal(t, all[42], *got)
	large := run.KeptTape{Run: "run-042", At: now.Add(42 * time.Minute), Operation: "o", Outcome: "ok", Bytes: 5e6, Why: "too large"}
	require.NoError(t, shelf.Put(t.Context(), []run.KeptTape{large}))
	got, err = shelf.Get(t.Context(), "run-042")
	require.NoError(t, err)
	require.Nil(t, got.Body)
	require.Equal(t, "too large", got.Why)

	left := func() (n int) {
		for i := range 100 {
			got, err := shelf.Get(t.Context(), fmt.Sprintf("run-%03d", i))
			require.NoError(t, err)
			if got != nil {
				n++
			}
		}
		return n
	}
	require.NoError(t, shelf.Trim(t.Context(), now.Add(-time.Hour), 1<<20))
	require.Equal(t, 100, left())
	require.NoError(t, shelf.Trim(t.Context(), now.Add(30*time.Minute), 1<<20))
	require.Equal(t, 70, left())
	require.NoError(t, shelf.Trim(t.Context(), now, 1000))
	require.Equal(t, 10, left())
	require.NoError(t, shelf.Trim(t.Context(), now.Add(time.Hour*1000), 0))
	require.Zero(t, left())
	require.NoError(t, shelf.Trim(t.Context(), now, 0), "of nothing")
}
