package run

import (
	"fmt"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// admitUndo returns what an undo of the run could not restore, and why, once images are committed; "" if
// it could restore everything. It ends in a fault where the configuration requires that runs can be
// undone.
func (r *Run) admitUndo(wrote bool, images store.Images) (why string, err error) {
	all, err := r.progress.Images().And(images)
	if err != nil {
		return "", fault.New(fault.Internal, "").Because(err)
	}
	code, what := fault.CapabilityUnsupported, "what this run changed cannot be undone: "
	switch {
	case !wrote && all.Len() == 0:
		return "", nil
	case !r.spec.images && r.spec.noImages == "":
		if !r.engine.opts.RequireUndo { // who keeps no journal does not expect it
			return "", nil
		}
		why = "this app keeps no journal of its runs"
	case !r.spec.images:
		why = r.spec.noImages
	case all.Incomplete:
		why, code = "its changes take more memory than a run may hold for that, which is half of run.maxBytes", fault.CallTooLarge
	case all.Apart && all.Sets() > 1:
		why, code = "it changed rows in several sets, each with a commit of its own, and an undo is one transaction", fault.CrossSet
	case all.Lasting != "":
		why = all.Lasting
	default:
		if why = unnamed(all.Unnamed()); why == "" {
			return "", nil
		}
		what = "a part of what this run changed cannot be undone: "
	}
	if !r.engine.opts.RequireUndo {
		return what + why, nil
	}
	return what + why, fault.New(code, "the run could not be undone: "+why).
		WithHint("run.requireUndo is true: changes that could not be undone are not kept. Change fewer rows, in one set, or have the server's configuration let runs be undone.")
}

// unnamed says that so much was written that belongs to no row of an entity, "" where nothing was.
func unnamed(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "the app's code wrote once in SQL of its own, or to what no entity has"
	}
	return fmt.Sprintf("the app's code wrote %d times in SQL of its own, or to what no entity has", n)
}
