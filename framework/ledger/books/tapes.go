package books

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run/replay"
)

// Tapes keeps the tapes of runs for replays, in the app's own tables. The journal's
// writer writes them, or a writer of their own if there is no journal.
type Tapes struct {
	owner  database.Owner
	log    *slog.Logger
	writer *ledger.Writer // nil where there is no journal, and nothing is going to be kept
	own    bool           // the writer has nothing else

	bounds  atomic.Pointer[tapeBounds] // nil where nothing is going to be kept
	trimmed time.Time                  // when it was last looked at, by the housekeeping alone

	mu     sync.Mutex
	opened *ledger.Tapes // for readers
}

// tapeBounds are how long tapes are kept, and how many bytes of them.
type tapeBounds struct {
	retention time.Duration
	most      int64
}

// trimEvery is how often old tapes are looked for, and tapesBeat how often one is
// reminded of that where there is no journal.
const (
	trimEvery = 10 * time.Second
	tapesBeat = 10 * time.Second
)

var _ replay.Shelf = (*Tapes)(nil)

func (t *Tapes) open(ctx context.Context) (*ledger.Tapes, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opened != nil {
		return t.opened, nil
	}
	db, err := t.owner.Own(ctx, ledger.TapeTables(t.owner.Dialect()))
	if err != nil {
		return nil, err
	}
	t.opened = ledger.NewTapes(db, t.owner.Dialect())
	return t.opened, nil
}

// close writes what is left.
func (t *Tapes) close(ctx context.Context) error {
	if t.own {
		t.writer.Close(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.opened == nil {
		return nil
	}
	return t.opened.Close()
}

// Bound implements replay.Shelf.
func (t *Tapes) Bound(retention time.Duration, most int64) {
	t.bounds.Store(&tapeBounds{retention, most})
	if t.writer != nil {
		t.writer.Tidy()
		return
	}
	open := func(ctx context.Context) (*ledger.Journal, error) {
		db, err := t.owner.Own(ctx, ledger.TapeTables(t.owner.Dialect()))
		if err != nil {
			return nil, err
		}
		return ledger.NewJournal(db, t.owner.Dialect(), "", 0), nil
	}
	t.own = true
	t.writer = ledger.NewWriter(open, tapesBeat, func(ctx context.Context, _ *ledger.Journal) {
		if err := t.trim(ctx); err != nil && ctx.Err() == nil {
			t.log.WarnContext(ctx, "expired tapes could not be removed", "error", err)
		}
	}, t.log)
}

// Take implements replay.Shelf.
func (t *Tapes) Take(k *replay.PendingTape) { t.writer.Take(k) }

// Get implements replay.Shelf.
func (t *Tapes) Get(ctx context.Context, id string) (*replay.KeptTape, error) {
	if t.writer != nil {
		wait, stop := context.WithTimeout(ctx, flushTime)
		t.writer.Flush(wait)
		stop()
	}
	l, err := t.open(ctx)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(shelving); ; {
		k, err := l.Get(ctx, id)
		if k != nil || err != nil || !startedRecently(id) || time.Now().After(end) {
			return k, err
		}
		select { // another process may be about to write it
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(shelving / 20):
		}
	}
}

// shelving is how long one waits for a run that another process may be about to write, and isFresh
// for how long after a run's start.
const (
	shelving = replay.Shelving
	isFresh  = 5 * time.Minute
)

// startedRecently reports whether a run, by its id, started not long ago.
func startedRecently(id string) bool {
	u, err := uuid.Parse(id)
	if err != nil || u.Version() != 7 {
		return false
	}
	sec, nsec := u.Time().UnixTime()
	age := time.Since(time.Unix(sec, nsec))
	return age > -time.Minute && age < isFresh
}

// trim removes what is too old and, if there is too much, the oldest.
func (t *Tapes) trim(ctx context.Context) error {
	b := t.bounds.Load()
	if b == nil || time.Since(t.trimmed) < trimEvery {
		return nil
	}
	t.trimmed = time.Now()
	l, err := t.open(ctx)
	if err != nil {
		return err
	}
	return l.Trim(ctx, time.Now().Add(-b.retention), b.most)
}

// formatBytes formats a number of bytes for people.
func formatBytes(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d KB", (bytes+1<<10-1)>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
}

// check reports to `doctor` how much is kept.
func (t *Tapes) check(ctx context.Context) catalog.Check {
	c := catalog.Check{Name: "replay"}
	l, err := t.open(ctx)
	if err == nil {
		var runs int
		var bytes int64
		if runs, bytes, err = l.Size(ctx); err == nil {
			c.OK, c.Detail = true, catalog.Counted(runs, "run")+" kept, "+formatBytes(bytes)
			return c
		}
	}
	c.Detail, c.Hint = "the tapes of runs cannot be read: "+err.Error(), "Check that the database can be written."
	return c
}
