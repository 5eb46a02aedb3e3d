package read

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/database/sqltext"
)

func appendTime(b []byte, t time.Time) []byte {
	b = append(b, '"')
	return append(t.UTC().AppendFormat(b, time.RFC3339Nano), '"')
}

// appendTimeText turns the text of a SQLite time into RFC 3339 UTC. The form in
// which the engine's own stores keep times takes no parsing.
func appendTimeText(b []byte, s string) ([]byte, error) {
	if isEndless(s) {
		return appendString(b, s), nil
	}
	const date, utc = len("2006-01-02 15:04:05"), "+00:00"
	if n := len(s) - len(utc); n >= date && s[n:] == utc && s[10] == ' ' && isPlainTime(s[:n]) {
		b = append(b, '"')
		b = append(b, s[:10]...)
		b = append(b, 'T')
		b = append(b, s[11:n]...)
		return append(b, 'Z', '"'), nil
	}
	t, err := parseTime(s)
	if err != nil {
		return b, err
	}
	return appendTime(b, t), nil
}

// isEndless reports whether s is what PostgreSQL has in place of a time or a day before or after all
// others. Callers see it as that text, which they can send back, as a null would replace it.
func isEndless(s string) bool { return s == "infinity" || s == "-infinity" }

// appendDay appends a day, in the form that Dialect.DayText gives it.
func appendDay(b []byte, src any) ([]byte, error) {
	var day string
	switch v := src.(type) {
	case time.Time: // midnight in UTC, of a DATE
		day = v.Format(time.DateOnly)
	case string:
		day = v
	case []byte:
		day = string(v)
	}
	if isEndless(day) {
		return appendString(b, day), nil
	}
	if t, err := time.Parse(time.DateOnly, day); err != nil || t.Year() < 1 {
		return b, fmt.Errorf("read: %q is not a day", fmt.Sprint(src))
	}
	b = append(b, '"')
	b = append(b, day...)
	return append(b, '"'), nil
}

// parseTime reads the text of a time.
func parseTime(s string) (time.Time, error) {
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	if t, ok := parseDistantTime(s); ok {
		return t, nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil { // seconds, as SQLite's driver reads integers
		return time.Unix(n, 0), nil
	}
	return time.Time{}, fmt.Errorf("read: %q is not a time", s)
}

// parsePlace reads a time of a cursor: the id of a row is as PostgreSQL writes it, with BC for what was before the
// year 1.
func parsePlace(s string) (time.Time, error) {
	before, isBC := strings.CutSuffix(s, " BC")
	at, err := parseTime(before)
	if err == nil && isBC {
		at = at.AddDate(1-2*at.Year(), 0, 0)
	}
	return at, err
}

// parseDistantTime reads a time whose year is negative, or has more than the four digits that layouts
// have: as one of a near year with the same days, which is then put where it belongs.
func parseDistantTime(s string) (time.Time, bool) {
	s, negative := strings.CutPrefix(s, "-")
	digits, rest, found := strings.Cut(s, "-")
	year, err := strconv.Atoi(digits)
	if !found || err != nil || len(digits) < 5 && !negative || len(digits) < 4 || len(digits) > 7 {
		return time.Time{}, false
	}
	if negative {
		year = -year
	}
	near := 2000 + (year%400+400)%400
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, strconv.Itoa(near)+"-"+rest); err == nil {
			return t.AddDate(year-near, 0, 0), true
		}
	}
	return time.Time{}, false
}

// timeLayouts are what other writers keep: with an offset, with a T, and
// CURRENT_TIMESTAMP, which is UTC.
var timeLayouts = []string{
	sqltext.SQLiteTime, time.RFC3339Nano, "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999", "2006-01-02",
	"2006-01-02 15:04:05.999999999-07", // of PostgreSQL, in UTC
}

// isPlainTime reports whether s is digits and separators in their places.
func isPlainTime(s string) bool {
	const shape = "0000-00-00 00:00:00.000000000"
	if len(s) > len(shape) || len(s) == len(shape)-9 {
		return false
	}
	for i := range len(s) {
		if c := shape[i]; c == '0' && (s[i] < '0' || s[i] > '9') || c != '0' && s[i] != c {
			return false
		}
	}
	return true
}
