package engine

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/undo"
)

// isVersion reports whether a column counts changes: it counts on.
func (x *restoration) isVersion(column string) bool { return column == x.k.Entity.VersionColumn }

// isStamp reports whether a column has the time that ent's default made, as of the last update:
// that it is another one says no more than the other columns do.
func (x *restoration) isStamp(column string) bool {
	return slices.Contains(x.k.Generated, column) && slices.ContainsFunc(x.k.Entity.Columns, func(c descriptor.Column) bool {
		return c.Name == column && c.Storage == descriptor.Time
	})
}

// changedSince returns the columns, of some that a run has left with values, that have others
// in what the undo found.
func (x *restoration) changedSince(found account.HeldRow, after map[string]account.Held) (columns []string) {
	for i, column := range x.info.Columns {
		if v, ok := after[column]; ok && !x.isVersion(column) && !x.isStamp(column) && !account.SameHeld(v, found[i]) {
			columns = append(columns, column)
		}
	}
	return columns
}

const changedSince = "it was changed since"

// checkReferrers notes the rows that refer to the row, which is about to go, and that this undo
// does not make let go: those that come to that later are met in another round.
func (x *restoration) checkReferrers(ctx context.Context) error {
	for i := range x.k.Entity.Referrers {
		r := &x.k.Entity.Referrers[i]
		child := x.ByName[r.Entity]
		found, err := x.t.ReferringThrough(ctx, child, r, x.k.BoundIDs([]any{x.id}))
		if err != nil {
			return err
		}
		for _, id := range found {
			other := x.all.Row(x.row.Set, child.Name(), child.FormatID(id))
			if child == x.k && id == x.id || other != nil && other.Action() == string(store.Create) && (r.Cascade || r.SetNull) {
				continue
			}
			what := "another row"
			if x.t.caller.Knows(child) && x.t.caller.Shows(child) {
				seen, err := x.t.caller.Readable(ctx, child, []any{id})
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

// refused turns what keeps a row from being written into a conflict: the caller's input is not
// what is wrong.
func (x *restoration) refused(err error) error {
	var f *fault.Fault
	if !errors.As(err, &f) || errors.Is(err, store.ErrStale) {
		return err
	}
	switch f.Code {
	case fault.Conflict, fault.InvalidPayload, fault.NotFound:
	default:
		return err
	}
	details, _ := f.Details.([]fault.Detail)
	if len(details) == 0 {
		details = []fault.Detail{{Path: f.Path, Message: f.Message}}
	}
	for _, d := range details {
		field := ""
		if steps := fault.Steps(d.Path); len(steps) > 0 {
			field = steps[len(steps)-1]
		}
		x.fail(field, d.Message)
	}
	return undo.Conflict(x.places)
}

// mayWrite refuses to restore fields that others may write, and the caller may not. What nobody
// may write follows from what was written.
func (x *restoration) mayWrite(values map[string]account.Held, now account.HeldRow) error {
	seen := x.t.caller.Of(x.k)
	if seen == nil {
		return nil // rules of the app wrote the row
	}
	if err := x.mayLink(); err != nil {
		return err
	}
	for i, column := range x.info.Columns {
		v, ok := values[column]
		switch {
		case x.hides(column) && now == nil: // whatever it had
		case x.hides(column), !ok, now == nil && v == nil, now != nil && account.SameHeld(v, now[i]):
			continue
		}
		if !x.t.caller.WritesColumn(x.k, column) {
			return fault.New(fault.Forbidden, "it changes a field that you may not write")
		}
	}
	return nil
}

// checkParents looks for the rows that the row is going to refer to. A column that can be null
// stays so until its row is there, which another round may bring.
func (x *restoration) checkParents(ctx context.Context, wanted account.HeldRow) (waiting []string, err error) {
	for i, column := range x.info.Columns {
		target := account.Referred(x.Model, x.k, column)
		if target == nil || wanted[i] == nil {
			continue
		}
		id, err := target.ParseID((*wanted[i])[1:])
		if err != nil {
			continue // the statement will say it
		}
		if target == x.k && id == x.id {
			continue
		}
		there, err := x.t.Exists(ctx, target, id)
		if err != nil {
			return nil, err
		}
		if there {
			continue
		}
		if other := x.all.Row(x.row.Set, target.Name(), target.FormatID(id)); other != nil && account.IsNullable(x.k, column) {
			wanted[i] = nil
			waiting = append(waiting, column)
			continue
		}
		if x.all.Skip && account.IsNullable(x.k, column) && x.row.Action() == string(store.Update) {
			if found := x.t.Past.Rows[changes.RowOf(x.k, x.id)]; found != nil {
				wanted[i] = found.Row[i]
			}
			x.row.Left = append(x.row.Left, x.place(x.field(column), "what it referred to is not there any more"))
			continue
		}
		x.fail(x.field(column), "what it referred to is not there any more")
	}
	return waiting, nil
}
