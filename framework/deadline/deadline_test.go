package deadline

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var errUp = errors.New("time is up")

func causeUp() error { return errUp }

func TestDeadlineExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := WithTimeout(t.Context(), time.Second, causeUp)
		defer stop()
		inner, cancel := context.WithCancel(ctx)
		defer cancel()
		end, ok := Of(inner)
		require.True(t, ok)
		require.Equal(t, time.Second, time.Until(end))
		time.Sleep(time.Second)
		synctest.Wait()
		require.Equal(t, context.DeadlineExceeded, ctx.Err())
		require.Error(t, inner.Err())
		require.Equal(t, errUp, context.Cause(inner))
	})
}

func TestPausePostponesDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outer, stop := WithTimeout(t.Context(), 3*time.Second, causeUp)
		defer stop()
		ctx, stopInner := WithTimeout(outer, time.Second, func() error { return errors.New("inner") })
		defer stopInner()
		time.Sleep(900 * time.Millisecond)
		first := Pause(context.WithoutCancel(ctx))
		second := Pause(ctx)
		time.Sleep(time.Hour)
		first()
		first()
		time.Sleep(time.Hour)
		synctest.Wait()
		require.NoError(t, ctx.Err(), "one still waits")
		end, _ := Of(ctx)
		require.Equal(t, 100*time.Millisecond, time.Until(end))
		second()
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		require.EqualError(t, context.Cause(ctx), "inner")
		require.NoError(t, outer.Err())
		time.Sleep(2 * time.Second)
		synctest.Wait()
		require.Equal(t, context.DeadlineExceeded, outer.Err())
		Pause(outer)()
		require.Equal(t, context.DeadlineExceeded, outer.Err())
	})
}

func TestNestedLongerDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := WithTimeout(t.Context(), time.Second, causeUp)
		defer stop()
		longer, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		defer Pause(ctx)()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, context.DeadlineExceeded, longer.Err())
		require.NoError(t, ctx.Err())
	})
}

func TestCancelIsNotTimeout(t *testing.T) {
	ctx, stop := WithTimeout(t.Context(), time.Hour, causeUp)
	stop()
	require.Equal(t, context.Canceled, ctx.Err())
	Pause(ctx)()
	Pause(t.Context())()
}
