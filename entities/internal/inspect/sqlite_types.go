package inspect

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
)

// sized takes a declared type apart: a name, and up to two numbers.
var sized = regexp.MustCompile(`^\s*([^(]*?)\s*(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?\s*(?:unsigned|UNSIGNED)?\s*$`)

// sqliteValue returns how a column with a declared type keeps values. SQLite takes nearly every value in
// nearly every column: what does not fit the type is read as the text that it is. A length is no
// limit there.
func sqliteValue(declared string) (v Value, l Limits) {
	name, first, second := declared, 0, 0
	if m := sized.FindStringSubmatch(declared); m != nil {
		name = m[1]
		first, _ = strconv.Atoi(m[2])
		second, _ = strconv.Atoi(m[3])
	}
	name, v.Keeping = strings.ToUpper(name), descriptor.Loose
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(name, w) {
				return true
			}
		}
		return false
	}
	switch {
	case name == "":
		v.Storage = "" // whatever rows have: see sample
	case has("BOOL"):
		v.Storage = descriptor.Bool
	case has("TIMESTAMP", "DATETIME"):
		v.Storage = descriptor.Time
	case name == "DATE":
		v.Storage = descriptor.Day
	case has("JSON"):
		v.Storage = descriptor.JSON
	case has("INT"): // the rules of SQLite's affinities, in their order
		v.Storage = descriptor.Int
	case has("CHAR", "CLOB", "TEXT"):
		v.Storage, v.Short = descriptor.Text, first > 0 && first <= shortText
	case has("BLOB"):
		v.Storage = descriptor.Bytes
	case has("REAL", "FLOA", "DOUB"):
		v.Storage = descriptor.Float
	case has("DEC", "NUMERIC", "NUMBER", "MONEY"):
		v.Storage, v.Affinity = descriptor.Decimal, descriptor.Numeric
		if first > 0 {
			v.Capacity = &descriptor.Capacity{Precision: first, Scale: second}
		}
	default: // UUID, TIME, names of the designer's own
		v.Storage = descriptor.Text
	}
	return v, l
}

// shortText is how many characters a text has at most that is shown as a string rather than a text.
const shortText = 255
