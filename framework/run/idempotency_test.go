package run_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

func TestNoKeysWithoutALedger(t *testing.T) {
	h := newHouse(t, run.Options{})
	h.spec.IdempotencyKey = "k"
	_, err := h.script(t.Context(), func(context.Context, *run.Attempt) (run.Return, error) {
		t.Error("it ran")
		return run.Return{}, nil
	})
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	require.Equal(t, "/idempotencyKey", fault.From(err).Path)
}

// A call that another attempt makes at the same place is another occurrence: what
// is outside must not take it for the first one's repetition.
func TestOccurrence(t *testing.T) {
	tape := run.NewTape()
	one, two := [32]byte{1}, [32]byte{2}
	require.Equal(t, 0, tape.Occurrence("1", one))
	tape.RecordOutside("1", one, nil, nil)
	require.Equal(t, 1, tape.Occurrence("1", two))
	require.Equal(t, 0, tape.Occurrence("1", one))
	require.Equal(t, 0, tape.Occurrence("2", two))
	_, _, ok := tape.Outside("1", two)
	require.False(t, ok)
	tape.RecordOutside("1", two, []byte("2"), nil)
	_, _, ok = tape.Outside("1", one)
	require.True(t, ok, "the first way is not forgotten")
}
