package catalog

import "sync"

// lease counts the runs that use a snapshot.
type lease struct {
	mu      sync.Mutex
	users   int
	retired bool
	closers []func()
}

// Lease keeps the resources of the snapshot's handlers until release is called. A run
// holds one from its beginning to its end.
func (s *Snapshot) Lease() (release func()) {
	l := &s.lease
	l.mu.Lock()
	defer l.mu.Unlock()
	l.users++
	var once sync.Once
	return func() {
		once.Do(func() {
			l.mu.Lock()
			l.users--
			l.mu.Unlock()
			l.end()
		})
	}
}

// Retire marks the snapshot as replaced. When its last lease has ended, each Offer.Closed
// is called.
func (s *Snapshot) Retire() {
	s.lease.mu.Lock()
	s.lease.retired = true
	s.lease.mu.Unlock()
	s.lease.end()
}

func (l *lease) end() {
	l.mu.Lock()
	var closers []func()
	if l.retired && l.users == 0 {
		closers, l.closers = l.closers, nil
	}
	l.mu.Unlock()
	for _, fn := range closers {
		fn()
	}
}
