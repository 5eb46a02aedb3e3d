package site

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

const (
	readyTime  = 2 * time.Second // for what readiness depends on to answer
	readyEvery = time.Second     // how often that is asked, however often we are
)

// ready responds whether calls can be served now, and if not, what is missing, one line
// each.
func (s *Site) ready(w http.ResponseWriter, r *http.Request) {
	if s.ending.Load() {
		http.Error(w, "shutting down", http.StatusServiceUnavailable)
		return
	}
	var missing []string
	if s.parts.Callers != nil {
		if err := s.parts.Callers.Ready(r.Context()); err != nil {
			missing = append(missing, err.Error())
		}
	}
	if errs := s.app.now(); len(errs) > 0 {
		missing = append(missing, messages(errs))
	}
	if len(missing) > 0 {
		http.Error(w, strings.Join(missing, "\n"), http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ready\n")
}

// readiness caches whether the app can serve, since each check queries a database.
type readiness struct {
	ask func(context.Context) error
	log *slog.Logger

	mu    sync.Mutex
	asked time.Time
	last  []*fault.Fault
}

// now returns why the app cannot serve. Each change is logged, with the causes, which the
// response does not have.
func (r *readiness) now() []*fault.Fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.asked.IsZero() && time.Since(r.asked) < readyEvery {
		return r.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyTime)
	defer cancel()
	missing := fault.All(r.ask(ctx))
	r.asked = time.Now()
	if messages(missing) != messages(r.last) {
		for _, f := range missing {
			r.log.Error("not ready: "+f.Message, "hint", f.Hint, "error", errors.Unwrap(f))
		}
		if len(missing) == 0 {
			r.log.Info("ready again")
		}
	}
	r.last = missing
	return missing
}

// messages are the public messages of faults, one line each.
func messages(faults []*fault.Fault) string {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = f.Message
	}
	return strings.Join(lines, "\n")
}
