package koantest

import (
	"io"
	"sync"
	"testing"
)

// testLog writes the app's log into the output of its test, which shows it where the test fails or runs
// with -v. What is logged after the test is dropped: testing would panic.
type testLog struct {
	mu sync.Mutex
	to io.Writer
}

func logOf(tb testing.TB) io.Writer {
	l := &testLog{to: tb.Output()}
	tb.Cleanup(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.to = io.Discard
	})
	return l
}

// Write implements io.Writer.
func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}
