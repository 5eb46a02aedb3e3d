package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/follow"
	"github.com/koan-go/koan/framework/run/store"
)

// ChangeLog is what the engine's sets keep of their commits. Its settings are made before the
// first call.
type ChangeLog struct {
	Sealing ledger.Sealing // of values that nobody may read
	Keep    time.Duration
	MaxMb   int // of what each set keeps; 0 for no bound
	Logger  *slog.Logger
	// Off says why changes are not kept, "" where they are. That there was a commit is kept all
	// the same, so that nobody takes a gap for the whole.
	Off string
	// InData says that the sets of an app that opens its databases itself have a log.
	InData bool

	engine  *Engine
	commits atomic.Int64 // of this process

	mu      sync.Mutex
	told    []func()
	heads   map[string]follow.Head // the last that were read
	closed  bool
	pruning bool
	pruned  sync.WaitGroup
}

var _ follow.Log = (*ChangeLog)(nil)

// logsChanges reports whether sets have a change log: those of an app that opens its databases
// itself have one where the app wants it.
func (e *Engine) logsChanges() bool { return e.way != nil || e.Log.InData }

// Why there is nothing of a commit in the log.
const tooLarge = "they took more room than a run has for them (run.maxBytes)"

// writeReceipt keeps the receipt of a commit, and what it changed.
func (t *tx) writeReceipt(ctx context.Context, r store.Receipt) error {
	d := t.Backend.Dialect()
	if !t.engine.logsChanges() {
		return ledger.Write(ctx, d, t.SQL, r)
	}
	c := t.Logged
	if c.Images == nil && c.Missing == "" {
		switch {
		case t.engine.Log.Off != "":
			c.Missing = t.engine.Log.Off
		case !t.Attempt.KeepsImages():
			c.Missing = tooLarge
		}
	}
	return ledger.WriteCommit(ctx, d, t.SQL, r, c, t.engine.Log.Sealing)
}

// pruneEvery is after how many commits of this process it removes what is too old from the log
// of a set, weighEvery after how many what is too much: that takes a look at all of it.
const (
	pruneEvery = 64
	weighEvery = 64 * pruneEvery
)

// announce says that there is a new commit in a set. On a database whose transactions span
// sets, it is not there yet for all but the last of them.
func (e *Engine) announce(set string) {
	if !e.logsChanges() {
		return
	}
	e.Log.mu.Lock()
	told := e.Log.told
	e.Log.mu.Unlock()
	for _, fn := range told {
		fn()
	}
	if n := e.Log.commits.Add(1); n%pruneEvery == 1 {
		e.Log.startPruning(set, n%weighEvery == 1)
	}
}

// OnCommit implements follow.Log.
func (l *ChangeLog) OnCommit(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(slices.Clone(l.told), fn)
}

// Heads implements follow.Log.
func (l *ChangeLog) Heads(ctx context.Context) (map[string]follow.Head, error) {
	sets, err := l.engine.data.Backend.Sets(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]follow.Head{}
	for _, set := range sets {
		h, err := l.head(ctx, set)
		if err != nil {
			return nil, err
		}
		if h.Position > 0 {
			out[set] = h
		}
	}
	return out, nil
}

// Head implements follow.Log.
func (l *ChangeLog) Head(ctx context.Context, set string) (follow.Head, error) {
	if there, err := l.has(ctx, set); err != nil || !there {
		return follow.Head{}, err
	}
	return l.head(ctx, set)
}

func (l *ChangeLog) head(ctx context.Context, set string) (h follow.Head, err error) {
	err = l.in(ctx, set, func(q ledger.Querier) (err error) {
		l.mu.Lock()
		known := l.heads[set]
		l.mu.Unlock()
		if h, err = ledger.LastEntry(ctx, l.engine.data.Backend.Dialect(), q, known); err == nil && h != known {
			l.mu.Lock()
			if l.heads == nil {
				l.heads = map[string]follow.Head{}
			}
			l.heads[set] = h
			l.mu.Unlock()
		}
		return err
	})
	return h, err
}

// Entries implements follow.Log.
func (l *ChangeLog) Entries(ctx context.Context, set string, after int64, most int) (out []follow.Entry, err error) {
	if there, err := l.has(ctx, set); err != nil || !there {
		return nil, err
	}
	err = l.in(ctx, set, func(q ledger.Querier) (err error) {
		out, err = ledger.Entries(ctx, l.engine.data.Backend.Dialect(), q, set, after, most, l.Sealing)
		return err
	})
	return out, err
}

// Holds implements follow.Log.
func (l *ChangeLog) Holds(ctx context.Context, set string, h follow.Head) (holds bool, err error) {
	if there, err := l.has(ctx, set); err != nil || !there {
		return h.Position == 0, err
	}
	err = l.in(ctx, set, func(q ledger.Querier) (err error) {
		holds, err = ledger.Holds(ctx, l.engine.data.Backend.Dialect(), q, h)
		return err
	})
	return holds, err
}

// Retention implements follow.Log.
func (l *ChangeLog) Retention() string {
	return fmt.Sprintf("for %s (events.keepHours), and %d MB of them (events.maxMb)", l.Keep, l.MaxMb)
}

// has reports whether a set has data: what is used comes into being.
func (l *ChangeLog) has(ctx context.Context, set string) (bool, error) {
	if o, ok := l.engine.data.Backend.(database.Opener); ok && o.IsOpen(set) {
		return true, nil
	}
	return database.Has(ctx, l.engine.data.Backend, set)
}

// in runs fn on what is committed in a set.
func (l *ChangeLog) in(ctx context.Context, set string, fn func(ledger.Querier) error) error {
	d, _, release, err := l.engine.data.Backend.Use(ctx, set)
	if err != nil {
		return database.Fault(l.engine.data.Backend, set, err)
	}
	defer release()
	return database.Fault(l.engine.data.Backend, set, fn(d.DB()))
}

// pruneMost is how many entries are removed at once.
const pruneMost = 1000

// startPruning removes what is too old from the log of a set, in the background, and what is too
// much if it is to be weighed.
func (l *ChangeLog) startPruning(set string, weigh bool) {
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
func (l *ChangeLog) Close() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.pruned.Wait()
}

// Prune removes what is too old from the log of a set and, if it is weighed, what is too much.
func (l *ChangeLog) Prune(ctx context.Context, set string, weigh bool) error {
	d, _, release, err := l.engine.data.Backend.Use(ctx, set)
	if err != nil {
		return err
	}
	defer release()
	dialect, horizon := l.engine.data.Backend.Dialect(), ledger.Horizon{Since: time.Now().Add(-l.Keep)}
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
