package admission

import (
	"sync"
	"time"
)

// rateLimiter bounds how many requests a principal sends: a bucket of as many as a
// minute's, which fills evenly (the generic cell rate algorithm: all that is kept
// of a principal is when its bucket will be full).
type rateLimiter struct {
	mu   *sync.Mutex
	full map[string]time.Time // by subject
}

func newRateLimiter() rateLimiter {
	return rateLimiter{mu: &sync.Mutex{}, full: map[string]time.Time{}}
}

// take counts a request, or returns how long to wait before the next one is allowed.
// perMinute 0 is no bound.
func (p rateLimiter) take(subject string, perMinute int, now time.Time) (wait time.Duration) {
	if perMinute <= 0 {
		return 0
	}
	each := time.Minute / time.Duration(perMinute)
	p.mu.Lock()
	defer p.mu.Unlock()
	full := p.full[subject]
	if full.Before(now) {
		full = now
	}
	if wait = full.Sub(now) - time.Duration(perMinute-1)*each; wait > 0 {
		return wait
	}
	p.full[subject] = full.Add(each)
	return 0
}

// evictFull drops principals whose bucket is full.
func (p rateLimiter) evictFull(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for subject, full := range p.full {
		if !full.After(now) {
			delete(p.full, subject)
		}
	}
}
