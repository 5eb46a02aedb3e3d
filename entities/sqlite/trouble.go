package sqlite

import (
	"errors"
	"strings"

	"github.com/mattn/go-sqlite3"

	"github.com/koan-go/koan/entities/backend"
	"github.com/koan-go/koan/framework/fault"
)

// Trouble implements backend.Backend.
func (f *Folder) Trouble(set string, err error) (error, bool) { return Trouble(set, err) }

// Trouble turns what stands between a set and its file into the fault that it is;
// mine is false for an error of anything else.
func Trouble(set string, err error) (as error, mine bool) {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err, false
	}
	if Stale(err) {
		return fault.Newf(fault.SetBusy, "the set %q could not be written", set).Because(err), true
	}
	return unusable(set, err), true
}

// unusable turns what stands between a set and its disk into the fault that it is:
// a full disk, a file that cannot be read or written or is damaged. Other errors
// stay as they are.
func unusable(set string, err error) error {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Code {
	case sqlite3.ErrFull:
		return fault.Newf(fault.ServiceUnavailable, "the disk of the set %q is full", set).
			WithHint("Make room where the data folder lies.").Because(err)
	case sqlite3.ErrIoErr, sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrCorrupt, sqlite3.ErrNotADB:
		return fault.Newf(fault.ServiceUnavailable, "the file of the set %q cannot be used: %s", set, e.Code.Error()).
			WithHint("Look at the server's log, and whether the data folder can be read and written.").Because(err)
	}
	return err
}

// Violation implements backend.Backend.
func (f *Folder) Violation(err error) *backend.Violation { return Violation(err) }

// Violation tells which rule an error of a write broke; nil for none. SQLite names
// what was broken in its message: "UNIQUE constraint failed: persons.email".
func Violation(err error) *backend.Violation {
	var e sqlite3.Error
	if !errors.As(err, &e) || e.Code != sqlite3.ErrConstraint {
		return nil
	}
	v := &backend.Violation{}
	switch e.ExtendedCode {
	case sqlite3.ErrConstraintUnique, sqlite3.ErrConstraintPrimaryKey:
		v.Rule = backend.Unique
	case sqlite3.ErrConstraintForeignKey:
		v.Rule = backend.ForeignKey
	case sqlite3.ErrConstraintNotNull:
		v.Rule = backend.NotNull
	}
	if _, list, found := strings.Cut(e.Error(), "failed: "); found {
		for _, part := range strings.Split(list, ", ") {
			table, column, _ := strings.Cut(part, ".")
			v.Table, v.Columns = table, append(v.Columns, column)
		}
	}
	return v
}
