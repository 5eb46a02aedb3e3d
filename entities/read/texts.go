package read

import "sync"

// maxTexts bounds how many shapes are kept; inputs decide about shapes, so the
// store must not grow with them.
const maxTexts = 4096

// texts keeps one string per statement shape, so that a known shape costs no
// memory and drivers find their prepared statement by it.
type texts struct {
	mu    sync.RWMutex
	known map[string]string
}

func (t *texts) intern(text []byte) string {
	t.mu.RLock()
	s, ok := t.known[string(text)]
	t.mu.RUnlock()
	if ok {
		return s
	}
	s = string(text)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil || len(t.known) >= maxTexts {
		t.known = map[string]string{}
	}
	t.known[s] = s
	return s
}
