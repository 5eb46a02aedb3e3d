// Package changelog is what the sets of an app keep of their commits, for those who follow changes: it is
// written in the transactions of the data, read by position, pruned, and read with somebody's eyes.
//
// What belongs here: the log of a set, and who may see what of its entries, which it asks a view of
// package rules for. Not here: what a transaction has changed (package account), or how changes
// reach anybody (framework/internal/feed).
package changelog

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/follow"
	"github.com/koan-go/koan/framework/run/store"
)

// Data is what a log asks of the engine whose sets keep it.
type Data interface {
	// Backend returns the databases of the sets.
	Backend() database.Backend
	// Seen returns the entities as a view of the catalog shows them to who follows changes.
	Seen(v *catalog.View) *model.Model
	// ReadPast calls fn with what a reader may know of rows of a set as they were, in a transaction that
	// writes nothing.
	ReadPast(ctx context.Context, set string, r follow.Reader, fn func(context.Context, account.PastView) error) error
}

// New returns the log of an engine's sets.
func New(d Data) *Log { return &Log{data: d, Logger: slog.Default()} }

// Log is what sets keep of their commits. Its settings are made before the
// first call.
type Log struct {
	Sealing ledger.Sealing // of values that nobody may read
	Keep    time.Duration
	MaxMb   int // of what each set keeps; 0 for no bound
	Logger  *slog.Logger
	// Off says why changes are not kept, "" where they are. That there was a commit is kept all
	// the same, so that nobody takes a gap for the whole.
	Off string
	// InData says that the sets of an app that opens its databases itself have a log.
	InData bool

	data    Data
	commits atomic.Int64 // of this process

	mu      sync.Mutex
	told    []func()
	heads   map[string]follow.Head // the last that were read
	closed  bool
	pruning bool
	pruned  sync.WaitGroup
}

var _ follow.Log = (*Log)(nil)

// Why there is nothing of a commit in the log.
const tooLarge = "they took more room than a run has for them (run.maxBytes)"

// Write keeps the receipt of a commit in its transaction, and what it changed; full says that the run kept
// no more of that.
func (l *Log) Write(ctx context.Context, q ledger.Querier, r store.Receipt, c ledger.Changes, full bool) error {
	if c.Images == nil && c.Missing == "" {
		switch {
		case l.Off != "":
			c.Missing = l.Off
		case full:
			c.Missing = tooLarge
		}
	}
	return ledger.WriteCommit(ctx, l.data.Backend().Dialect(), q, r, c, l.Sealing)
}

// pruneEvery is after how many commits of this process it removes what is too old from the log
// of a set, weighEvery after how many what is too much: that takes a look at all of it.
const (
	pruneEvery = 64
	weighEvery = 64 * pruneEvery
)

// Announce says that there is a new commit in a set. On a database whose transactions span
// sets, it is not there yet for all but the last of them.
func (l *Log) Announce(set string) {
	l.mu.Lock()
	told := l.told
	l.mu.Unlock()
	for _, fn := range told {
		fn()
	}
	if n := l.commits.Add(1); n%pruneEvery == 1 {
		l.startPruning(set, n%weighEvery == 1)
	}
}

// OnCommit implements follow.Log.
func (l *Log) OnCommit(fn func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told = append(slices.Clone(l.told), fn)
}

// Heads implements follow.Log.
func (l *Log) Heads(ctx context.Context) (map[string]follow.Head, error) {
	sets, err := l.data.Backend().Sets(ctx)
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
func (l *Log) Head(ctx context.Context, set string) (follow.Head, error) {
	if there, err := l.has(ctx, set); err != nil || !there {
		return follow.Head{}, err
	}
	return l.head(ctx, set)
}

func (l *Log) head(ctx context.Context, set string) (h follow.Head, err error) {
	err = l.in(ctx, set, func(q ledger.Querier) (err error) {
		l.mu.Lock()
		known := l.heads[set]
		l.mu.Unlock()
		if h, err = ledger.LastEntry(ctx, l.data.Backend().Dialect(), q, known); err == nil && h != known {
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
func (l *Log) Entries(ctx context.Context, set string, after int64, most int) (out []follow.Entry, err error) {
	if there, err := l.has(ctx, set); err != nil || !there {
		return nil, err
	}
	err = l.in(ctx, set, func(q ledger.Querier) (err error) {
		out, err = ledger.Entries(ctx, l.data.Backend().Dialect(), q, set, after, most, l.Sealing)
		return err
	})
	return out, err
}

// Holds implements follow.Log.
func (l *Log) Holds(ctx context.Context, set string, h follow.Head) (holds bool, err error) {
	if there, err := l.has(ctx, set); err != nil || !there {
		return h.Position == 0, err
	}
	err = l.in(ctx, set, func(q ledger.Querier) (err error) {
		holds, err = ledger.Holds(ctx, l.data.Backend().Dialect(), q, h)
		return err
	})
	return holds, err
}

// Retention implements follow.Log.
func (l *Log) Retention() string {
	return fmt.Sprintf("for %s (events.keepHours), and %d MB of them (events.maxMb)", l.Keep, l.MaxMb)
}

// has reports whether a set has data: what is used comes into being.
func (l *Log) has(ctx context.Context, set string) (bool, error) {
	if o, ok := l.data.Backend().(database.Opener); ok && o.IsOpen(set) {
		return true, nil
	}
	return database.Has(ctx, l.data.Backend(), set)
}

// in runs fn on what is committed in a set.
func (l *Log) in(ctx context.Context, set string, fn func(ledger.Querier) error) error {
	d, _, release, err := l.data.Backend().Use(ctx, set)
	if err != nil {
		return database.Fault(l.data.Backend(), set, err)
	}
	defer release()
	return database.Fault(l.data.Backend(), set, fn(d.DB()))
}
