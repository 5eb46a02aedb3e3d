// Package sqlitedriver connects to SQLite files. A build with cgo has the C library
// (mattn/go-sqlite3); one without has its translation to Go (modernc.org/sqlite), which
// needs no C compiler and is slower.
//
// What belongs here: what differs between the two drivers, and which files this process has
// connections to. Not here: sets, transactions, and a driver's types outside of it.
package sqlitedriver

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// Result codes of SQLite (sqlite.org/rescode.html), and those of a constraint.
const (
	General    = 1
	Perm       = 3
	Busy       = 5
	Nomem      = 7
	Readonly   = 8
	Interrupt  = 9
	IOErr      = 10
	Corrupt    = 11
	Full       = 13
	CantOpen   = 14
	Protocol   = 15
	TooBig     = 18
	Constraint = 19
	Mismatch   = 20
	NoLFS      = 22
	Auth       = 23
	NotADB     = 26

	ConstraintCheck      = Constraint | 1<<8
	ConstraintForeignKey = Constraint | 3<<8
	ConstraintNotNull    = Constraint | 5<<8
	ConstraintPrimaryKey = Constraint | 6<<8
	ConstraintTrigger    = Constraint | 7<<8
	ConstraintUnique     = Constraint | 8<<8
	ConstraintRowID      = Constraint | 10<<8
)

// Failure is an error of SQLite.
type Failure struct {
	Code     int
	Extended int   // with the reason in its upper bits
	System   error // of the operating system; nil where the driver does not say
	Text     string
}

// Open returns a database without connecting to it. The name is a URI with the parameters
// of mattn/go-sqlite3, which both drivers read. No driver is registered: an app may have
// one called "sqlite3" of its own.
func Open(name string) *sql.DB { return sql.OpenDB(connector(name)) }

// connector opens connections to a file.
type connector string

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) { return Connect(string(c)) }

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return Driver() }

// foldValue is a function of SQLite that gives a text in a form.
func foldValue(form func(string) string) func(any) any {
	return func(v any) any {
		switch v := v.(type) {
		case string:
			return form(v)
		case []byte:
			if v == nil { // how mattn/go-sqlite3 passes null
				return nil
			}
			return form(string(v))
		}
		return v
	}
}
