package restore

import (
	"errors"
	"slices"
	"strconv"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/undo"
)

// An undo compares what the run has left with what is there now, and says where they differ. Of
// what its caller may not read, it must not: whoever has written a guess could learn from it
// whether the guess was right. So such fields, links and rows are restored where nobody has
// changed them since, they stay where somebody has, and the caller is not told which of the two
// it was. Nor does anything else of the undo depend on it: neither which rows it writes nor
// which of its rules apply.

// row is a row that is to be restored, and what the caller is told of it.
type row struct {
	undo  *Undo
	k     *model.Kind // nil where the app has no such entity any more
	table *account.Table
	id    any
	of    *undo.Row
	all   *undo.Restoration
	account.RowState
	found  account.HeldRow // what the undo found, nil for nothing
	mark   int             // how many writes there were before it
	places []undo.Place    // why it cannot be restored
}

// find finds the entity and the id of the row, and what the run did to it, or notes why it cannot.
func (x *row) find() (err error) {
	if x.k = x.undo.Model.ByName[x.of.Entity]; x.k != nil {
		x.table = x.undo.Tables[x.k]
	}
	if x.table == nil {
		x.fail("", "the app has no table of this entity any more")
		return nil
	}
	if x.id, err = x.k.ParseID(x.of.ID); err != nil {
		x.fail("", "the entity's ids have another form now")
		return nil
	}
	if x.RowState, err = account.JoinStates(x.of.Images); err != nil {
		return err
	}
	for _, part := range []map[string]account.Held{x.Before, x.After} {
		for column := range part {
			if !slices.Contains(x.table.Columns, column) {
				x.fail("", "the entity has no column "+strconv.Quote(column)+" any more")
				return nil
			}
		}
	}
	return nil
}

// fail notes why the row cannot be restored.
func (x *row) fail(field, message string) {
	x.places = append(x.places, x.place(field, message))
}

func (x *row) place(field, message string) undo.Place {
	if x.k != nil && x.isBlind() {
		return undo.Place{Set: x.of.Set, Message: message}
	}
	return undo.Place{Entity: x.of.Entity, Set: x.of.Set, ID: x.of.ID, Field: field, Message: message}
}

// field is the name of a column as the caller knows it, "" where it does not.
func (x *row) field(column string) string {
	if seen := x.undo.caller.Of(x.k); seen != nil {
		return seen.ColumnField(column)
	}
	return ""
}

// logUpdate records that the row was updated, unless that is recorded already.
func (x *row) logUpdate() error {
	for _, w := range x.undo.Log.Since(x.mark) {
		if w.Kind == x.k && w.ID == x.id && !w.Void {
			return nil
		}
	}
	if err := x.undo.HoldWrites(1); err != nil {
		return err
	}
	x.undo.logWrite(x.k, x.id, store.Update)
	return nil
}

// isBlind reports whether the caller sees no row of the kind: rules of the app wrote it.
func (x *row) isBlind() bool { return x.k == nil || x.undo.caller.Of(x.k) == nil }

// hides reports whether the caller may not read a column.
func (x *row) hides(column string) bool { return !x.undo.caller.ReadsColumn(x.k, column) }

// hidesAny reports whether the row has columns that the caller may not read.
func (x *row) hidesAny() bool {
	for _, column := range x.table.Columns {
		if x.hides(column) && !x.isVersion(column) {
			return true
		}
	}
	return false
}

// failGone notes that there is no such row any more. Where there may be one that the caller does
// not see, it does not say which: it may never have seen it.
func (x *row) failGone() {
	p := x.place("", "it was deleted since")
	if !x.isBlind() && x.undo.caller.Hides(x.k) {
		p.ID, p.Message = "", "a row of it was deleted since, or is not yours to see"
	}
	x.places = append(x.places, p)
}

// refused turns what keeps a row from being written into a conflict: the caller's input is not
// what is wrong.
func (x *row) refused(err error) error {
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

// disclosePlaces leaves out what keeps a row from being restored that the caller does not see.
func (x *row) disclosePlaces(err error) error {
	var f *fault.Fault
	if !x.isBlind() || x.k == nil {
		return err
	}
	x.places, x.of.Left = nil, nil
	if errors.As(err, &f) && f.Code == fault.Conflict {
		return undo.Conflict([]undo.Place{x.place("", "it cannot be restored")})
	}
	return err
}

// isVersion reports whether a column counts changes: it counts on.
func (x *row) isVersion(column string) bool { return column == x.k.Entity.VersionColumn }

// isComputed reports whether the database computes a column: it follows from the others.
func (x *row) isComputed(column string) bool {
	return slices.ContainsFunc(x.k.Entity.Columns, func(c descriptor.Column) bool { return c.Name == column && c.Origin == descriptor.Computed })
}

// isStamp reports whether a column has the time that ent's default made, as of the last update:
// that it is another one says no more than the other columns do.
func (x *row) isStamp(column string) bool {
	return slices.Contains(x.k.Generated, column) && slices.ContainsFunc(x.k.Entity.Columns, func(c descriptor.Column) bool {
		return c.Name == column && c.Storage == descriptor.Time
	})
}

// changedSince returns the columns, of some that a run has left with values, that have others
// in what the undo found.
func (x *row) changedSince(found account.HeldRow, after map[string]account.Held) (columns []string) {
	for i, column := range x.table.Columns {
		if v, ok := after[column]; ok && !x.isVersion(column) && !x.isStamp(column) && !account.SameHeld(v, found[i]) {
			columns = append(columns, column)
		}
	}
	return columns
}

const changedSince = "it was changed since"

// values names the row's fields for faults about a statement.
func (x *row) values() *model.Values {
	m := &model.Values{ID: x.id, Shown: x.of.ID, At: ""}
	for i := range x.k.Entity.Columns {
		c := &x.k.Entity.Columns[i]
		if f := x.k.FieldNamed(c.Field); f != nil {
			if _, ok := x.Before[c.Name]; ok {
				m.Fields = append(m.Fields, model.FieldValue{Column: c, Field: f})
			}
		}
	}
	return m
}
