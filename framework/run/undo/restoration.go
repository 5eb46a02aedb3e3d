package undo

import (
	"context"

	"github.com/koan-go/koan/framework/journal"
)

// Row is a row that an undo restores.
type Row struct {
	Entity, Set, ID string
	// Images are what the run did to it, the oldest first; a run that is not atomic commits
	// several times.
	Images []journal.Image

	// What the row's provider says of it.
	Report
}

// Report is what a call did to restore a row.
type Report struct {
	// Restored reports that the row is as it was, but for Left and Waiting.
	Restored bool
	// Left are the fields that somebody changed since, and that stay as they are.
	Left []Place
	// Unread reports that the row has fields which the caller may not read: of them, Left says
	// nothing.
	Unread bool
	// Waiting are the references of the row that lead to rows which are not there yet.
	Waiting []Place
}

// Action is what the run did to the row, "" where it is as it was.
func (r *Row) Action() string {
	return netAction(letter(r.Images[0].Action), letter(r.Images[len(r.Images)-1].Action))
}

// Actions of images.
const (
	created = "create"
	updated = "update"
	deleted = "delete"
)

// Place is where something could not be restored.
type Place struct {
	Entity  string `json:"entity"` // "" where the caller may not see any row of it
	Set     string `json:"set"`
	ID      string `json:"id,omitempty"`    // "" where the caller may not see the row
	Field   string `json:"field,omitempty"` // or relationship; "" for the row as a whole
	Message string `json:"message"`
	// Passing says that the row was restored, but for this place.
	Passing bool `json:"-"`
}

// Restoration is what a call of a writing operation does in place of its own work: it restores
// rows, the first of which its input names. It does so as a whole, or ends in conflict (with
// Conflict) and restores nothing.
type Restoration struct {
	Rows []*Row
	// Skip leaves fields as they are that somebody changed since; else they are a conflict.
	Skip bool
	// Fate returns what the run did to a row that the same undo restores, and whether it is restored
	// already; "" for others.
	Fate func(set, entity, id string) (action string, restored bool)
}

type restorationKey struct{}

// Restoring returns what the call that ctx belongs to restores, nil for nothing.
func Restoring(ctx context.Context) *Restoration {
	r, _ := ctx.Value(restorationKey{}).(*Restoration)
	return r
}

// With returns a context for a call that restores rows; nil is for what such a call brings
// with it, such as calls of hooks.
func With(ctx context.Context, r *Restoration) context.Context {
	return context.WithValue(ctx, restorationKey{}, r)
}
