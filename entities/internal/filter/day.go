package filter

import (
	"regexp"
	"strconv"
	"time"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// dayLike are texts that start as a day does, whatever the number of digits.
var dayLike = regexp.MustCompile(`^(\d{4})-(\d{1,2})-(\d{1,2})(.*)$`)

// parseDay reads YYYY-MM-DD. problem is what is wrong otherwise, to stand behind the name
// of the field; where it is plain which day is meant, it says how that is written.
func parseDay(s string) (day time.Time, problem string) {
	day, err := time.Parse(time.DateOnly, s)
	if err == nil && day.Year() >= 1 {
		return day, ""
	}
	parts := dayLike.FindStringSubmatch(s)
	if parts == nil {
		return day, "takes a day such as 2026-01-31"
	}
	year, _ := strconv.Atoi(parts[1])
	month, _ := strconv.Atoi(parts[2])
	number, _ := strconv.Atoi(parts[3])
	meant := time.Date(year, time.Month(month), number, 0, 0, 0, 0, time.UTC)
	text := meant.Format(time.DateOnly)
	_, errTime := time.Parse(time.RFC3339Nano, s)
	switch {
	case year < 1 || meant.Year() != year || int(meant.Month()) != month || meant.Day() != number:
		return day, "takes a day from 0001-01-01 to 9999-12-31: the calendar has no such day"
	case errTime == nil:
		return day, "takes a day, not a time: write " + Quote(text) + ", without time and zone; of a Date d that is d.toISOString().slice(0, 10)"
	case parts[4] != "":
		return day, "takes a day such as " + text + ", without anything behind it"
	}
	return day, "takes a day with two digits for month and day: " + Quote(text)
}

// dayOperand is a column of days that is compared for equality with a list.
type dayOperand struct{ plain }

func (c dayOperand) bind(b *sqltext.Builder, v any) {
	first, _ := b.Dialect.Days(v.(time.Time))
	b.Arg(first)
}

// whereDay compares a column of days with one such that an index can be used, in whichever
// form the column keeps its days.
func (n *compare) whereDay(b *sqltext.Builder, a sqltext.Alias, c plain, negate bool) {
	first, last := b.Dialect.Days(n.value.(time.Time))
	op := n.op
	if negate {
		op = opposite[op]
	}
	orNull(b, a, c, negate, func() {
		b.Column(a, c.Name)
		switch op {
		case "=":
			b.Raw(" BETWEEN ").Arg(first).Raw(" AND ").Arg(last)
		case "<>":
			b.Raw(" NOT BETWEEN ").Arg(first).Raw(" AND ").Arg(last)
		case "<", ">=":
			b.Raw(op).Arg(first)
		default:
			b.Raw(op).Arg(last)
		}
	})
}
