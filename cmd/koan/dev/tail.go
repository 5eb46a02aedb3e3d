package dev

import (
	"bytes"
	"io"
	"sync"
)

// tail passes on what is written, and knows the end of it.
type tail struct {
	to io.Writer
	mu sync.Mutex
	b  []byte
}

// remembered is how much of the end it knows.
const remembered = 8 << 10

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	t.b = t.b[max(0, len(t.b)-remembered):]
	return t.to.Write(p)
}

// has reports whether the end has a text in it.
func (t *tail) has(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Contains(t.b, []byte(text))
}

func (t *tail) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = nil
}
