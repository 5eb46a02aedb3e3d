package once

import (
	"context"
	"encoding/json"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// Ledger keeps the runs that have an idempotency key: who holds them, what they
// did outside, how they ended. It is the app's and no set's, it outlives the
// process, and all processes of the app share it. It never waits for a
// transaction of a run, since runs wait for it with theirs open.
//
// The ledger says who may run; what a run has committed is said by its receipt
// alone. Run and sequence are unique among the receipts of a set, so of two
// holders that each think that they are the only one, one commits.
type Ledger interface {
	// Keeps reports whether the ledger finds the receipts that a store writes.
	Keeps(s store.Store) bool
	// Claim takes a key that nobody has, or whose holder's lease has run out, and
	// else says how things stand. What is older than the retention is forgotten first. A run whose
	// receipts the data has lost since has not ended: its key is held again, to be gone on with.
	Claim(ctx context.Context, c Claim) (Standing, error)
	// Renew makes the lease last from now on. Like all that follow it ends in run.ErrLost where
	// somebody else has taken the run over since the lease ran out.
	Renew(ctx context.Context, h Hold) error
	// Intend keeps, before it is made, that a call is going to be made, durably.
	// Settle keeps how it ended.
	Intend(ctx context.Context, h Hold, i Intent) error
	Settle(ctx context.Context, h Hold, i Intent) error
	// Commits keeps, before the commit, which sets will have the receipt, and from which
	// ones what the run returns may come.
	Commits(ctx context.Context, h Hold, sets, scope []string) error
	// End releases the key.
	End(ctx context.Context, h Hold, e Ending) error
	// Receipts returns the receipts of a run in some sets, with the replies that are
	// kept with them.
	Receipts(ctx context.Context, run string, sets []string) ([]store.Receipt, error)
}

// Claim asks for a key. Subject, Operation and Key together are what is claimed.
type Claim struct {
	Subject     string
	Operation   string // a code operation's ID, or what all other calls share
	Key         string
	Fingerprint string // of all that decides what the run does
	Run         string // its id, if it is a new one
	Holder      string // a word that only this holder knows
	Now         time.Time
	Seed        uint64
	Lease       time.Duration
	Retention   time.Duration
}

// State is how things stand with a key.
type State string

// The states. Held: the claim was granted. The others are only ever returned.
const (
	Held    State = "held"
	Running State = "running" // somebody else holds it
	Ended   State = "ended"
	Other   State = "other" // the key stands for a run with another fingerprint
)

// Standing is how things stand with a key.
type Standing struct {
	State State
	Run   string
	Since time.Time // when the key was first claimed

	// Of a run that was taken over, as its holders before left it. New tells that
	// there were none.
	New     bool
	Sets    []string // where its receipt would be
	Now     time.Time
	Seed    uint64
	Intents []Intent // in the order of their making
	// Scope are the sets that what the run returned may come from, nil where an earlier
	// version kept it.
	Scope []string

	// Of a run that has ended: what it gave, nil where that stands in the receipt, and
	// the fault that it ended in.
	Reply json.RawMessage
	Fault *fault.Fault
	// Receipts is how many receipts it had at least; 0 is none, or one that an earlier version kept.
	Receipts int
}

// replySets are the sets that what the run returned may come from. An earlier version kept
// those of the receipt alone.
func (s Standing) replySets() []string {
	if s.Scope == nil {
		return s.Sets
	}
	return s.Scope
}

// Hold is who holds a run.
type Hold struct {
	Run    string
	Holder string
	Lease  time.Duration
}

// Intent is one call with an effect outside.
type Intent struct {
	Position  run.Position
	Operation string
	Digest    string // of operation and input, hex
	Closed    bool   // it is known how the call ended
	Kept      bool   // and Output or Fault tell
	Output    json.RawMessage
	Fault     *fault.Fault
	At        time.Time // when it was kept; of one that ended in a fault with retry safe, when it ended
}

// Fate is what becomes of a key that is given up.
type Fate string

// The fates: the run's result is kept; nothing happened, so the key is free again;
// what was done outside stays known, and whoever claims the key next goes on.
const (
	Keep   Fate = "keep"
	Free   Fate = "free"
	Resume Fate = "resume"
)

// Ending is how a holder gives a key up.
type Ending struct {
	Fate  Fate
	Reply json.RawMessage // nil where it stands in the receipt
	Fault *fault.Fault    // of a failed run
	// Scope are the sets that what the run returns may come from; nil leaves what is known.
	Scope []string
	// Receipts is how many receipts the data has of the run at least. A run that has any keeps
	// its calls outside, in case the data loses them.
	Receipts int
}
