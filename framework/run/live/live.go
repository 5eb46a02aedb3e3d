// Package live is the participant that knows which scripts this process runs now, and how far
// they are.
//
// What belongs here: what callers may learn of their own runs while they go on. Not here:
// how runs ended, which is the journal's, or anything that decides about a run.
package live

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

// Runs are the scripts that run now.
type Runs struct {
	mu   sync.Mutex
	runs map[string]*following
}

var _ run.Participant = (*Runs)(nil)

// New returns no runs.
func New() *Runs { return &Runs{runs: map[string]*following{}} }

// Open implements run.Participant.
func (l *Runs) Open(r *run.Run) (run.Part, error) {
	if !r.Scripted() {
		return nil, nil
	}
	return &following{runs: l, run: r}, nil
}

// Status is how far a run is.
type Status struct {
	Operation catalog.ID
	Started   time.Time
	Progress  *Progress // nil before the script has said anything
	Emitted   []json.RawMessage
}

// Progress is what a script said last of how far it is.
type Progress struct {
	Done    float64 `json:"done"`
	Total   float64 `json:"total,omitempty"`
	Message string  `json:"message,omitempty"`
}

// Find returns how far a run is to the caller of the code operation that ctx belongs to; ok is
// false where it is not under way in this process, or somebody else's.
func Find(ctx context.Context, id string) (s Status, ok bool) {
	l, ok := run.Joined[*Runs](ctx)
	if !ok {
		return Status{}, false
	}
	l.mu.Lock()
	f := l.runs[id]
	l.mu.Unlock()
	if f == nil || f.run.Principal().Subject != run.RequestOf(ctx).Principal.Subject {
		return Status{}, false
	}
	return f.status(), true
}

// following is one run.
type following struct {
	runs *Runs
	run  *run.Run
	id   string // under which it began

	mu       sync.Mutex
	progress *Progress
	emitted  []json.RawMessage
}

var (
	_ run.Beginner = (*following)(nil)
	_ run.Listener = (*following)(nil)
	_ run.Ender    = (*following)(nil)
)

// Begin implements run.Beginner.
func (f *following) Begin(context.Context) {
	f.runs.mu.Lock()
	defer f.runs.mu.Unlock()
	f.id = f.run.ID
	f.runs.runs[f.id] = f
}

// End implements run.Ender.
func (f *following) End(context.Context, *run.Conclusion) {
	f.runs.mu.Lock()
	defer f.runs.mu.Unlock()
	if f.runs.runs[f.id] == f { // somebody else may have taken the run over
		delete(f.runs.runs, f.id)
	}
}

// Progress implements run.Listener.
func (f *following) Progress(done, total float64, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.progress = &Progress{done, total, message}
}

// Emit implements run.Listener.
func (f *following) Emit(index int, value json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emitted = append(f.emitted[:min(index, len(f.emitted)):index], value)
}

func (f *following) status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Status{Operation: f.run.Operation().ID, Started: f.run.Started(), Progress: f.progress, Emitted: slices.Clone(f.emitted)}
}
