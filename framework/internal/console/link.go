package console

import (
	"crypto/rand"
	"crypto/subtle"
	"sync"
	"time"
)

const (
	// linkTime is how long a link can be used, linkPause how often one is printed because
	// somebody asked for it.
	linkTime    = 15 * time.Minute
	linkMinutes = "15 minutes"
	linkPause   = 5 * time.Second
)

// links are the link by which the local operator signs in. There is one at a time, so
// that whoever asks for links makes no other invalid.
type links struct {
	clock   func() time.Time
	mu      sync.Mutex
	key     string // "" for none
	expires time.Time
	asked   time.Time
}

// current returns the key of the link, a new one if the last one is used up.
func (l *links) current() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := l.clock(); l.key == "" || !now.Before(l.expires) {
		l.key, l.expires = rand.Text(), now.Add(linkTime)
	}
	return l.key
}

// use uses the link up, and reports whether the key is its.
func (l *links) use(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key == "" || !l.clock().Before(l.expires) || subtle.ConstantTimeCompare([]byte(key), []byte(l.key)) != 1 {
		return false
	}
	l.key = ""
	return true
}

// restore makes a link that was used, and whose session could not be opened, usable again, for as long as it was.
func (l *links) restore(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key == "" {
		l.key = key
	}
}

// admit counts a wish for a link, or returns how long to wait before the next one.
func (l *links) admit() (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock()
	if wait = l.asked.Add(linkPause).Sub(now); wait > 0 {
		return wait
	}
	l.asked = now
	return 0
}
