package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestOverdueNamesUsedTime(t *testing.T) {
	require.Contains(t, Overdue(time.Second, time.Second).Message, "used more than 1000 ms")
	f := Overdue(time.Second, 200*time.Millisecond)
	require.Contains(t, f.Message, "got 200 ms")
	require.Contains(t, f.Hint, "less is running")
	require.Equal(t, fault.Safe, f.Retry, "the same script may succeed another time")
	require.Equal(t, map[string]any{"limit": "cpu", "limitMs": int64(1000)}, f.Details)
	f = Overdue(time.Second, 900*time.Millisecond)
	require.Contains(t, f.Message, "got 900 ms")
	require.Equal(t, fault.Fix, f.Retry, "a script that used nearly all of its limit would exceed it again")
	require.Equal(t, fault.Fix, Overdue(time.Second, 500*time.Millisecond).Retry)
	require.Equal(t, fault.Safe, Overdue(time.Second, 499*time.Millisecond).Retry)
}

func TestSizeIsExact(t *testing.T) {
	for n, want := range map[int64]string{64 << 20: "64 MB", 1000: "1000 bytes", 1 << 20: "1 MB", 1536 << 10: "1536 KB", 1<<20 + 1: "1048577 bytes"} {
		require.Equal(t, want, size(n))
	}
}
