package sandbox

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestRefillDisturbsNobody: a worker is not replaced at once while another one is
// ready, but the last one is, and no worker stays unreplaced under a long script.
func TestRefillDisturbsNobody(t *testing.T) {
	s, err := New(Options{PoolSize: 2})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Warm(t.Context()))
	state := func() (idle, starting int) {
		s.pool.mu.Lock()
		defer s.pool.mu.Unlock()
		return len(s.pool.idle), s.pool.starting.idle
	}
	first, err := s.pool.take(t.Context(), false)
	require.NoError(t, err)
	idle, starting := state()
	require.Equal(t, []int{1, 0}, []int{idle, starting}, "another one is ready")
	s.pool.discard(first)
	require.Eventually(t, func() bool { idle, _ := state(); return idle == 2 }, 20*time.Second, time.Millisecond, "what has ended is replaced")

	long := make(chan error, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		_, err := s.Execute(ctx, job(`for (;;);`), newHost())
		long <- err
	}()
	require.Eventually(t, func() bool { idle, _ := state(); return idle == 1 }, 20*time.Second, 100*time.Microsecond, "it has its worker")
	require.Eventually(t, func() bool { idle, _ := state(); return idle == 2 }, 2*time.Second, time.Millisecond, "a long script does not leave the pool short")
	stop()
	require.ErrorIs(t, <-long, context.Canceled)

	second, err := s.pool.take(t.Context(), false)
	require.NoError(t, err)
	last, err := s.pool.take(t.Context(), false)
	require.NoError(t, err)
	require.Eventually(t, func() bool { idle, starting := state(); return idle+starting > 0 }, 20*time.Second, time.Millisecond, "nobody may find the pool empty for long")
	s.pool.discard(second)
	s.pool.discard(last)
	require.NoError(t, s.Warm(t.Context()))
}

// TestPoolKeepsNoMoreThanItShould: workers that were started for jobs which did not
// wait for them are ended again.
func TestPoolKeepsNoMoreThanItShould(t *testing.T) {
	s, err := New(Options{PoolSize: 1})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Warm(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var impatient sync.WaitGroup
	for range 20 {
		impatient.Go(func() {
			if p, err := s.pool.take(ctx, true); err == nil { // modest: the pool does not grow for it
				s.pool.discard(p)
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	cancel()
	impatient.Wait()
	require.Eventually(t, func() bool {
		s.pool.mu.Lock()
		defer s.pool.mu.Unlock()
		return s.pool.starting == starting{} && len(s.pool.idle) == 1 && len(s.pool.all) == 1
	}, 20*time.Second, time.Millisecond)
}

// TestCallersWhoGoLeaveNoWorker: a job whose caller leaves at the very moment in
// which it gets its worker gives it back.
func TestCallersWhoGoLeaveNoWorker(t *testing.T) {
	s, err := New(Options{PoolSize: 1})
	require.NoError(t, err)
	defer s.Close()
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 20 {
		require.NoError(t, s.Warm(t.Context()))
		_, err := s.handOver(gone, job("1"), newHost(), &ticket{})
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Eventually(t, func() bool {
		s.pool.mu.Lock()
		defer s.pool.mu.Unlock()
		return s.pool.starting == starting{} && len(s.pool.idle) == len(s.pool.all)
	}, 20*time.Second, time.Millisecond)
}

// TestWhoWaitsGetsAHurriedWorker: a job that finds the pool empty does not wait for
// a rehearsal, and its script runs as any other.
func TestWhoWaitsGetsAHurriedWorker(t *testing.T) {
	s, err := New(Options{PoolSize: 1})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Warm(t.Context()))
	hurried := func(p *process) bool { return slices.Contains(p.cmd.Args, "hurried") }
	first, err := s.pool.take(t.Context(), false)
	require.NoError(t, err)
	require.False(t, hurried(first), "there was time")
	second, err := s.pool.take(t.Context(), false)
	require.NoError(t, err)
	third, err := s.pool.take(t.Context(), false)
	require.NoError(t, err)
	require.True(t, hurried(second) || hurried(third))
	for _, p := range []*process{first, second, third} {
		s.pool.discard(p)
	}
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			r, err := s.Execute(t.Context(), job("enum E { A = 20 }\nexport default E.A + 1"), newHost())
			if assert.NoError(t, err) && assert.Nil(t, r.Fault) {
				assert.JSONEq(t, "21", string(r.Result))
			}
		})
	}
	all.Wait()
}
