package pgtest

import (
	"strconv"
	"strings"
	"testing"
)

// The databases, as subtests are called.
const (
	onSQLite     = "SQLite"
	onPostgreSQL = "PostgreSQL"
)

// Runner is *testing.T or *testing.B.
type Runner[T any] interface {
	Name() string
	Run(name string, fn func(T)) bool
}

// ForEach runs a test, or a benchmark, once on each database. It is the first line
// of every test that has data:
//
//	if pgtest.ForEach(t, TestThing) {
//		return
//	}
//
// It returns false in the run on a database, whose name is part of the test's then.
func ForEach[T Runner[T]](t T, test func(T)) bool {
	if strings.Contains(t.Name(), "/") {
		return false
	}
	t.Run(onSQLite, test)
	t.Run(onPostgreSQL, test)
	return true
}

// Here reports whether a test runs on PostgreSQL.
func Here(t testing.TB) bool { return strings.Contains(t.Name()+"/", "/"+onPostgreSQL+"/") }

// Marks turns the marks of arguments in a statement by hand, "?", into those of the
// database that a test runs on.
func Marks(t testing.TB, statement string) string {
	if !Here(t) {
		return statement
	}
	parts := strings.Split(statement, "?")
	var out strings.Builder
	for i, part := range parts {
		if i > 0 {
			out.WriteString("$" + strconv.Itoa(i))
		}
		out.WriteString(part)
	}
	return out.String()
}
