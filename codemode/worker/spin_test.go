package worker

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSpin(t *testing.T) {
	var s Spin
	looks := 0
	never := func() bool { looks++; return false }
	require.False(t, s.Until(never))
	require.Equal(t, 1, looks, "the zero value looks once")

	synctest.Test(t, func(t *testing.T) {
		var s Spin
		s.Allow(time.Millisecond)
		slow := func() bool { looks++; time.Sleep(100 * time.Microsecond); return false }
		for range spinMisses {
			looks = 0
			require.False(t, s.Until(slow))
			require.Greater(t, looks, 5)
		}
		for range spinRest {
			looks = 0
			require.False(t, s.Until(slow))
			require.Equal(t, 1, looks, "who missed twice rests")
		}
		looks = 0
		require.True(t, s.Until(func() bool { time.Sleep(time.Microsecond); looks++; return looks == 3 }))
	})
}

func TestCPUTimeIsNeverNegative(t *testing.T) {
	var s Spin
	used := cpuGauge(&s)
	if used == nil {
		return // no gauge on this system
	}
	s.spent.Add(int64(time.Hour)) // as when the machine was busy with others meanwhile
	require.Zero(t, used())
}
