package catalog

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// SecretList collects secrets as a provider learns of them. Reading takes no lock, since whoever writes
// to the log may hold any. It is safe for concurrent use; a nil one keeps nothing.
type SecretList struct {
	mu       sync.Mutex            // held to write
	added    []string              // for good
	byHolder map[string][][]string // by their holder, the last ones first
	list     atomic.Pointer[[]string]
}

// maxRenewals is how many times the secrets of a holder may be renewed before they are forgotten: calls that
// began with older ones may still be under way.
const maxRenewals = 3

// Add adds secrets for good, unless they are there or empty: those of a configuration.
func (l *SecretList) Add(values ...string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.added = append(l.added, values...)
	l.publish()
}

// Renew adds the secrets that somebody holds now, such as the tokens of a sign-in. Older ones of the same
// holder are forgotten after some more, so that the list grows with holders and not with time.
func (l *SecretList) Renew(holder string, values ...string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	last := l.byHolder[holder]
	if len(last) > 0 && slices.Equal(last[0], values) {
		return
	}
	if l.byHolder == nil {
		l.byHolder = map[string][][]string{}
	}
	l.byHolder[holder] = append([][]string{slices.Clone(values)}, last[:min(len(last), maxRenewals-1)]...)
	l.publish()
}

// publish makes the list that is read. The caller holds the lock.
func (l *SecretList) publish() {
	known := map[string]bool{"": true}
	var all []string
	add := func(values []string) {
		for _, value := range values {
			if !known[value] {
				known[value] = true
				all = append(all, value)
			}
		}
	}
	add(l.added)
	l.added = slices.Clone(all)
	for _, holder := range slices.Sorted(maps.Keys(l.byHolder)) {
		for _, values := range l.byHolder[holder] {
			add(values)
		}
	}
	l.list.Store(&all)
}

// Secrets returns them. They must not be changed.
func (l *SecretList) Secrets() []string {
	if l == nil {
		return nil
	}
	if list := l.list.Load(); list != nil {
		return *list
	}
	return nil
}
