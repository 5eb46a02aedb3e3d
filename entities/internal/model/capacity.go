package model

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// Exceeds says in which way a value is more than its column keeps, "" where the column keeps it
// as it is. Of decimals, numbers and texts v is a string, int64 or float64, of times a time.Time.
func Exceeds(c *descriptor.Column, v any) string {
	if c.Capacity == nil {
		return ""
	}
	switch v := v.(type) {
	case time.Time:
		return exceedsSeconds(c.Capacity, v)
	case int64:
		if least, most := c.Capacity.Least, c.Capacity.Most; least < most && (v < least || v > most) {
			return fmt.Sprintf("must be from %d to %d, not %d", least, most, v)
		}
		return exceedsDigits(c.Capacity, strconv.FormatInt(v, 10))
	case float64:
		return exceedsDigits(c.Capacity, strconv.FormatFloat(v, 'e', -1, 64))
	case string:
		if c.Storage == descriptor.Text {
			return exceedsLength(c.Capacity, v)
		}
		return exceedsDigits(c.Capacity, v)
	}
	return ""
}

func exceedsDigits(c *descriptor.Capacity, text string) string {
	before, behind, ok := sqltext.DecimalDigits(text)
	switch {
	case c.Precision == 0 || !ok:
		return ""
	case before > c.Precision-c.Scale:
		return fmt.Sprintf("must have at most %s before the point, not %d", digits(c.Precision-c.Scale), before)
	case behind > c.Scale && c.Scale <= 0:
		return "must be a multiple of 1" + strings.Repeat("0", -c.Scale)
	case behind > c.Scale:
		return fmt.Sprintf("must have at most %s after the point, not %d", digits(c.Scale), behind)
	}
	return ""
}

func digits(n int) string {
	if n == 1 {
		return "1 digit"
	}
	return strconv.Itoa(n) + " digits"
}

func exceedsLength(c *descriptor.Capacity, text string) string {
	n := utf8.RuneCountInString(text)
	switch {
	case c.Length > 0 && n > c.Length:
		return fmt.Sprintf("must have at most %d characters, not %d", c.Length, n)
	case c.Fixed && n < c.Length:
		return fmt.Sprintf("must have %d characters, not %d", c.Length, n)
	case c.Bits && strings.Trim(text, "01") != "":
		return "must have no other characters than 0 and 1"
	}
	return ""
}

func exceedsSeconds(c *descriptor.Capacity, at time.Time) string {
	if c.SecondDigits == nil || at.Equal(at.Truncate(secondStep(*c.SecondDigits))) {
		return ""
	}
	if *c.SecondDigits == 0 {
		return "must be a time in whole seconds"
	}
	return fmt.Sprintf("must have at most %s of a second", digits(*c.SecondDigits))
}

// secondStep is the least time that a column with some digits of a second keeps.
func secondStep(digits int) time.Duration {
	step := time.Second
	for range min(digits, 9) {
		step /= 10
	}
	return step
}

// RoundTime returns a time as its column keeps it, in the way of PostgreSQL. It is for times that
// code takes from a clock, which nobody has written with some number of digits.
func RoundTime(c *descriptor.Column, at time.Time) time.Time {
	if c.Capacity == nil || c.Capacity.SecondDigits == nil {
		return at
	}
	return at.Round(secondStep(*c.Capacity.SecondDigits))
}
