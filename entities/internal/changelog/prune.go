package changelog

import (
	"context"
	"time"

	"github.com/koan-go/koan/framework/ledger"
)

// pruneMost is how many entries are removed at once.
const pruneMost = 1000

// startPruning removes what is too old from the log of a set, in the background, and what is too
// much if it is to be weighed.
func (l *Log) startPruning(set string, weigh bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.pruning || l.Keep == 0 {
		return
	}
	l.pruning = true
	l.pruned.Go(func() {
		if err := l.Prune(context.Background(), set, weigh); err != nil {
			l.Logger.Warn("the change log of a set could not be tidied; retrying", "set", set, "error", err)
		}
		l.mu.Lock()
		l.pruning = false
		l.mu.Unlock()
	})
}

// Close waits for what runs in the background. Nothing is started after it.
func (l *Log) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.pruned.Wait()
}

// Prune removes what is too old from the log of a set and, if it is weighed, what is too much.
func (l *Log) Prune(ctx context.Context, set string, weigh bool) error {
	d, _, release, err := l.data.Backend().Use(ctx, set)
	if err != nil {
		return err
	}
	defer release()
	dialect, horizon := l.data.Backend().Dialect(), ledger.Horizon{Since: time.Now().Add(-l.Keep)}
	if horizon.Settled, err = ledger.Settled(ctx, dialect, d.DB()); err != nil {
		return err
	}
	if weigh && l.MaxMb > 0 {
		if horizon.After, err = ledger.NewestWithin(ctx, d.DB(), int64(l.MaxMb)<<20); err != nil {
			return err
		}
	}
	if old, err := ledger.PrunesChanges(ctx, dialect, d.DB(), horizon); err != nil || !old {
		return err // mostly there is nothing to do, which takes no lock
	}
	for n := pruneMost; n == pruneMost; {
		tx, err := d.Begin(ctx, nil, true)
		if err != nil {
			return err
		}
		n, err = ledger.PruneChanges(ctx, dialect, tx, horizon, pruneMost)
		if err == nil {
			err = tx.Commit(ctx)
		}
		if err != nil {
			_ = tx.Rollback(ctx)
			return err
		}
	}
	return nil
}
