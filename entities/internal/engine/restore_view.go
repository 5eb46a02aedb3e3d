package engine

import (
	"context"
	"errors"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/undo"
)

// An undo compares what the run has left with what is there now, and says where they differ. Of
// what its caller may not read, it must not: whoever has written a guess could learn from it
// whether the guess was right. So such fields, links and rows are restored where nobody has
// changed them since, they stay where somebody has, and the caller is not told which of the two
// it was. Nor does anything else of the undo depend on it: neither which rows it writes nor
// which of its rules apply.

// isBlind reports whether the caller sees no row of the kind: rules of the app wrote it.
func (x *restoration) isBlind() bool { return x.k == nil || x.t.caller.Of(x.k) == nil }

// hides reports whether the caller may not read a column.
func (x *restoration) hides(column string) bool { return !x.t.caller.ReadsColumn(x.k, column) }

// hidesAny reports whether the row has columns that the caller may not read.
func (x *restoration) hidesAny() bool {
	for _, column := range x.info.Columns {
		if x.hides(column) && !x.isVersion(column) {
			return true
		}
	}
	return false
}

// readsLink reports whether the caller may read a link.
func (x *restoration) readsLink(ctx context.Context, j *account.Join, other string) (bool, error) {
	if j.Edge == nil || !x.t.caller.ReadsEdge(x.k, j.Edge) || !x.t.caller.Shows(j.Edge.Target) {
		return false, nil
	}
	if !x.t.caller.Hides(j.Edge.Target) {
		return true, nil
	}
	id, err := j.Edge.Target.ScanID(other)
	if err != nil {
		return false, nil
	}
	seen, err := x.t.caller.Readable(ctx, j.Edge.Target, []any{id})
	return len(seen) > 0, err
}

// isGone reports whether there is no such row any more: for the caller, one that is not his to
// see is no other than one that was deleted.
func (x *restoration) isGone(ctx context.Context, found *account.Past, now account.HeldRow) (bool, error) {
	if found.Row == nil || now == nil || x.isBlind() {
		return found.Row == nil, nil
	}
	there, err := x.t.caller.Visible(ctx, x.k, x.id)
	return !there, err
}

// failGone notes that there is no such row any more. Where there may be one that the caller does
// not see, it does not say which: he may never have seen it.
func (x *restoration) failGone() {
	p := x.place("", "it was deleted since")
	if !x.isBlind() && x.t.caller.Hides(x.k) {
		p.ID, p.Message = "", "a row of it was deleted since, or is not yours to see"
	}
	x.places = append(x.places, p)
}

// mayRecreate refuses to store a row again that the caller could not see, or that has fields
// which he may neither read nor write, whatever they had.
func (x *restoration) mayRecreate(ctx context.Context) error {
	if x.isBlind() {
		return nil
	}
	if x.t.caller.Hides(x.k) {
		past := x.t.past()
		was, err := past.Row(ctx, x.k, x.id, x.Before, "", nil)
		if err != nil {
			return err
		}
		if was == nil {
			return fault.New(fault.Forbidden, "it is not yours to see")
		}
	}
	return x.mayWrite(x.Before, nil)
}

// disclosePlaces leaves out what keeps a row from being restored that the caller does not see.
func (x *restoration) disclosePlaces(err error) error {
	var f *fault.Fault
	if !x.isBlind() || x.k == nil {
		return err
	}
	x.places, x.row.Left = nil, nil
	if errors.As(err, &f) && f.Code == fault.Conflict {
		return undo.Conflict([]undo.Place{x.place("", "it cannot be restored")})
	}
	return err
}
