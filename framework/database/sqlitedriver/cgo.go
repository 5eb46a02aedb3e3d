//go:build cgo

package sqlitedriver

import (
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/mattn/go-sqlite3"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/words"
	"github.com/koan-go/koan/framework/database/zone"
)

// Name is the driver's module.
const Name = "github.com/mattn/go-sqlite3"

// HasFTS4 reports whether the driver has FTS4, which indexes of words are made of.
const HasFTS4 = true

// Driver returns the driver.
func Driver() driver.Driver { return &sqlite3.SQLiteDriver{ConnectHook: addFunctions} }

// addFunctions gives a connection the functions that statements call.
func addFunctions(c *sqlite3.SQLiteConn) error {
	return errors.Join(c.RegisterFunc(fold.Function, foldValue(fold.Text), true), c.RegisterFunc(fold.BareFunction, foldValue(fold.Bare), true), c.RegisterFunc(words.Function, words.Value, true), c.RegisterFunc(zone.Function, zone.Value, true))
}

func connect(name string) (driver.Conn, error) { return Driver().Open(name) }

// FailureOf returns SQLite's part of an error; ok is false if it has none.
func FailureOf(err error) (f Failure, ok bool) {
	var e sqlite3.Error
	if !errors.As(err, &e) {
		return f, false
	}
	f = Failure{Code: int(e.Code), Extended: int(e.ExtendedCode), Text: e.Error()}
	if e.SystemErrno != 0 {
		f.System = e.SystemErrno
	}
	return f, true
}

// InAutocommit reports whether a connection has no transaction open. A failed or interrupted statement
// may have rolled back the one that was. A connection that cannot be asked counts as having one.
func InAutocommit(c *sql.Conn) (free bool) {
	_ = c.Raw(func(raw any) error {
		if asked, ok := raw.(interface{ AutoCommit() bool }); ok { // others wrap the driver's
			free = asked.AutoCommit()
		}
		return nil
	})
	return free
}
