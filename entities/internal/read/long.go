package read

import (
	"regexp"
	"strconv"
	"unicode/utf8"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// MaxValue is how many bytes a text may take that groups are made by, that is counted as a
// different value, or that is compared within groups. To sort such values SQLite holds
// one of each two megabytes of them, and to count them it reads them again and again.
const MaxValue = 4 << 10

// isUnbounded reports whether nothing keeps the values of a field within so many bytes.
func isUnbounded(f *catalog.Field, c *descriptor.Column, most int) bool {
	switch c.Storage {
	case descriptor.Text, descriptor.Bytes, descriptor.Held:
		return f == nil || len(f.Enum) == 0 && (f.MaxLength == nil || *f.MaxLength*utf8.UTFMax > most)
	case descriptor.Int, descriptor.Float, descriptor.Bool, descriptor.Time, descriptor.Day, descriptor.JSON, descriptor.UUID, descriptor.Decimal:
	}
	return false
}

// longMark is what a database's error says of a value that is too long, before the number
// of its column in the statement and its length.
const longMark = "koan too long "

var tooLong = regexp.MustCompile(longMark + `(\d+) (\d+)`)

// boundLength appends an expression that is 0, and ends the statement where a value of a column
// takes more than so many bytes; longValue knows the error by the column's number.
func boundLength(b *sqltext.Builder, t sqltext.Alias, c *descriptor.Column, most, number int) {
	value := func(b *sqltext.Builder) {
		if c.Name == "" { // an id of several columns
			filter.KeyText(b, t, c)
			return
		}
		b.Column(t, c.Name)
	}
	b.Dialect.Bound(b, value, c.Storage == descriptor.Bytes, most, longMark+strconv.Itoa(number)+" ")
}

// boundError returns the number of the column and the length of a value that bound refused.
func boundError(err error) (number, size int, ok bool) {
	found := tooLong.FindStringSubmatch(err.Error())
	if found == nil {
		return 0, 0, false
	}
	number, _ = strconv.Atoi(found[1])
	size, _ = strconv.Atoi(found[2])
	return number, size, true
}
