package store

import (
	"context"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/journal"
)

// ChangeLog is a Store that keeps what its commits changed, in the transactions of the data,
// so that others can follow it. It is safe for concurrent use.
type ChangeLog interface {
	// Heads returns the last entry of each set that has any, also of those that other
	// processes have committed.
	Heads(ctx context.Context) (map[string]Head, error)
	// Head returns the last entry of a set; the zero Head where it has none.
	Head(ctx context.Context, set string) (Head, error)
	// Entries returns the entries of a set after a position, in the order of their commits, at
	// most so many, and fewer where they are large. Where an entry is returned, so is in this or
	// an earlier call every entry before it: no commit appears later at an earlier position.
	Entries(ctx context.Context, set string, after int64, most int) ([]Entry, error)
	// Holds reports whether everything after an entry is still kept. The zero Head is the
	// beginning of the set.
	Holds(ctx context.Context, set string, h Head) (bool, error)
	// See returns what a reader may know of the rows that an entry changed: its fields, and the
	// rows that policies let it read. A row that was visible to it and is not any more is a
	// delete, one that has become visible a create.
	See(ctx context.Context, r Reader, e *Entry) ([]SeenChange, error)
	// OnCommit has fn called after each commit of this process, which it must not hold up.
	OnCommit(fn func())
	// Retention says for people how long entries are kept.
	Retention() string
}

// ChangeLogger is a provider that has a ChangeLog. It is asked once it has started; nil means
// that it has none.
type ChangeLogger interface{ ChangeLog() ChangeLog }

// Head names an entry of a set.
type Head struct {
	Position int64 // from 1, ascending in the order of commits; not every number is taken
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
}

// SeenChange is a change as a reader may know of it. Index is its place in the images of its
// entry.
type SeenChange struct {
	Index int
	Change
}
