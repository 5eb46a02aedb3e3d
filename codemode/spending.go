package codemode

import (
	"context"
	"sync"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// spending is what the jobs of the actions that a script calls have used, in one attempt. They
// have the script's limits, and count towards them.
type spending struct {
	limits wire.Limits

	mu    sync.Mutex
	cpuMs float64
	peak  int64
}

type spendingKey struct{}

func withSpending(ctx context.Context, s *spending) context.Context {
	return context.WithValue(ctx, spendingKey{}, s)
}

// spendingOf returns that of the script around an action; nil if the action is not called by
// a script.
func spendingOf(ctx context.Context) *spending {
	s, _ := ctx.Value(spendingKey{}).(*spending)
	return s
}

// admit refuses a further job where nothing is left for it.
func (s *spending) admit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.exceeded(s.cpuMs)
}

func (s *spending) add(r *wire.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cpuMs += r.CPUMs
	s.peak = max(s.peak, r.PeakMemory)
}

// addTo adds it to the script's own. A script that has used more than its limit together with
// its actions fails.
func (s *spending) addTo(r *wire.Result, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cpuMs == 0 {
		return err
	}
	r.CPUMs += s.cpuMs
	r.PeakMemory = max(r.PeakMemory, s.peak)
	if err == nil && r.Fault == nil {
		err = s.exceeded(r.CPUMs)
	}
	return err
}

func (s *spending) exceeded(cpuMs float64) error {
	if cpuMs <= float64(s.limits.CPUMs) {
		return nil
	}
	return fault.Newf(fault.Timeout, "the script and its actions used more than %d ms of CPU time", s.limits.CPUMs).
		WithDetails(map[string]any{"limit": "cpu", "cpuMs": s.limits.CPUMs})
}
