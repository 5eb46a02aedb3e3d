//go:build !cgo

package sqlitedriver

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"regexp"
	"strings"

	"modernc.org/sqlite"

	"github.com/koan-go/koan/framework/database/fold"
	"github.com/koan-go/koan/framework/database/words"
	"github.com/koan-go/koan/framework/database/zone"
)

// The functions that statements call. The driver gives them to the connections of all that
// use it in the process.
func init() {
	for name, of := range map[string]func(any) any{fold.Function: foldValue(fold.Text), fold.BareFunction: foldValue(fold.Bare)} {
		sqlite.MustRegisterDeterministicScalarFunction(name, 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			return of(args[0]), nil
		})
	}
	sqlite.MustRegisterDeterministicScalarFunction(words.Function, -1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		texts := make([]any, len(args)-1)
		for i := range texts {
			texts[i] = args[i+1]
		}
		return words.Value(args[0], texts...), nil
	})
	sqlite.MustRegisterDeterministicScalarFunction(zone.Function, 3, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		unit, _ := args[1].(string)
		name, _ := args[2].(string)
		return zone.Value(args[0], unit, name), nil
	})
}

// Name is the driver's module.
const Name = "modernc.org/sqlite"

// HasFTS4 reports whether the driver has FTS4, which indexes of words are made of.
const HasFTS4 = false

// Driver returns the driver.
func Driver() driver.Driver { return &sqlite.Driver{} }

// connect opens a connection, which writes times as mattn/go-sqlite3 does.
func connect(name string) (driver.Conn, error) {
	mark := "?"
	if strings.Contains(name, "?") {
		mark = "&"
	}
	return Driver().Open(name + mark + "_time_format=sqlite")
}

// What the driver adds to SQLite's text: the code at its end, and before it the code in
// words, where these are not all there is.
var (
	codeInText  = regexp.MustCompile(` \(\d+\)$`)
	codeInWords = map[int]string{1: "SQL logic error: ", Constraint: "constraint failed: "}
)

// FailureOf returns SQLite's part of an error; ok is false if it has none.
func FailureOf(err error) (f Failure, ok bool) {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return f, false
	}
	const primary = 0xff
	f = Failure{Code: e.Code() & primary, Extended: e.Code(), Text: codeInText.ReplaceAllString(e.Error(), "")}
	f.Text = strings.TrimPrefix(f.Text, codeInWords[f.Code])
	return f, true
}

// InAutocommit reports whether a connection has no transaction open. A failed or interrupted statement
// may have rolled back the one that was. A connection that cannot be asked counts as having one.
//
// The driver does not say it; SQLite refuses to begin a transaction within another.
func InAutocommit(c *sql.Conn) bool {
	ctx := context.Background()
	if _, err := c.ExecContext(ctx, "BEGIN"); err != nil {
		return false
	}
	_, err := c.ExecContext(ctx, "ROLLBACK")
	return err == nil
}
