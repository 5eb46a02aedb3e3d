package database

import (
	"context"
	"errors"
	"sync"

	"github.com/koan-go/koan/framework/fault"
)

// Opened are the sets of a backend that are open: opened at their first use, and
// closed when too many are open and nobody has used them for the longest time. It
// is safe for concurrent use.
type Opened struct {
	most  int
	open  func(ctx context.Context, set string) (Database, any, error)
	close func(Database) error

	mu      sync.Mutex
	entries map[string]*opened
	clock   int64
}

// opened is one set that is open or being opened.
type opened struct {
	ready    chan struct{} // closed when opened
	err      error
	database Database
	attached any
	users    int
	used     int64
}

// NewOpened keeps at most so many idle sets open.
func NewOpened(most int, open func(ctx context.Context, set string) (Database, any, error), close func(Database) error) *Opened {
	return &Opened{most: most, open: open, close: close, entries: map[string]*opened{}}
}

// Use is Backend.Use. Whoever comes while a set is being opened waits for that; a
// set that could not be opened is tried again by the next who wants it.
func (o *Opened) Use(ctx context.Context, set string) (d Database, attached any, release func(), err error) {
	if !ValidSet(set) {
		return nil, nil, nil, fault.Newf(fault.UnknownSet, "%q is not a valid name of a set", set)
	}
	o.mu.Lock()
	e, ok := o.entries[set]
	if !ok {
		e = &opened{ready: make(chan struct{})}
		o.entries[set] = e
	}
	e.users++
	if !ok {
		e.users++ // the opening itself: whoever waits for it may go away
		go func() {
			e.err = fault.Guard(func() (err error) { // code of the app connects to the set, fills and upgrades it
				e.database, e.attached, err = o.open(context.WithoutCancel(ctx), set)
				return err
			})
			if e.err != nil {
				o.dropFailed(set, e)
			}
			close(e.ready)
			o.release(e)
		}()
	}
	o.mu.Unlock()
	select {
	case <-e.ready:
	case <-ctx.Done():
		o.release(e)
		return nil, nil, nil, ctx.Err()
	}
	if e.err != nil {
		o.release(e)
		return nil, nil, nil, e.err
	}
	var once sync.Once
	return e.database, e.attached, func() { once.Do(func() { o.release(e) }) }, nil
}

// Has reports whether a set is open or being opened.
func (o *Opened) Has(set string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.entries[set]
	return ok
}

// Database returns a set that is open, nil for another.
func (o *Opened) Database(set string) Database {
	o.mu.Lock()
	e := o.entries[set]
	o.mu.Unlock()
	if e == nil {
		return nil
	}
	select {
	case <-e.ready:
		return e.database
	default:
		return nil
	}
}

// Adopt takes over a set that was opened elsewhere. ok is false where it is open
// already.
func (o *Opened) Adopt(set string, d Database, attached any) (ok bool) {
	e := &opened{ready: make(chan struct{}), database: d, attached: attached, users: 1}
	close(e.ready)
	o.mu.Lock()
	if _, there := o.entries[set]; there {
		o.mu.Unlock()
		return false
	}
	o.entries[set] = e
	o.mu.Unlock()
	o.release(e)
	return true
}

// dropFailed takes out a set that could not be opened.
func (o *Opened) dropFailed(set string, e *opened) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.entries[set] == e {
		delete(o.entries, set)
	}
}

// release ends a use, and closes what was idle the longest when too many sets
// are open.
func (o *Opened) release(e *opened) {
	o.mu.Lock()
	e.users--
	o.clock++
	e.used = o.clock
	idle := o.removeSurplus()
	o.mu.Unlock()
	// Closing may write to the disk: nobody else waits for it.
	for _, d := range idle {
		_ = o.close(d)
	}
}

// removeSurplus takes out the sets that are to be closed. The caller holds the lock.
func (o *Opened) removeSurplus() (idle []Database) {
	for len(o.entries) > o.most {
		oldest := ""
		for name, e := range o.entries {
			if e.users == 0 && (oldest == "" || e.used < o.entries[oldest].used) {
				oldest = name
			}
		}
		if oldest == "" {
			break
		}
		idle = append(idle, o.entries[oldest].database)
		delete(o.entries, oldest)
	}
	return idle
}

// Len is how many sets are open.
func (o *Opened) Len() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.entries)
}

// Close closes all sets. Nobody may use them any more.
func (o *Opened) Close() error {
	o.mu.Lock()
	entries := o.entries
	o.entries = map[string]*opened{}
	o.mu.Unlock()
	var errs []error
	for _, e := range entries {
		<-e.ready
		if e.database != nil {
			errs = append(errs, o.close(e.database))
		}
	}
	return errors.Join(errs...)
}
