package budget

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// A run is told to try again only where it would have room once the others have ended.
func TestWhoIsInTheWay(t *testing.T) {
	b := New(100, 80)
	one, other := b.Open(), b.Open()
	require.NoError(t, other.Take(30))
	require.NoError(t, one.Take(50))
	for _, c := range []struct {
		more  int64
		retry fault.Retry
		about string
	}{
		{30, fault.Safe, "all runs together (run.maxTotalMb)"},
		{31, fault.Fix, "this run (run.maxTotalMb)"},
		{50, fault.Fix, "this run (run.maxTotalMb)"},
		{51, fault.Fix, "this run (run.maxBytes)"},
	} {
		f := fault.From(one.Take(c.more))
		require.Equal(t, fault.MemoryExceeded, f.Code)
		require.Equal(t, c.retry, f.Retry, c.about)
		require.Contains(t, f.Message, c.about)
	}
	other.Close()
	require.NoError(t, one.Take(30))
}
