package sqlite

import (
	"errors"
	"regexp"
	"strings"
	"syscall"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
)

// Trouble implements database.Backend. Where the file lies stands in the causes,
// which are for the log.
func (f *Folder) Trouble(set string, err error) (error, bool) {
	known, mine := Trouble(set, err)
	if set == database.Ledger {
		return database.At(f.ledger(), err, known), mine
	}
	return database.At(f.file(set), err, known), mine
}

// statementTooLarge matches what SQLite says, without a code of its own, of a statement beyond its limits.
var statementTooLarge = regexp.MustCompile(`too many (SQL variables|arguments on function|terms in)|Expression tree is too large|parser stack overflow`)

// Trouble turns what stands between a set and its file into the fault that it is;
// mine is false for an error of anything else.
func Trouble(set string, err error) (as error, mine bool) {
	e, ok := sqlitedriver.FailureOf(err)
	if !ok {
		return err, false
	}
	if Stale(err) {
		return fault.Newf(fault.SetBusy, "%s could not be written", database.Named(set)).Because(err), true
	}
	switch e.Code {
	case sqlitedriver.General:
		if statementTooLarge.MatchString(e.Text) {
			return database.StatementTooLarge(err), true
		}
	case sqlitedriver.TooBig:
		return fault.New(fault.InvalidPayload, "a value is too large for the database").Because(err), true
	case sqlitedriver.Mismatch:
		return fault.New(fault.InvalidPayload, "a value does not fit its column").Because(err), true
	}
	return fileFault(database.Named(set), err), true
}

// Hints for files that cannot be used.
const (
	look    = "Check the server's log, and that the data folder can be read and written."
	restore = "Stop the app, move the file and its -wal and -shm files away, and restore a backup."
)

// fileFault turns what stands between the owner of a file and its disk into the fault
// that it is: a full disk, a file that cannot be read or written or is damaged. Other
// errors stay as they are. owner is what database.Named returns.
func fileFault(owner string, err error) error {
	if isFull(err) {
		return fault.Newf(fault.ServiceUnavailable, "the disk of %s is full", owner).
			WithHint("Free space on the disk of the data folder.").Because(err)
	}
	e, ok := sqlitedriver.FailureOf(err)
	if !ok {
		return err
	}
	switch e.Code {
	case sqlitedriver.Corrupt, sqlitedriver.NotADB:
		return fault.Newf(fault.ServiceUnavailable, "the file of %s is damaged", owner).WithHint(restore).Because(err)
	case sqlitedriver.Readonly, sqlitedriver.Perm:
		return fault.Newf(fault.ServiceUnavailable, "the file of %s cannot be written", owner).WithHint(look).Because(err)
	case sqlitedriver.IOErr, sqlitedriver.CantOpen, sqlitedriver.Auth, sqlitedriver.Protocol, sqlitedriver.NoLFS:
		return fault.Newf(fault.ServiceUnavailable, "the file of %s cannot be used", owner).WithHint(look).Because(err)
	case sqlitedriver.Nomem:
		return fault.Newf(fault.ServiceUnavailable, "out of memory for %s", owner).Because(err)
	}
	if Incomplete(err) {
		return fault.Newf(fault.ServiceUnavailable, "the tables of %s are missing or incomplete", owner).
			WithHint("Restore the file, or restart the app to migrate it.").Because(err)
	}
	return err
}

// isFull reports whether an error means that there is no room on a disk, or no more
// of it for this user.
func isFull(err error) bool {
	if e, ok := sqlitedriver.FailureOf(err); ok {
		if e.Code == sqlitedriver.Full {
			return true
		}
		err = e.System
	}
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// Incomplete reports whether an error means that a table or a column is missing.
func Incomplete(err error) bool {
	s := err.Error()
	return strings.Contains(s, "no such table: ") || strings.Contains(s, "no such column: ") || strings.Contains(s, " has no column named ")
}

// Lacks returns what a statement needs that this build of SQLite does not have, such as "no such module: fts5"; "" for
// nothing. Triggers, columns and indexes of other programs name modules, functions and collations of their own.
func Lacks(err error) string {
	if e, ok := sqlitedriver.FailureOf(err); ok {
		for _, what := range []string{"no such module: ", "no such function: ", "no such collation sequence: ", "unknown tokenizer: "} {
			if i := strings.Index(e.Text, what); i >= 0 {
				return e.Text[i:]
			}
		}
	}
	return ""
}

// Violation implements database.Backend.
func (f *Folder) Violation(err error) *database.Violation { return Violation(err) }

// Violation returns the rule that an error of a write broke; nil for none. SQLite
// names what was broken in its message: "UNIQUE constraint failed: persons.email".
func Violation(err error) *database.Violation {
	e, ok := sqlitedriver.FailureOf(err)
	if !ok || e.Code != sqlitedriver.Constraint {
		return nil
	}
	v := &database.Violation{}
	_, broken, named := strings.Cut(e.Text, "failed: ")
	switch e.Extended {
	case sqlitedriver.ConstraintUnique, sqlitedriver.ConstraintPrimaryKey, sqlitedriver.ConstraintRowID:
		v.Rule = database.Unique
	case sqlitedriver.ConstraintForeignKey:
		v.Rule = database.ForeignKey
	case sqlitedriver.ConstraintNotNull:
		v.Rule = database.NotNull
	case sqlitedriver.ConstraintCheck:
		v.Rule, v.Name = database.Check, broken
		return v
	case sqlitedriver.ConstraintTrigger:
		v.Rule, v.Message = database.Raised, e.Text
		return v
	}
	if index, ok := strings.CutPrefix(broken, "index '"); ok { // of expressions
		v.Name = strings.TrimSuffix(index, "'")
		return v
	}
	if named {
		for _, part := range strings.Split(broken, ", ") {
			table, column, _ := strings.Cut(part, ".")
			v.Table, v.Columns = table, append(v.Columns, column)
		}
	}
	return v
}
