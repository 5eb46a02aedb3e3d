package sandbox

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/framework/fault"
)

// ahead begins with a job of its own in a sandbox that is at rest.
func ahead(t *testing.T, s *Sandbox, ctx context.Context, j *wire.Job) (*anticipated, wire.Occasion) {
	t.Helper()
	require.NoError(t, s.Warm(t.Context()))
	o := j.Occasion
	j.Occasion = wire.Occasion{}
	a := s.Anticipate(ctx, j)
	require.NotNil(t, a)
	return a.(*anticipated), o
}

// atRest waits until nothing of a job is left.
func atRest(t *testing.T, s *Sandbox) {
	t.Helper()
	require.Eventually(t, func() bool {
		l := s.Load()
		return l.Running == 0 && l.Workers == l.Idle && l.Idle >= s.opts.PoolSize
	}, 20*time.Second, time.Millisecond)
}

func TestAnticipated(t *testing.T) {
	s, err := New(Options{})
	require.NoError(t, err)
	defer s.Close()

	t.Run("it runs as any other job", func(t *testing.T) {
		a, o := ahead(t, s, t.Context(), job(`interface T { title: string }; const t: T = SDK.Entities.Todo.getById("1"); [t.title, SDK.run.id]`))
		time.Sleep(20 * time.Millisecond)
		r, err := a.Execute(t.Context(), o, newHost())
		require.NoError(t, err)
		require.Nil(t, r.Fault)
		require.Contains(t, string(r.Result), o.RunID)
		atRest(t, s)
	})
	t.Run("what does not compile says so when it is executed", func(t *testing.T) {
		a, o := ahead(t, s, t.Context(), job("let a = ;"))
		time.Sleep(20 * time.Millisecond)
		r, err := a.Execute(t.Context(), o, newHost())
		require.NoError(t, err)
		require.Equal(t, fault.SyntaxError, r.Fault.Code)
	})
	t.Run("nobody wants it any more", func(t *testing.T) {
		a, _ := ahead(t, s, t.Context(), job("for (;;);"))
		a.Release()
		atRest(t, s)
	})
	t.Run("a compiler that takes too much meets the limits before the job is executed", func(t *testing.T) {
		j := job(strings.Repeat("(", 60<<10))
		j.Limits.CPUMs = 300
		a, o := ahead(t, s, t.Context(), j)
		select {
		case <-a.e.exited:
		case <-time.After(10 * time.Second):
			t.Fatal("it goes on")
		}
		r, err := a.Execute(t.Context(), o, newHost())
		require.NoError(t, err)
		require.Contains(t, []fault.Code{fault.MemoryExceeded, fault.Timeout}, r.Fault.Code)
		atRest(t, s)
	})
	t.Run("the script's time does not pass before it is executed", func(t *testing.T) {
		j := job("for (let i = 0; i < 1000; i++); 1")
		j.Limits.CPUMs = 200
		a, o := ahead(t, s, t.Context(), j)
		time.Sleep(time.Second)
		r, err := a.Execute(t.Context(), o, newHost())
		require.NoError(t, err)
		require.Nil(t, r.Fault)
	})
	t.Run("the caller leaves before it is executed", func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		a, o := ahead(t, s, ctx, job("1"))
		leave()
		r, err := a.Execute(ctx, o, newHost())
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, fault.Cancelled, r.Fault.Code)
		atRest(t, s)
	})
	t.Run("the caller leaves while it is executed", func(t *testing.T) {
		ctx, leave := context.WithCancel(t.Context())
		a, o := ahead(t, s, t.Context(), job("for (;;);"))
		time.AfterFunc(50*time.Millisecond, leave)
		_, err := a.Execute(ctx, o, newHost())
		require.ErrorIs(t, err, context.Canceled)
		atRest(t, s)
	})
	t.Run("somebody kills the worker before it took the job", func(t *testing.T) {
		j := job("6 * 7")
		a, o := ahead(t, s, t.Context(), j)
		_ = a.e.cmd.Process.Kill()
		<-a.e.exited
		r, err := a.Execute(t.Context(), o, newHost())
		require.NoError(t, err)
		if r.Fault == nil { // else it had taken the job
			require.JSONEq(t, "42", string(r.Result))
		}
		atRest(t, s)
	})
}

// TestAnticipateWaitsForNothing: where others run or wait, a job is not begun ahead
// of its turn.
func TestAnticipateWaitsForNothing(t *testing.T) {
	s, err := New(Options{PoolSize: 1})
	require.NoError(t, err)
	require.NoError(t, s.Warm(t.Context()))
	first, err := s.pool.take(t.Context(), false)
	require.NoError(t, err)
	for s.Load().Idle > 0 { // the last one is replaced at once
		p := s.pool.takeIdle()
		require.NotNil(t, p)
		defer s.pool.discard(p)
	}
	require.Nil(t, s.Anticipate(t.Context(), job("1")), "no worker is idle")
	require.Zero(t, s.Load().Running)
	s.pool.discard(first)
	require.NoError(t, s.Close())
	require.Nil(t, s.Anticipate(t.Context(), job("1")), "closed")
}

// TestTheEndOfTheEarlierContext: a job that is killed for it has not succeeded, though
// the context that came later has not heard of the end yet.
func TestTheEndOfTheEarlierContext(t *testing.T) {
	s, err := New(Options{})
	require.NoError(t, err)
	defer s.Close()
	ctx, leave := context.WithCancel(t.Context())
	a, o := ahead(t, s, ctx, job("for (;;);"))
	time.AfterFunc(20*time.Millisecond, leave)
	r, err := a.Execute(t.Context(), o, newHost())
	require.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, r.Fault)
	require.Equal(t, fault.Cancelled, r.Fault.Code)
	atRest(t, s)
}
