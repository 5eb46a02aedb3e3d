// Package progress is what a run has done in all its attempts so far.
//
// What belongs here: what an attempt that is rolled back does not undo, and what is committed. Not here:
// what is done in an attempt until then.
package progress

import (
	"slices"
	"sync"

	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/store"
)

// Progress is that of one run. It is safe for concurrent use.
type Progress struct {
	Pending sync.WaitGroup // calls that may outlive their attempt

	mu      sync.Mutex
	outside []course.Record // calls that had an effect outside
	sets    []string        // the sets that its calls named or used
	// What calls have committed one by one, how often they tried and how often they wrote, and
	// whether one of them wrote something.
	applied   []store.Change
	commits   int
	committed int
	wrote     bool
	images    store.Images // what was committed did to rows
}

// Continue begins with what an earlier run has done.
func (p *Progress) Continue(outside []course.Record, sets []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outside, p.sets = outside, sets
}

// AddOutside records a call that had an effect outside.
func (p *Progress) AddOutside(rec course.Record) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outside = append(p.outside, rec)
}

// Outside returns the calls that had an effect outside.
func (p *Progress) Outside() []course.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.outside)
}

// Enter records that a call names or uses a set, and reports whether it is the first that does.
func (p *Progress) Enter(set string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.sets, set) {
		return false
	}
	p.sets = append(p.sets, set)
	return true
}

// Sets returns the sets that calls have named or used.
func (p *Progress) Sets() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.sets)
}

// Apply records what calls have committed: changes are all those so far, and wrote says whether the
// last one wrote something.
func (p *Progress) Apply(changes []store.Change, wrote bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.applied, p.wrote = changes, p.wrote || wrote
	if wrote {
		p.committed++
	}
}

// Commits returns how many calls have committed something by themselves.
func (p *Progress) Commits() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.committed
}

// Applied returns the changes of calls that have committed one by one, and whether one of them wrote
// something.
func (p *Progress) Applied() (changes []store.Change, wrote bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.applied, p.wrote
}

// NextCommit numbers the commits of calls, from 1.
func (p *Progress) NextCommit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.commits++
	return p.commits
}

// AddImages records what a commit did to rows.
func (p *Progress) AddImages(more store.Images) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all, err := p.images.And(more)
	if err != nil { // the commit is over
		all = store.Images{Incomplete: true}
	}
	p.images = all
}

// Images returns what was done to rows, as far as it is committed, in the order of the commits.
func (p *Progress) Images() store.Images {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.images
}
