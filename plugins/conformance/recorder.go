package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
)

// recorder counts what a process logs and prints, and hands it on.
type recorder struct {
	to slog.Handler // nil for nobody
	*counts
}

// counts are lines by where they come from.
type counts struct {
	mu      sync.Mutex
	entries map[slog.Level]int // of its log, with their levels
	plain   map[string]int     // text, by its stream
}

var _ slog.Handler = (*recorder)(nil)

func (*recorder) Enabled(context.Context, slog.Level) bool { return true }

func (r *recorder) Handle(ctx context.Context, record slog.Record) error {
	stream, call := "", false
	record.Attrs(func(a slog.Attr) bool {
		switch a.Key {
		case "stream":
			stream = a.Value.String()
		case "call", "function":
			call = true
		}
		return true
	})
	r.mu.Lock()
	switch {
	case stream != "":
		r.plain[stream]++
	case call:
		r.entries[record.Level]++
	}
	r.mu.Unlock()
	if r.to == nil || !r.to.Enabled(ctx, record.Level) {
		return nil
	}
	return r.to.Handle(ctx, record)
}

func (r *recorder) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *r
	if r.to != nil {
		next.to = r.to.WithAttrs(attrs)
	}
	return &next
}

func (r *recorder) WithGroup(name string) slog.Handler {
	next := *r
	if r.to != nil {
		next.to = r.to.WithGroup(name)
	}
	return &next
}

// output says what the process has printed and logged.
func (c *checker) output() {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	entries := 0
	for _, n := range c.log.entries {
		entries += n
	}
	f := Finding{Name: "log", OK: true, Detail: fmt.Sprintf(
		"entries with a level during calls: %d; lines of plain text: %d on standard error, %d on standard output", entries, c.log.plain["stderr"], c.log.plain["stdout"],
	)}
	if c.log.plain["stderr"]+c.log.plain["stdout"] > 0 {
		f.Hint = `Write one JSON object a line to standard error, {"@level": "info", "@message": "..."}: plain text has no level.`
	}
	c.findings = append(c.findings, f)
}
