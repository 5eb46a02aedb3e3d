package run

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"
)

// ErrStale is what a store returns (wrapped or not) when the snapshot that a
// transaction read is no longer the newest at its first write or at commit: a
// failed upgrade on SQLite, 40001 or 40P01 on PostgreSQL. The run rolls back and
// starts a new attempt.
var ErrStale = errors.New("run: the snapshot is stale")

var (
	// ErrLost ends a run whose claim has run out, so that somebody else has taken it over.
	ErrLost = errors.New("run: somebody else has taken this run over")
	// ErrCommitted is what a store's Commit returns where the set has a receipt of
	// this run and sequence already: of a holder that was thought to be dead.
	ErrCommitted = errors.New("run: this run has committed already")
)

// Store is what holds data and takes part in runs. It is called by one attempt
// at a time, but by many attempts at once.
type Store interface {
	// Begin opens a transaction on a set for an attempt. All reads in it see one
	// snapshot. Where a.WriteFirst() is true the transaction should take the write
	// lock at once. Begin is called at most once per attempt, store and set.
	Begin(ctx context.Context, a *Attempt, set string) (Tx, error)
}

// Tx is one set's transaction in one attempt.
type Tx interface {
	// Write is called before the first writing call, and takes the write lock
	// fairly and with a bound. It ends in ErrStale where the snapshot is too old,
	// in set_busy where the queue is full.
	Write(ctx context.Context) error
	// Savepoint opens a savepoint; end closes it: released when ok, else rolled
	// back to. Called around every writing call, and around reading ones where the
	// database needs it (the Tx decides; read says which it is). Where end cannot roll back what
	// a call wrote alone it is ErrStale, and nothing of the attempt stays.
	Savepoint(ctx context.Context, read bool) (end func(ok bool) error, err error)
	// State reports whether the transaction holds the write lock, and whether it has
	// written anything, rows that callers do not see included.
	State() (locked, wrote bool)
	// Changes are what the transaction changed so far: one for each row, from what
	// the transaction found to what it is now, in the order of the first write to
	// each. Before and After are there only where the attempt records. It ends in
	// ErrStale as a statement would.
	Changes(ctx context.Context) ([]Change, error)
	// Commit ends the transaction. If it wrote anything, the receipt is written in
	// it; ErrCommitted where there is one of this run and sequence.
	Commit(ctx context.Context, r Receipt) error
	// Rollback ends the transaction without effect. It never fails in a way that
	// leaves an effect; calling it after Commit is a no-op.
	Rollback(ctx context.Context) error
}

// Spanning is a Store whose one transaction can write to several sets. For
// others the second set that is written to is cross_set.
type Spanning interface{ SpansSets() bool }

// Action is what happened to an entity.
type Action string

const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
)

// Change is one entity that a run changed (CONTRACT section 2).
type Change struct {
	Entity string          `json:"entity"` // "" of one that the caller may not know of
	Set    string          `json:"set"`
	ID     string          `json:"id,omitempty"` // "" of a row that the caller may not see
	Action Action          `json:"action"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Hidden says that the caller may not know of the entity: see Disclosed.
	Hidden bool `json:"hidden,omitempty"`
}

// Disclosed returns changes as their caller may hear of them: those of an entity that
// he may not know of are there without its name, so that the counts are whole.
func Disclosed(changes []Change) []Change { return renameHidden(changes, "") }

// HiddenEntity stands for an entity that the caller may not know of, for people.
const HiddenEntity = "(an entity that the caller does not see)"

// Named returns changes as people read of them: with HiddenEntity for a name that the
// caller may not know.
func Named(changes []Change) []Change { return renameHidden(changes, HiddenEntity) }

// renameHidden gives what is hidden another name.
func renameHidden(changes []Change, name string) []Change {
	if !slices.ContainsFunc(changes, func(c Change) bool { return c.Hidden }) {
		return changes
	}
	out := slices.Clone(changes)
	for i := range out {
		if out[i].Hidden {
			out[i].Entity, out[i].Hidden = name, false
		}
	}
	return out
}

// ChangeCount sums the changes of one entity in one set.
type ChangeCount struct {
	Entity  string `json:"entity"`
	Set     string `json:"set"`
	Created int    `json:"created"`
	Updated int    `json:"updated"`
	Deleted int    `json:"deleted"`
}

// Counts sums changes by entity and set, in the order of first appearance.
func Counts(changes []Change) []ChangeCount {
	out := []ChangeCount{}
	at := map[[2]string]int{}
	for _, c := range changes {
		key := [2]string{c.Entity, c.Set}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, ChangeCount{Entity: c.Entity, Set: c.Set})
		}
		switch c.Action {
		case Create:
			out[i].Created++
		case Update:
			out[i].Updated++
		case Delete:
			out[i].Deleted++
		}
	}
	return out
}

// Receipt is the proof of a commit, written in the data's own transaction.
type Receipt struct {
	Run            string
	Attempt        int
	Sequence       int // 0, or with atomic: false the number of the committed call
	IdempotencyKey string
	Subject        string
	CodeDigest     string // "sha256:…"
	ResultDigest   string // "sha256:…" over the canonical result
	Result         json.RawMessage
	Reply          json.RawMessage // with an idempotency key: all that the caller gets
	ChangesDigest  string
	CatalogVersion string
	At             time.Time
}
