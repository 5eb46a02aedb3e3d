package sandbox

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// manners tells whether all threads of a worker yield, and leave a core, and whether none
// does either.
func manners(p *process) (all, none bool) {
	threads, _ := os.ReadDir("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/task")
	every, fewer := cores()
	all, none = len(threads) > 0, len(threads) > 0
	for _, t := range threads {
		tid, _ := strconv.Atoi(t.Name())
		var on unix.CPUSet
		attr, err := unix.SchedGetAttr(tid, 0)
		if err != nil || unix.SchedGetaffinity(tid, &on) != nil {
			return false, false
		}
		all = all && attr.Policy == unix.SCHED_IDLE && (on == fewer || fewer.Count() == 0)
		none = none && attr.Policy == unix.SCHED_NORMAL && on == every
	}
	return all, none
}

// TestModestWorkersYield: the worker of a modest job yields and leaves a core, with all
// of its threads, and nobody else's does.
func TestModestWorkersYield(t *testing.T) {
	s, err := New(Options{PoolSize: 1})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Warm(t.Context()))
	modest, err := s.pool.take(t.Context(), true)
	require.NoError(t, err)
	all, _ := manners(modest)
	require.True(t, all)
	normal, err := s.pool.take(t.Context(), false)
	require.NoError(t, err)
	_, none := manners(normal)
	require.True(t, none)
	after, err := s.pool.take(t.Context(), false)
	require.NoError(t, err)
	_, none = manners(after)
	require.True(t, none, "the thread that starts workers is as it was")
	for _, p := range []*process{modest, normal, after} {
		s.pool.discard(p)
	}
}

// TestFloodYieldsOnceThereAreOthers: workers that run already when another caller comes
// yield and leave a core from then on.
func TestFloodYieldsOnceThereAreOthers(t *testing.T) {
	s, err := New(Options{PoolSize: 1})
	require.NoError(t, err)
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	most := runtime.NumCPU() + 1
	ended := make(chan struct{}, most)
	for range most {
		go func() {
			j := job("for (;;);")
			j.Principal, j.Limits.CPUMs = "flood", 60_000
			_, _ = s.Execute(ctx, j, newHost())
			ended <- struct{}{}
		}()
	}
	running := func() (all []*process) {
		s.pool.mu.Lock()
		defer s.pool.mu.Unlock()
		for p := range s.pool.all {
			if !slices.Contains(s.pool.idle, p) {
				all = append(all, p)
			}
		}
		return all
	}
	require.Eventually(t, func() bool { return s.queue.crowd() == most }, 20*time.Second, time.Millisecond)
	j := job("1")
	j.Principal = "other"
	_, err = s.Execute(t.Context(), j, newHost())
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		aside := 0
		for _, p := range running() {
			if all, _ := manners(p); all {
				aside++
			}
		}
		return aside == most
	}, 20*time.Second, 10*time.Millisecond)
	stop()
	for range most {
		<-ended
	}
}
