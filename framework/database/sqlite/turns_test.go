package sqlite

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// Two folders on one path are to each other as two processes are.

// A process with many writers, each of which holds the file for long and comes again
// at once, lets another process have its turn.
func TestProcessesTakeTurns(t *testing.T) {
	ctx := context.Background()
	path, schema := t.TempDir(), things()
	busy, other := use(t, opened(t, path, schema), "default"), use(t, opened(t, path, schema), "default")
	const hold = 60 * time.Millisecond
	var stop atomic.Bool
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for !stop.Load() {
				tx, err := busy.Begin(ctx, nil, true)
				if err != nil {
					t.Error(err)
					return
				}
				time.Sleep(hold)
				if err := tx.Commit(ctx); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	time.Sleep(2 * hold)
	for range 5 {
		begun := time.Now()
		tx, err := other.Begin(ctx, nil, true)
		require.NoError(t, err)
		waited := time.Since(begun)
		require.NoError(t, tx.Commit(ctx))
		require.Less(t, waited, 20*hold, "it waits for who holds the file, perhaps for one more, and not for the crowd")
	}
	stop.Store(true)
	group.Wait()
}

// Who has read and now wants to write does not overtake the writer of another process
// that waits, and leaves nothing held.
func TestNobodyOvertakesTheNextInLine(t *testing.T) {
	ctx := context.Background()
	path, schema := t.TempDir(), things()
	d, other := use(t, opened(t, path, schema), "default"), use(t, opened(t, path, schema), "default")
	in, err := other.turns.line.try()
	require.NoError(t, err)
	require.True(t, in)
	reader := begin(t, d, false)
	read(t, reader)
	require.ErrorIs(t, reader.Write(ctx), store.ErrStale)
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, err = d.Begin(short, nil, true)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	other.turns.line.leave()
	require.NoError(t, reader.Write(ctx), "nobody wrote")
	require.NoError(t, reader.Commit(ctx))
	require.NoError(t, begin(t, other, true).Commit(ctx))
}

// Who catches that the set is busy may try again, and keeps nobody out meanwhile.
func TestABusyFileHoldsNobodyUp(t *testing.T) {
	ctx := context.Background()
	d := use(t, opened(t, t.TempDir(), things()), "default")
	foreign, err := d.db.BeginTx(ctx, nil) // as a program that knows of no turns
	require.NoError(t, err)
	tx := begin(t, d, false)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	require.Error(t, tx.Write(short))
	require.True(t, d.queue.try(), "nothing is held")
	d.queue.unlock()
	require.NoError(t, foreign.Rollback())
	require.NoError(t, tx.Write(ctx))
	require.NoError(t, insert(ctx, tx))
	require.NoError(t, tx.Commit(ctx))
}

func TestTurnsAreBoundedAndEndWithTheirProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "set")
	one, two := newTurns(path), newTurns(path)
	in, err := one.try()
	require.NoError(t, err)
	require.True(t, in)
	in, err = two.wait(t.Context(), time.Now().Add(10*time.Millisecond))
	require.NoError(t, err)
	require.False(t, in)
	in, err = two.line.try()
	require.NoError(t, err)
	require.True(t, in, "who gave up stands in no line")
	two.line.leave()
	require.NoError(t, one.close())
	in, err = two.wait(t.Context(), time.Now())
	require.NoError(t, err)
	require.True(t, in)
	two.end()
	two.end()
	require.NoError(t, two.close())
	lost := newTurns(filepath.Join(path, "no folder"))
	_, err = lost.try()
	require.Error(t, err)
	nobodys := newTurns("")
	for range 2 {
		in, err = nobodys.try()
		require.NoError(t, err)
		require.True(t, in)
	}
	d := &Database{set: "s", queue: queue{max: 1, patience: time.Minute}, turns: lost}
	_, err = d.lock(t.Context(), false)
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(d.tryLock()))
	require.True(t, d.queue.try())
	_, err = d.lock(canceled(), false)
	require.NotEqual(t, fault.SetBusy, fault.CodeOf(err))
}

func canceled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
