// Package follow is the contract between those who follow the changes of committed runs and what
// keeps them.
//
// What belongs here: what is kept of a commit, in which order, and who may see what of it. Not here:
// how changes reach anybody (framework/internal/feed), or SQL.
package follow

import (
	"context"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/store"
)

// Log is a store that keeps what its commits changed, in the transactions of the data,
// so that others can follow it. It is safe for concurrent use.
type Log interface {
	// Heads returns the last entry of each set that has any, also of those that other
	// processes have committed.
	Heads(ctx context.Context) (map[string]Head, error)
	// Head returns the last entry of a set; the zero Head where it has none.
	Head(ctx context.Context, set string) (Head, error)
	// Entries returns the entries of a set after a position, in the order of positions, at
	// most so many, and fewer where they are large. Where an entry is returned, so is in this or
	// an earlier call every entry before it: no commit appears later at an earlier position.
	Entries(ctx context.Context, set string, after int64, most int) ([]Entry, error)
	// Holds reports whether everything after an entry is still kept. The zero Head is the
	// beginning of the set.
	Holds(ctx context.Context, set string, h Head) (bool, error)
	// Check reports what is wrong with a reader's condition (fault.InvalidPayload, below /filter).
	Check(r Reader) error
	// See returns what a reader may know of the rows that an entry changed: its fields, and the
	// rows that policies let it read and that its condition is about. A row that was visible to it
	// and is not any more is a delete, one that has become visible a create.
	See(ctx context.Context, r Reader, e *Entry) ([]Change, error)
	// OnCommit has fn called after each commit of this process, which it must not hold up.
	OnCommit(fn func())
	// Retention says for people how long entries are kept.
	Retention() string
}

// Head names an entry of a set.
type Head struct {
	Position int64 // from 1, ascending in the order of commits, or in that in which they began where several ran at once; not every number is taken
	Mark     string
}

// Entry is one commit in one set.
type Entry struct {
	Set string
	Head
	Run    string
	At     time.Time
	Images []journal.Image
	// Missing says why there are no images of what was changed, "" where they are there.
	Missing string
	// Sealed says why values that nobody may read are not in the images, "" where they are.
	Sealed string
	// Size is about how many bytes the entry takes.
	Size int
}

// Reader is somebody who follows changes.
type Reader struct {
	View      *catalog.View
	Principal auth.Principal
	Condition *Condition // nil for all rows
}

// Condition is about the rows of one entity; its reader wants nothing of others.
type Condition struct {
	Entity string // as in the SDK
	Filter string // JSON, as reads take it
}

// Change is a change as a reader may know of it. Index is its place in the images of its entry.
type Change struct {
	Index int
	store.Change
}
