// Package undo restores what a run changed, from what the journal keeps of it.
//
// What belongs here: which runs can be undone, in which order rows are restored and by which
// operations, and what is said of what was not restored. Not here: how a row is read or
// written, which is the business of its provider (Restoration), or where images are kept
// (Archive).
package undo

import (
	"context"

	"github.com/koan-go/koan/framework/journal"
)

// Kept is what is known of a run that may be undone.
type Kept struct {
	Run       string
	UnderWay  bool // it has not ended; nothing else is known
	Outcome   string
	RepeatOf  string // the run whose reply it returned again
	Committed bool
	DryRun    bool
	Repaired  bool // the process that ran it has not written its record
	Changes   int  // rows that it created, updated or deleted
	// Outside are its calls that had an effect outside, OutsideCount how many there were.
	Outside      []OutsideCall
	OutsideCount int
	// Images are what it did to rows, nil where there are none; NoImages says why they are not there,
	// "" where nobody has noted it.
	Images   journal.Pages
	NoImages string
	// UndoneBy is the run that has undone all of it and was not undone itself, "" for none that the
	// caller may know of.
	UndoneBy string
}

// OutsideCall is a call that no undo reaches.
type OutsideCall struct {
	Tool      string `json:"toolName"`
	Operation string `json:"operation"`
	Outcome   string `json:"outcome"` // "ok" or a fault's code
}

// Archive keeps what runs changed. It is safe for concurrent use.
type Archive interface {
	// Undoable returns what is kept of a run that the caller of ctx may know of: its own, or
	// any for whoever may read the journal. nil is that there is none.
	Undoable(ctx context.Context, run string) (*Kept, error)
	// Retention says for people how long runs are kept, and which keys say so.
	Retention() string
}
