package sandbox

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
)

func TestTurns(t *testing.T) {
	jobs := 1
	w := turns{crowd: func() int { return jobs }}
	require.Equal(t, 100*time.Millisecond, w.due(100*time.Millisecond), "alone, all of the time is its due")
	jobs = 4 * runtime.NumCPU()
	require.Equal(t, 150*time.Millisecond, w.due(400*time.Millisecond), "among four times as many jobs as cores, a sixth")
	jobs = runtime.NumCPU()
	require.Equal(t, 250*time.Millisecond, w.due(500*time.Millisecond))
}

func TestOverdueSaysWhatWasUsed(t *testing.T) {
	require.Contains(t, worker.Overdue(time.Second, time.Second).Message, "used more than 1000 ms")
	f := worker.Overdue(time.Second, 200*time.Millisecond)
	require.Contains(t, f.Message, "got 200 ms")
	require.Contains(t, f.Hint, "less is running")
	require.Equal(t, fault.Safe, f.Retry, "the same script may pass another time")
	require.Equal(t, map[string]any{"limit": "cpu", "limitMs": int64(1000)}, f.Details)
	f = worker.Overdue(time.Second, 900*time.Millisecond)
	require.Contains(t, f.Message, "got 900 ms")
	require.Equal(t, fault.Fix, f.Retry, "a script that used nearly all of its limit would pass it again")
	require.Equal(t, fault.Fix, worker.Overdue(time.Second, 500*time.Millisecond).Retry)
	require.Equal(t, fault.Safe, worker.Overdue(time.Second, 499*time.Millisecond).Retry)
}
