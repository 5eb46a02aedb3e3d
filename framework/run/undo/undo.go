package undo

import (
	"context"
	"errors"
	"fmt"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/internal/course"
)

// Undos knows the runs of an engine that can be undone.
type Undos struct{ archive Archive } // nil where nothing is kept

var _ run.Participant = (*Undos)(nil)

// Open implements run.Participant. It takes part in no run: it is found by those who undo one.
func (u *Undos) Open(*run.Run) (run.Part, error) { return nil, nil }

// Use sets where runs are kept, before the first call.
func (u *Undos) Use(a Archive) { u.archive = a }

// at is the run's place in the input of an undo.
const at = "/runId"

// Find returns a run that can be undone. Its fault says why one cannot.
func (u *Undos) Find(ctx context.Context, id string) (*Kept, error) {
	if u.archive == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "this app keeps no journal, so no run can be undone").
			WithHint("Set journal.enabled to true, which it is by default. An app without entities keeps none, unless framework.App says Ledger.").WithPath(at)
	}
	k, err := u.archive.Undoable(ctx, id)
	switch {
	case err != nil:
		var f *fault.Fault
		if errors.As(err, &f) || ctx.Err() != nil {
			return nil, err
		}
		return nil, fault.New(fault.ServiceUnavailable, "the journal cannot be read").Because(err)
	case k == nil:
		return nil, fault.Newf(fault.NotFound, "you have no run with the id %q", course.Excerpt(id)).
			WithHint("Take `runId` from the result of the run, or the id from the command `runs`. Runs are kept %s; what is older cannot be undone.", u.archive.Retention()).WithPath(at)
	case k.UnderWay:
		return nil, fault.New(fault.InProgress, "the run has not ended yet").WithHint("Wait for its result, then undo it.").WithPath(at)
	}
	return k, k.refusal(run.RequestOf(ctx).View)
}

// refusal says why a run cannot be undone, and lists what it did outside the data, as far as the
// view has it.
func (k *Kept) refusal(v *catalog.View) error {
	refuse := func(why string) *fault.Fault {
		f := fault.New(fault.InvalidPayload, why).WithPath(at)
		if k.OutsideCount == 0 {
			return f.WithHint("There is nothing to undo.")
		}
		return f.WithDetails(map[string]any{"notUndone": k.outside(v, 0)}).
			WithHint("`notUndone` in the details is what it did outside, which only a call outside can make good.")
	}
	changed := "nothing"
	if k.OutsideCount > 0 {
		changed = "nothing in the data, but had an effect outside, which cannot be undone"
	}
	switch {
	case k.RepeatOf != "":
		return refuse("the run changed nothing: it returned the reply of run "+k.RepeatOf+" again").WithHint("Undo run %s.", k.RepeatOf)
	case k.DryRun:
		return refuse("the run was a dry run, which keeps nothing")
	case !k.Committed && k.Outcome != "ok":
		return refuse("the run failed with " + k.Outcome + ", and changed nothing")
	case !k.Committed:
		return refuse("the run changed " + changed)
	case k.NoImages != "":
		return unrecorded("the run was recorded without its changes: " + k.NoImages)
	case k.Images == nil && k.Repaired:
		return unrecorded("the run was recorded without its changes: the process that ran it ended before they were written")
	case k.Images == nil && k.Changes > 0:
		return unrecorded("the run was recorded without its changes")
	case k.Images == nil || k.Images.Pages() == 0:
		return refuse("the run left every row as it was")
	}
	return nil
}

func unrecorded(why string) *fault.Fault {
	return fault.New(fault.CapabilityUnsupported, why).
		WithHint("Make the opposite changes with a script. Runs that are to be undone need journal.changes, which is on by default.").WithPath(at)
}

// Result is what an undo returns.
type Result struct {
	Undone    string    `json:"undone"` // the run
	Skipped   []Place   `json:"skipped"`
	NotUndone []Outside `json:"notUndone"`
	// Kept are the entities whose rows record what happened, which no undo takes back.
	Kept []Kind `json:"kept,omitempty"`
	// Unread are the entities with fields that the caller may not read: where somebody has
	// changed one of them since, it stays, and nothing says so.
	Unread []Kind `json:"unread,omitempty"`
}

// Kind is an entity in a set, of whose rows something is said.
type Kind struct {
	Entity  string `json:"entity"` // "" of one that the caller may not know of
	Set     string `json:"set"`
	Message string `json:"message"`
}

// Outside is what an undo does not reach: calls with an effect outside, and rows that belong to
// no entity.
type Outside struct {
	Tool    string `json:"toolName,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	Message string `json:"message"`
}

// outside lists what an undo of the run does not reach: unnamed is how many of its images belong to no row of an entity.
func (k *Kept) outside(v *catalog.View, unnamed int) []Outside {
	out := []Outside{}
	made := 0
	for _, c := range k.Outside {
		if c.Outcome == string(fault.ApprovalRequired) || c.Outcome == string(fault.ApprovalDenied) {
			continue // nobody agreed to it
		}
		made++
		o := Outside{Outcome: c.Outcome, Message: "its effect is outside the data"}
		if id, err := catalog.ParseID(c.Operation); err == nil && v.Allowed(id) {
			o.Tool = c.Tool
		}
		out = append(out, o)
	}
	switch more := k.OutsideCount - made; {
	case more == 1:
		out = append(out, Outside{Message: "1 more call had an effect outside the data"})
	case more > 1:
		out = append(out, Outside{Message: fmt.Sprintf("%d more calls had an effect outside the data", more)})
	}
	if unnamed > 0 {
		often := "once"
		if unnamed > 1 {
			often = fmt.Sprintf("%d times", unnamed)
		}
		out = append(out, Outside{Message: "the app's code wrote " + often + " to tables that no entity has, or to rows that nobody knew before it: they stay as they are"})
	}
	return out
}

// Options say how a run is undone.
type Options struct {
	// Skip leaves what somebody changed since as it is; else it is a conflict.
	Skip bool
}
