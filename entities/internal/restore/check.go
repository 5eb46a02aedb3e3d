package restore

import (
	"context"
	"strconv"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// isGone reports whether there is no such row any more: for the caller, one that it may not
// see is no other than one that was deleted.
func (x *restoration) isGone(ctx context.Context, found, now account.HeldRow) (bool, error) {
	if found == nil || now == nil || x.isBlind() {
		return found == nil, nil
	}
	there, err := x.undo.caller.Visible(ctx, x.k, x.id)
	return !there, err
}

// mayRecreate refuses to store a row again that the caller could not see, or that has fields
// which it may neither read nor write, whatever they had.
func (x *restoration) mayRecreate(ctx context.Context) error {
	if x.isBlind() {
		return nil
	}
	if x.undo.caller.Hides(x.k) {
		past := account.PastView{Tx: x.undo.Tx, Tables: x.undo.Tables, By: x.undo.caller}
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

// mayWrite refuses to restore fields that others may write, and the caller may not. What nobody
// may write follows from what was written.
func (x *restoration) mayWrite(values map[string]account.Held, now account.HeldRow) error {
	seen := x.undo.caller.Of(x.k)
	if seen == nil {
		return nil // rules of the app wrote the row
	}
	if err := x.links.mayWrite(); err != nil {
		return err
	}
	for i, column := range x.table.Columns {
		v, ok := values[column]
		switch {
		case x.hides(column) && now == nil: // whatever it had
		case x.hides(column), !ok, now == nil && v == nil, now != nil && account.SameHeld(v, now[i]):
			continue
		}
		if !x.undo.caller.WritesColumn(x.k, column) {
			return fault.New(fault.Forbidden, "it changes a field that you may not write")
		}
	}
	return nil
}

// checkReferrers notes the rows that refer to the row, which is about to go, and that this undo
// does not make let go: those that come to that later are met in another round.
func (x *restoration) checkReferrers(ctx context.Context) error {
	for i := range x.k.Entity.Referrers {
		r := &x.k.Entity.Referrers[i]
		child := x.undo.Model.ByName[r.Entity]
		found, err := x.undo.ReferringThrough(ctx, child, r, x.k.BoundIDs([]any{x.id}))
		if err != nil {
			return err
		}
		for _, id := range found {
			did, _ := x.all.Fate(x.of.Set, child.Name(), child.FormatID(id))
			if child == x.k && id == x.id || did == string(store.Create) && (r.Cascade || r.SetNull) {
				continue
			}
			what := "another row"
			if x.undo.caller.Knows(child) && x.undo.caller.Shows(child) {
				seen, err := x.undo.caller.Readable(ctx, child, []any{id})
				if err != nil {
					return err
				}
				if len(seen) > 0 {
					what = child.Name() + " " + strconv.Quote(child.FormatID(id))
				}
			}
			x.fail("", what+" refers to it now")
			if len(x.places) >= fault.MaxFound {
				return nil
			}
		}
	}
	return nil
}

// checkParents looks for the rows that the row is going to refer to. A column that can be null
// stays so until its row is there, which another round may bring.
func (x *restoration) checkParents(ctx context.Context, wanted account.HeldRow) (waiting []string, err error) {
	for i, column := range x.table.Columns {
		target := account.Referred(x.undo.Model, x.k, column)
		if target == nil || wanted[i] == nil {
			continue
		}
		if x.found != nil && account.SameHeld(wanted[i], x.found[i]) { // nothing changes of it
			continue
		}
		id, err := target.ParseID((*wanted[i])[1:])
		if err != nil {
			continue // the statement will say it
		}
		if target == x.k && id == x.id {
			continue
		}
		there, err := x.undo.Exists(ctx, target, id)
		if err != nil {
			return nil, err
		}
		if there {
			continue
		}
		if did, _ := x.all.Fate(x.of.Set, target.Name(), target.FormatID(id)); did != "" && account.IsNullable(x.k, column) {
			wanted[i] = nil
			waiting = append(waiting, column)
			continue
		}
		if x.all.Skip && account.IsNullable(x.k, column) && x.of.Action() == string(store.Update) {
			if x.found != nil {
				wanted[i] = x.found[i]
			}
			x.of.Left = append(x.of.Left, x.place(x.field(column), "what it referred to is not there any more"))
			continue
		}
		x.fail(x.field(column), "what it referred to is not there any more")
	}
	return waiting, nil
}
