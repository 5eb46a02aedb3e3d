package migrate

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ariga.io/atlas/sql/postgres"
	"ariga.io/atlas/sql/schema"
)

// PostgreSQL changes the type of a column by an assignment cast, and many of these lose something
// without a word: they round, cut off, pad, or read a time in the session's zone. The conditions
// here are true of the values that would not be the same. They are asked of values before a
// change, so they never fail: a cast that may be out of range is guarded.

// intWidths are the bits of integers.
var intWidths = map[string]int{postgres.TypeSmallInt: 16, postgres.TypeInteger: 32, postgres.TypeBigInt: 64}

// losing returns the condition of the values of a column that a change of its type in PostgreSQL
// loses; "" where it loses none, or where the database itself refuses what does not convert.
func losing(from, to schema.Type, column string) string {
	from, to = spelledOut(from), spelledOut(to)
	switch t := to.(type) {
	case *schema.IntegerType:
		return losingInteger(from, column, intWidths[t.T])
	case *schema.FloatType:
		return losingFloat(from, column, t.T)
	case *schema.DecimalType:
		return losingDecimal(from, t, column)
	case *schema.StringType:
		return losingString(from, t, column)
	case *schema.TimeType:
		if f, ok := from.(*schema.TimeType); ok {
			return losingTime(f, t, column)
		}
	case *schema.JSONType:
		if f, ok := from.(*schema.JSONType); ok && f.T == postgres.TypeJSON && t.T == postgres.TypeJSONB {
			// A key that stands there twice: jsonb keeps the last one.
			bare := "length(regexp_replace(CAST(%s AS text), '\\s', '', 'g'))"
			return fmt.Sprintf(bare+" <> "+bare, column, "CAST("+column+" AS jsonb)")
		}
	}
	return ""
}

// spelledOut returns a type under the name that the database has for it.
func spelledOut(t schema.Type) schema.Type {
	text, err := postgres.FormatType(t)
	if err != nil {
		return t
	}
	if parsed, err := postgres.ParseType(text); err == nil {
		return parsed
	}
	return t
}

func losingInteger(from schema.Type, c string, width int) string {
	if width == 0 {
		return ""
	}
	least, most := strconv.FormatInt(math.MinInt64>>(64-width), 10), strconv.FormatInt(math.MaxInt64>>(64-width), 10)
	switch f := from.(type) {
	case *schema.IntegerType:
		if intWidths[f.T] > width {
			return fmt.Sprintf("%s NOT BETWEEN %s AND %s", c, least, most)
		}
	case *schema.FloatType:
		// The bound is a power of two, which a float has.
		bound := strconv.FormatFloat(math.Ldexp(1, width-1), 'f', 1, 64)
		return fmt.Sprintf("trunc(%[1]s) <> %[1]s OR NOT (%[1]s >= CAST(-%[2]s AS float8) AND %[1]s < CAST(%[2]s AS float8))", c, bound)
	case *schema.DecimalType:
		return fmt.Sprintf("trunc(%[1]s) <> %[1]s OR %[1]s NOT BETWEEN %[2]s AND %[3]s", c, least, most)
	}
	return ""
}

func losingFloat(from schema.Type, c, to string) string {
	lowest, highest := "1e-307", "1.7e308"
	if to == postgres.TypeReal {
		lowest, highest = "1.2e-38", "3.4e38"
	}
	within := fmt.Sprintf("abs(%s) BETWEEN %s AND %s", c, lowest, highest)
	switch f := from.(type) {
	case *schema.IntegerType:
		return fmt.Sprintf("CASE WHEN abs(CAST(%[1]s AS numeric)) < 9.2e18 THEN CAST(CAST(CAST(%[1]s AS %[2]s) AS float8) AS bigint) <> %[1]s ELSE true END", c, to)
	case *schema.FloatType:
		if typeRank(floats, f.T, to) {
			return ""
		}
		return fmt.Sprintf("CASE WHEN %[1]s IN (0, 'NaN', 'Infinity', '-Infinity') THEN false WHEN %[2]s THEN CAST(CAST(%[1]s AS real) AS float8) <> %[1]s ELSE true END", c, within)
	case *schema.DecimalType:
		return fmt.Sprintf("CASE WHEN %[1]s IN (0, 'NaN') THEN false WHEN %[2]s THEN CAST(CAST(CAST(%[1]s AS %[3]s) AS text) AS numeric) <> %[1]s ELSE true END", c, within, to)
	}
	return ""
}

