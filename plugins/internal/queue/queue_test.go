package queue

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestCallsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(2)
		begin := time.Now()
		var all sync.WaitGroup
		for range 6 {
			all.Go(func() {
				leave, err := q.Enter(t.Context(), "it")
				if err != nil {
					t.Error(err)
					return
				}
				defer leave()
				time.Sleep(time.Second)
			})
		}
		all.Wait()
		require.Equal(t, 3*time.Second, time.Since(begin))
	})
}

func TestWaitingEnds(t *testing.T) {
	t.Parallel()
	q := New(1)
	leave, err := q.Enter(t.Context(), "it")
	require.NoError(t, err)
	why := errors.New("nobody waits")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	_, err = q.Enter(ctx, "it")
	require.ErrorIs(t, err, why)
	leave()
	leave, err = q.Enter(t.Context(), "it")
	require.NoError(t, err)
	leave()
}

func TestTooManyWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := New(1)
		leave, err := q.Enter(t.Context(), "it")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		for range MaxWaiting {
			go func() { _, _ = q.Enter(ctx, "it") }()
		}
		synctest.Wait()
		_, err = q.Enter(t.Context(), "the plugin mail")
		require.Equal(t, fault.QueueOverloaded, fault.CodeOf(err))
		require.ErrorContains(t, err, "the plugin mail has 1 calls in flight")
		cancel()
		synctest.Wait()
		leave()
		_, err = q.Enter(t.Context(), "it")
		require.NoError(t, err)
	})
}
