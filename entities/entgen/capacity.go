package entgen

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"
	"entgo.io/ent/entc/gen"
	"entgo.io/ent/schema/field"

	"github.com/koan-go/koan/entities/descriptor"
)

// columnType takes a SchemaType apart: its name, up to two numbers in parentheses, and whatever
// follows, as in timestamp(3) with time zone.
var columnType = regexp.MustCompile(`^([a-z0-9]+(?: [a-z]+)*) *(?:\( *(\d{1,9}) *(?:, *(-?\d{1,4}) *)?\))?(?: with(?:out)? time zone)?$`)

// declaredType is a SchemaType that was taken apart.
type declaredType struct {
	name          string
	first, second int
	sized         bool // first was given
}

func parseColumnType(typ string) (t declaredType, ok bool) {
	m := columnType.FindStringSubmatch(strings.ToLower(strings.TrimSpace(typ)))
	if m == nil {
		return t, false
	}
	t.name, t.sized = m[1], m[2] != ""
	t.first, _ = strconv.Atoi(m[2])
	t.second, _ = strconv.Atoi(m[3])
	return t, true
}

// integerBounds are the widths of integers on PostgreSQL. SQLite's all have 64 bits, whatever
// they are called.
var integerBounds = map[string][2]int64{
	"smallint": {math.MinInt16, math.MaxInt16}, "int2": {math.MinInt16, math.MaxInt16}, "smallserial": {math.MinInt16, math.MaxInt16}, "serial2": {math.MinInt16, math.MaxInt16},
	"integer": {math.MinInt32, math.MaxInt32}, "int": {math.MinInt32, math.MaxInt32}, "int4": {math.MinInt32, math.MaxInt32}, "serial": {math.MinInt32, math.MaxInt32}, "serial4": {math.MinInt32, math.MaxInt32},
}

// capacityOf returns what the column type of a field keeps of its values, nil where it keeps all:
// that on PostgreSQL or, where the schema names none for it, that on SQLite, which makes nothing of
// a length or a precision. They count on both databases, so that both keep the same.
func capacityOf(f *gen.Field, s shape) *descriptor.Capacity {
	var c descriptor.Capacity
	name, typ := dialect.Postgres, f.Column().SchemaType[dialect.Postgres]
	if typ == "" {
		name, typ = dialect.SQLite, f.Column().SchemaType[dialect.SQLite]
	}
	t, ok := parseColumnType(typ)
	switch {
	case !ok:
	case s.Storage == descriptor.Decimal, s.Storage == descriptor.Float, s.Storage == descriptor.Int:
		numericCapacity(&c, t, name)
	case s.Storage == descriptor.Text && f.Type.Type == field.TypeString && s.Seen == "":
		textCapacity(&c, t, name)
	case s.Storage == descriptor.Time && t.sized && (strings.HasPrefix(t.name, "timestamp") || t.name == "datetime"):
		c.SecondDigits = &t.first
	}
	if c == (descriptor.Capacity{}) {
		return nil
	}
	return &c
}

func numericCapacity(c *descriptor.Capacity, t declaredType, name string) {
	bounds, integer := integerBounds[t.name]
	switch {
	case (t.name == "numeric" || t.name == "decimal") && t.sized:
		c.Precision, c.Scale = t.first, t.second
	case integer && name == dialect.Postgres:
		c.Least, c.Most = bounds[0], bounds[1]
	}
}

func textCapacity(c *descriptor.Capacity, t declaredType, name string) {
	length := t.first
	if !t.sized {
		length = 1 // of char and bit, which mean char(1) and bit(1)
	}
	switch t.name {
	case "varchar", "character varying", "nvarchar":
		c.Length = t.first
	case "char", "character", "nchar":
		c.Length = length
	case "bpchar":
		c.Length = t.first
	case "varbit", "bit varying":
		if name == dialect.Postgres {
			c.Length, c.Bits = t.first, true
		}
	case "bit":
		if name == dialect.Postgres {
			c.Length, c.Bits, c.Fixed = length, true, true
		}
	}
}

// isSingleColumn reports whether PostgreSQL keeps a field's numbers in 32 bits.
func isSingleColumn(f *gen.Field) bool {
	t, ok := parseColumnType(f.Column().SchemaType[dialect.Postgres])
	return ok && (t.name == "real" || t.name == "float4" || t.name == "float" && t.sized && t.first <= 24)
}
