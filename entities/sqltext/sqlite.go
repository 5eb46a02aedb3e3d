package sqltext

import (
	"strconv"
	"time"
)

// SQLite is the dialect of SQLite, as ent and mattn/go-sqlite3 use it.
type SQLite struct{}

var _ Dialect = SQLite{}

// SQLiteTime is the layout in which mattn/go-sqlite3 keeps times. In UTC, texts
// of this layout order as their moments do: "+" sorts before "." and digits.
const SQLiteTime = "2006-01-02 15:04:05.999999999-07:00"

// Name implements Dialect.
func (SQLite) Name() string { return "sqlite3" }

// Placeholder implements Dialect.
func (SQLite) Placeholder(b []byte, _ int) []byte { return append(b, '?') }

// Time implements Dialect: the text that the driver would have stored, in UTC.
func (SQLite) Time(t time.Time) any { return t.UTC().Format(SQLiteTime) }

// TimeText implements Dialect. The concatenation takes the declared type away,
// so that the driver does not parse the text into a time.
func (SQLite) TimeText() (before, after string) { return "", "||''" }

// Position implements Dialect.
func (SQLite) Position() (before, between, after string) { return "instr(", ",", ")" }

// Suffix implements Dialect.
func (SQLite) Suffix() (before, between, after string) { return "substr(", ",-length(", "))" }

// Numeric implements Dialect.
func (SQLite) Numeric() (before, after string) { return "CAST(", " AS NUMERIC)" }

func appendInt(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
