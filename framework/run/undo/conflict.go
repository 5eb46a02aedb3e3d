package undo

import (
	"fmt"
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

// Conflict is the fault of rows that cannot be restored, of a call or of the whole undo.
func Conflict(places []Place) *fault.Fault {
	return fault.New(fault.Conflict, "something was changed since").WithRetry(fault.Fix).WithDetails(places)
}

// conflict is what the caller of an undo gets.
func (k *Kept) conflict(places []Place) *fault.Fault {
	details := make([]fault.Detail, len(places))
	for i, p := range places {
		details[i] = fault.Detail{Path: p.path(), Message: p.Message}
		if p.Set != "" && p.Set != "default" {
			details[i].Message += " (set " + p.Set + ")"
		}
	}
	most := min(len(details), fault.MaxFound)
	if k.UndoneBy != "" {
		return fault.New(fault.Conflict, "the run is undone already: run "+k.UndoneBy+" undid it").WithDetails(details[:most]).WithPath(at).WithRetry(fault.Fix).
			WithHint("Nothing was changed. To have back what the run did, undo run %s.", k.UndoneBy)
	}
	message := fmt.Sprintf("the run cannot be undone: %s: %s", details[0].Path, details[0].Message)
	if n := len(details); n > 1 {
		message = fmt.Sprintf("the run cannot be undone, since %d places cannot be restored; the first is %s: %s", n, details[0].Path, details[0].Message)
	}
	return fault.New(fault.Conflict, message).WithDetails(details[:most]).WithPath(details[0].Path).WithRetry(fault.Fix).
		WithHint("Nothing was changed. Look at the places in `details`; with onConflict: \"skip\" they stay as they are and the rest is undone.")
}

// path is the place as a JSON Pointer: entity, id, field.
func (p Place) path() string {
	var b strings.Builder
	for _, s := range []string{p.Entity, p.ID, p.Field} {
		if s != "" {
			b.WriteString("/" + fault.Step(s))
		}
	}
	return b.String()
}
