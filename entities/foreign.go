package entities

import (
	"fmt"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/appdb"
	"github.com/koan-go/koan/framework/database/postgres"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/fault"
)

// foreignBackend is a database that another program keeps, and whose tables it may change while they are
// served.
type foreignBackend struct {
	opened
	place string
}

// opened are the sets of a program that opens its databases itself.
type opened interface {
	database.Backend
	database.Finder
}

var _ opened = (*appdb.Sets)(nil)

// Place implements database.Backend.
func (b foreignBackend) Place() string { return b.place }

// Trouble implements database.Backend.
func (b foreignBackend) Trouble(set string, err error) (error, bool) {
	if sqlite.Incomplete(err) || postgres.Incomplete(err) {
		return changedSchema(err.Error(), err), true
	}
	if what := sqlite.Lacks(err); what != "" {
		return fault.New(fault.CapabilityUnsupported, "the database needs something of the program that keeps it, which this one does not have: "+what).
			WithHint("Leave the field out of filters and sorts; what only that program can write has to be written there.").Because(err), true
	}
	return b.opened.Trouble(set, err)
}

// changedSchema is the fault of a call that meets tables which are not as they were at the start.
func changedSchema(what string, err error) *fault.Fault {
	return fault.New(fault.ServiceUnavailable, fmt.Sprintf("the tables of the database have changed since it was looked at: %s", what)).
		WithHint("Send the server SIGHUP or start it again: it looks at the tables anew. `koan serve --watch` does so by itself with a SQLite file. If something was dropped by mistake, restore it.").Because(err)
}
