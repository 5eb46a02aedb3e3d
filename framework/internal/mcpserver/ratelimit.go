package mcpserver

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
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

// rejectRate rejects a request without reading it, and says when the next one is allowed.
func (h *HTTP) rejectRate(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
	ms := int64(math.Ceil(float64(wait) / float64(time.Millisecond)))
	limit := h.now().RequestsPerMinute
	h.refuse(w, fault.Newf(fault.RateLimited, "more than %d requests in a minute; the next one is allowed in %d ms", limit, ms).
		WithDetails(map[string]any{"requestsPerMinute": limit, "retryAfterMs": ms}))
}
