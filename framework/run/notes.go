package run

import (
	"sync"
	"sync/atomic"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/store"
)

// notes are facts about a run that do not affect it.
type notes struct {
	mu         sync.Mutex
	metrics    map[string]any
	approval   journal.Approval
	redactions atomic.Int64
	inResult   atomic.Int64 // secrets that the surface takes out of the result
	emitted    atomic.Int64
	hidden     atomic.Bool // the reader of the run's result may not see it
	digests    store.DigestCache
}

// Annotate adds a figure to the outcome's metrics.
func (n *notes) Annotate(key string, value any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.metrics[key] = value
}

// NoteApproval records who approved the run, or must approve it.
func (n *notes) NoteApproval(a journal.Approval) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.approval = a
}

// Approval returns what NoteApproval recorded last.
func (n *notes) Approval() journal.Approval {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.approval
}

// Redactions returns how many secrets have been redacted in what left the run.
func (n *notes) Redactions() int { return int(n.redactions.Load() + n.inResult.Load()) }

// noteEmitted notes that an attempt has emitted count values.
func (n *notes) noteEmitted(count int) {
	for {
		last := n.emitted.Load()
		if int64(count) <= last || n.emitted.CompareAndSwap(last, int64(count)) {
			return
		}
	}
}

// Emitted returns how many values the attempt that emitted most has emitted.
func (n *notes) Emitted() int { return int(n.emitted.Load()) }

// Hidden reports whether AdmitReader has returned a fault.
func (n *notes) Hidden() bool { return n.hidden.Load() }

// ChangesDigest returns the digest of changes as JSON, for the receipt and the journal.
func (n *notes) ChangesDigest(changes []store.Change) string { return n.digests.Digest(changes) }
