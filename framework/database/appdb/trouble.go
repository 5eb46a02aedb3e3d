package appdb

import (
	"errors"
	"fmt"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/postgres"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// isRetryable reports whether an error means: the same once more, on newer data.
func isRetryable(err error) bool { return sqlite.Stale(err) || postgres.Again(err) }

// commitError is what a failed commit means: the database refused it, or nobody
// knows.
func commitError(d *Database, err error) error {
	var answered interface{ SQLState() string }
	switch {
	case d.name == dialect.SQLite && isRetryable(err):
		return fault.Newf(fault.SetBusy, "somebody else has locked the set %q", d.set).Because(err)
	case isRetryable(err):
		return fmt.Errorf("%w: %w", store.ErrStale, err)
	case d.name == dialect.SQLite, errors.As(err, &answered):
		return err
	}
	return fault.New(fault.OutcomeUnknown, "the connection to the database broke during the commit").
		WithHint("Read the data to see whether the change was made.").Because(err)
}

// Violation implements database.Backend.
func (s *Sets) Violation(err error) *database.Violation {
	if s.dialect.Name() == dialect.SQLite {
		return sqlite.Violation(err)
	}
	return postgres.Violation(err)
}

// Trouble implements database.Backend.
func (s *Sets) Trouble(set string, err error) (error, bool) {
	if s.dialect.Name() == dialect.SQLite {
		return appMigrationHint(set, err, sqlite.Incomplete, sqlite.Trouble)
	}
	return appMigrationHint(set, err, postgres.Incomplete, postgres.Trouble)
}

// appMigrationHint is the trouble of a database, of which missing tables and columns
// are the app's own affair.
func appMigrationHint(set string, err error, incomplete func(error) bool, trouble func(string, error) (error, bool)) (error, bool) {
	if incomplete(err) {
		return fault.Newf(fault.ServiceUnavailable, "the tables of the set %q do not match the app's ent schema: %v", set, err).
			WithHint("Run the app's own migrations; Koan does not migrate a database that the app opens.").Because(err), true
	}
	return trouble(set, err)
}
