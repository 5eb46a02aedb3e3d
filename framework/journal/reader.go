package journal

import (
	"context"
	"encoding/json"

	"github.com/koan-go/koan/framework/auth"
)

// Scope is what it takes to read the records of other callers' runs, as far as their sets may be
// named. A principal must hold it by this very name: auth.All does not grant it.
const Scope = auth.Journal

// ReadsOthers reports whether a principal may read the records of runs of others.
func ReadsOthers(p auth.Principal) bool { return p.Has(Scope) }

// Reader lists runs that have ended. It is safe for concurrent use.
type Reader interface {
	// Runs returns runs that the caller of ctx may know of, the latest first: its own, and for
	// whoever has Scope those of others all of whose sets it may name.
	Runs(ctx context.Context, q Query) (*Page, error)
	// Kept returns which of these runs the journal has, whoever made them: it is for housekeeping, not
	// for callers.
	Kept(ctx context.Context, runs []string) (map[string]bool, error)
}

// Query says which runs are listed. The zero value is all of them.
type Query struct {
	Before  string // only runs with smaller ids: the Next of the page before
	Most    int    // at most so many
	Outcome string // OK, CutOff or a fault's code; "!ok" is all but OK
	Changed bool   // only runs that changed rows
	NoReads bool   // without calls of tools that ended well and had no effect
	Whole   bool   // with their calls, and with whole scripts
	// Knows reports whether the caller may know of an entity; the names of others are left out.
	Knows func(entity string) bool
	Text  string // is part of the tool's name, the script, the message or the id, in any case
}

// Page is a part of a list of runs.
type Page struct {
	// Runs are JSON objects with the fields of the entity KoanRun. Unless they are asked for whole,
	// they have the beginning of the script, and no calls.
	Runs []json.RawMessage
	// Next is where the list goes on, "" at its end.
	Next string
}