func losingDecimal(from schema.Type, to *schema.DecimalType, c string) string {
	limited := to.Precision > 0
	room := fmt.Sprintf("1e%d", to.Precision-to.Scale)
	switch f := from.(type) {
	case *schema.IntegerType:
		if limited {
			return fmt.Sprintf("abs(CAST(%s AS numeric)) >= %s", c, room)
		}
	case *schema.DecimalType:
		if limited && !widens(f, to) {
			return fmt.Sprintf("%[1]s <> 'NaN' AND (round(%[1]s, %[2]d) <> %[1]s OR abs(%[1]s) >= %[3]s)", c, to.Scale, room)
		}
	case *schema.FloatType:
		number, more := "CAST("+c+" AS numeric)", ""
		if limited {
			more = fmt.Sprintf(" OR abs(%s) >= %s", number, room)
			number = fmt.Sprintf("round(%s, %d)", number, to.Scale)
		}
		return fmt.Sprintf("CASE WHEN %[1]s = 'NaN' THEN false WHEN %[1]s IN ('Infinity', '-Infinity') THEN true ELSE CAST(%[2]s AS %[3]s) <> %[1]s%[4]s END", c, number, f.T, more)
	}
	return ""
}

// isPadded reports whether a type fills its values up with spaces.
func isPadded(t schema.Type) bool {
	s, ok := t.(*schema.StringType)
	return ok && slices.Contains([]string{postgres.TypeCharacter, postgres.TypeChar, postgres.TypeBPChar}, strings.ToLower(s.T))
}

func losingString(from schema.Type, to *schema.StringType, c string) string {
	text := "CAST(" + c + " AS text)"
	switch {
	case isBinary(from): // its text is another
		return c + " IS NOT NULL"
	case isPadded(to) && isPadded(from):
		return fmt.Sprintf("length(%s) > %d", c, max(to.Size, 1))
	case isPadded(to):
		return fmt.Sprintf("length(%s) <> %d", text, max(to.Size, 1))
	case isPadded(from): // the spaces that readers got are gone
		return fmt.Sprintf("length(%s) <> %d", c, max(from.(*schema.StringType).Size, 1))
	case to.Size > 0:
		return fmt.Sprintf("length(%s) > %d", text, to.Size)
	}
	return ""
}

func isBinary(t schema.Type) bool { _, ok := t.(*schema.BinaryType); return ok }

// mostFraction is how many digits of a second PostgreSQL keeps at most.
const mostFraction = 6

// fraction is how many digits of a second a type of times keeps.
func fraction(t *schema.TimeType) int {
	if t.Precision == nil {
		return mostFraction
	}
	return *t.Precision
}

// isInstant reports whether a type has a day and a time of day.
func isInstant(t *schema.TimeType) bool { return isZoned(t) || isUnzoned(t) }

func isZoned(t *schema.TimeType) bool {
	return t.T == postgres.TypeTimestampTZ || t.T == postgres.TypeTimestampWTZ
}

func isUnzoned(t *schema.TimeType) bool {
	return t.T == postgres.TypeTimestamp || t.T == postgres.TypeTimestampWOTZ
}

func losingTime(from, to *schema.TimeType, c string) string {
	switch {
	case isInstant(from) && to.T == postgres.TypeDate:
		if isZoned(from) {
			c = "(" + c + " AT TIME ZONE 'UTC')"
		}
		return fmt.Sprintf("date_trunc('day', %[1]s) <> %[1]s", c)
	case isInstant(from) && isInstant(to) && fraction(to) < fraction(from):
		return fmt.Sprintf("CAST(%[1]s AS %[2]s(%[3]d)) <> %[1]s", c, map[bool]string{true: "timestamptz", false: "timestamp"}[isZoned(from)], fraction(to))
	case isInstant(from) && !isInstant(to): // to a time of day
		return c + " IS NOT NULL"
	case !isInstant(from) && from.T == to.T && fraction(to) < fraction(from) && from.T != postgres.TypeDate:
		return fmt.Sprintf("CAST(%[1]s AS %[2]s) <> %[1]s", c, strings.Replace(to.T, "time", fmt.Sprintf("time(%d)", fraction(to)), 1))
	}
	return ""
}
