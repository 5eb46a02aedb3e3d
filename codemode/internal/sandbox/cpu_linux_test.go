package sandbox

import (
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCPUTimeIsNotClockTime runs more scripts at once than there are cores: each stays below
// its CPU limit although it takes longer in wall time.
func TestCPUTimeIsNotClockTime(t *testing.T) {
	s := box(t)
	alone := job("let n = 0; for (let i = 0; i < 1e6; i++) n += i; n")
	r, err := s.Execute(t.Context(), alone, newHost())
	require.NoError(t, err)
	require.Nil(t, r.Fault)
	crowd := 6 * runtime.NumCPU()
	limit := int(3*r.CPUMs) + 50 // less than the wall time when so many share the cores
	var wg sync.WaitGroup
	for range crowd {
		wg.Go(func() {
			j := *alone
			j.Limits.CPUMs = limit
			r, err := s.Execute(t.Context(), &j, newHost())
			if err != nil || r.Fault != nil {
				t.Errorf("%v %v", err, r.Fault)
			}
		})
	}
	wg.Wait()
}
