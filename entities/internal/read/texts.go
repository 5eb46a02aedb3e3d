package read

import "sync"

// How many shapes are kept, how long one is at most, and how long all of them are
// together, in bytes: inputs decide about shapes, so the store must not grow with them.
const (
	maxTexts     = 4096
	maxText      = 16 << 10
	maxTextBytes = 4 << 20
)

// statementTexts keeps one string per statement shape, so that a known shape costs no
// memory and drivers find their prepared statement by it.
type statementTexts struct {
	mu    sync.RWMutex
	known map[string]string
	bytes int
}

func (t *statementTexts) intern(text []byte) string {
	t.mu.RLock()
	s, ok := t.known[string(text)]
	t.mu.RUnlock()
	if ok {
		return s
	}
	s = string(text)
	if len(s) > maxText {
		return s
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTexts || t.bytes+len(s) > maxTextBytes {
		t.known, t.bytes = map[string]string{}, 0
	}
	t.known[s] = s
	t.bytes += len(s)
	return s
}
