package catalog

import (
	"slices"
	"sync"
	"sync/atomic"
)

// SecretList collects secrets as a provider learns of them. Reading takes no lock, since whoever writes
// to the log may hold any. It is safe for concurrent use; a nil one keeps nothing.
type SecretList struct {
	mu   sync.Mutex // held to write
	list atomic.Pointer[[]string]
}

// maxSecrets is how many secrets a list keeps, the latest ones: each costs something for every text that
// is redacted, and tokens that are renewed expire.
const maxSecrets = 512

// Add adds secrets, unless they are there or empty.
func (l *SecretList) Add(values ...string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.Secrets())
	for _, value := range values {
		if value != "" && !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	if n := len(all); n > maxSecrets {
		all = slices.Clone(all[n-maxSecrets:])
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
