package run

import (
	"sync"
	"sync/atomic"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/store"
)

// notes are what is said of a run besides what it does.
type notes struct {
	mu         sync.Mutex
	metrics    map[string]any
	approval   journal.Approval
	redactions atomic.Int64
	emitted    atomic.Int64
	hidden     atomic.Bool // whoever gets what the run returns may not see it
	digests    store.DigestCache
}

// Annotate adds a figure to the outcome's metrics.
func (n *notes) Annotate(key string, value any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.metrics[key] = value
}

// NoteApproval says who agreed to the run's effect, or has to.
func (n *notes) NoteApproval(a journal.Approval) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.approval = a
}

// Approval is what NoteApproval said last.
func (n *notes) Approval() journal.Approval {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.approval
}

// Redactions is how many secrets have been taken out of what left the run.
func (n *notes) Redactions() int { return int(n.redactions.Load()) }

// noteEmitted notes that so many values were emitted, in the attempt that emitted most.
func (n *notes) noteEmitted(count int) {
	for {
		last := n.emitted.Load()
		if int64(count) <= last || n.emitted.CompareAndSwap(last, int64(count)) {
			return
		}
	}
}

// Emitted is how many parts of its result the run has emitted.
func (n *notes) Emitted() int { return int(n.emitted.Load()) }

// Hidden reports whether AdmitReader has refused anybody.
func (n *notes) Hidden() bool { return n.hidden.Load() }

// ChangesDigest is the digest of changes as JSON. The receipt's is the record's, too.
func (n *notes) ChangesDigest(changes []store.Change) string { return n.digests.Digest(changes) }
