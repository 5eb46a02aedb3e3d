package admission

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/inflight"
)

// A call that waits for something outside leaves its slot to others, and its input counted.
func TestSuspendedCallLeavesItsSlot(t *testing.T) {
	t.Parallel()
	var g CallGate
	first, _ := g.Enter(1)
	require.NotNil(t, first)
	_, ok := first.AddBytes(10, 10)
	require.True(t, ok)
	full, running := g.Enter(1)
	require.Nil(t, full)
	require.Equal(t, 1, running)

	ctx := inflight.With(t.Context(), first)
	back, again := inflight.Suspend(ctx), inflight.Suspend(ctx) // two calls of one script
	require.Zero(t, g.Running())
	second, running := g.Enter(1)
	require.Equal(t, 1, running)
	_, ok = second.AddBytes(1, 10)
	require.False(t, ok)
	back()
	require.Equal(t, 1, g.Running(), "one of them still waits")
	again()
	require.Equal(t, 2, g.Running())
	second.Leave()
	first.Leave()
	first.Leave()
	require.Zero(t, g.Running())
	require.Zero(t, g.bytes)
	require.True(t, g.idle())
}

func TestCallThatLeavesWhileSuspended(t *testing.T) {
	t.Parallel()
	var g CallGate
	s, _ := g.Enter(1)
	back := s.Suspend()
	require.False(t, g.idle())
	s.Leave()
	back()
	require.True(t, g.idle())
	require.Zero(t, g.Running())
}
