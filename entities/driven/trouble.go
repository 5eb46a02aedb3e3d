package driven

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/backend"
	"github.com/koan-go/koan/entities/postgres"
	"github.com/koan-go/koan/entities/sqlite"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// again tells that an error means: the same once more, on newer data.
func again(err error) bool {
	if sqlite.Stale(err) {
		return true
	}
	var state interface{ SQLState() string } // of every driver for PostgreSQL
	return errors.As(err, &state) && (state.SQLState() == "40001" || state.SQLState() == "40P01")
}

// undecided is what a failed commit means: the database refused it, or nobody
// knows.
func undecided(d *Database, err error) error {
	var answered interface{ SQLState() string }
	switch {
	case d.name == dialect.SQLite && again(err):
		return fault.Newf(fault.SetBusy, "somebody else holds the set %q", d.set).Because(err)
	case again(err):
		return fmt.Errorf("%w: %w", run.ErrStale, err)
	case d.name == dialect.SQLite, errors.As(err, &answered):
		return err
	}
	return fault.New(fault.OutcomeUnknown, "the connection to the database broke while it committed").
		WithHint("Read the data to see whether the change is there.").Because(err)
}

// behind tells that a table or a column is missing.
func behind(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState() == "42P01" || state.SQLState() == "42703"
	}
	return strings.Contains(err.Error(), "no such table: ") || strings.Contains(err.Error(), "no such column: ") || strings.Contains(err.Error(), " has no column named ")
}

// Violation implements backend.Backend.
func (s *Sets) Violation(err error) *backend.Violation {
	if s.dialect.Name() == dialect.SQLite {
		return sqlite.Violation(err)
	}
	return postgres.Violation(err)
}

// Trouble implements backend.Backend.
func (s *Sets) Trouble(set string, err error) (error, bool) {
	if behind(err) {
		return fault.Newf(fault.ServiceUnavailable, "the tables of the set %q are not those of the app's ent schema: %v", set, err).
			WithHint("Bring them there with the app's own migrations; koan does not change a database that the app opens.").Because(err), true
	}
	if s.dialect.Name() == dialect.SQLite {
		return sqlite.Trouble(set, err)
	}
	var network net.Error
	switch {
	case again(err):
		return fault.Newf(fault.SetBusy, "the set %q could not be written", set).Because(err), true
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, io.EOF), errors.As(err, &network):
		return fault.Newf(fault.ServiceUnavailable, "the connection to the database of the set %q broke", set).
			WithHint("Try again; if it lasts, look at the database's log.").Because(err), true
	}
	return err, false
}
