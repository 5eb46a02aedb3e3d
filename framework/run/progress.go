package run

import (
	"slices"
	"sync"

	"github.com/koan-go/koan/framework/run/store"
)

// progress is what a run has done in all its attempts so far.
type progress struct {
	mu      sync.Mutex
	outside []CallRecord
	sets    []string       // the sets that its calls named or used
	pending sync.WaitGroup // outside calls that outlive their attempt
	// What calls have committed one by one, how often, and whether one of them wrote
	// something.
	applied []store.Change
	commits int
	wrote   bool
}

// NoteOutsideEffect records a call that had an effect outside.
func (p *progress) NoteOutsideEffect(rec CallRecord) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outside = append(p.outside, rec)
}

// OutsideEffects returns the calls so far that had an effect outside.
func (p *progress) OutsideEffects() []CallRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.outside)
}
