package dynamic

import (
	"encoding/json"
	"fmt"
	"math"
	"time"

	"entgo.io/ent/schema/field"
	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
)

// types are those by which ent's builders know how to pass a value on.
var types = map[descriptor.Storage]field.Type{
	descriptor.Text: field.TypeString, descriptor.Int: field.TypeInt64, descriptor.Float: field.TypeFloat64,
	descriptor.Bool: field.TypeBool, descriptor.Time: field.TypeTime, descriptor.Day: field.TypeTime,
	descriptor.JSON: field.TypeJSON, descriptor.Bytes: field.TypeBytes, descriptor.UUID: field.TypeUUID,
	descriptor.Decimal: field.TypeOther, descriptor.Held: field.TypeOther,
}

// TypeOf returns the type of what is stored in some way.
func TypeOf(s descriptor.Storage) field.Type { return types[s] }

// keptAs returns the type of what valueOf makes for a column.
func keptAs(c *descriptor.Column) field.Type {
	if (c.IsLoose() || c.IsArray()) && c.Storage == descriptor.JSON {
		return field.TypeString
	}
	return TypeOf(c.Storage)
}

// valueOf returns a value of a column as a mutation has it: of one Go type for each way of being
// stored. It takes what the converters of package shim take.
func valueOf(c *descriptor.Column, v any) (out any, err error) {
	if bound, done := v.(shim.Bound); done && c.ShowsAlike() { // as the database has it
		return bound, nil
	}
	if c.Form != nil {
		if _, done := v.(shim.Bound); done {
			return v, nil
		}
		bound, err := c.Form.Bind(v)
		return shim.Bound{V: bound}, err
	}
	if c.IsLoose() && (c.Storage == descriptor.Day || c.Storage == descriptor.JSON) {
		return textOf(c, v)
	}
	if c.IsArray() {
		return arrayOf(c, v)
	}
	switch c.Storage {
	case descriptor.Text, descriptor.Decimal:
		err = shim.Text(v, func(s string) { out = s })
	case descriptor.Int:
		if n, ok := v.(uint64); ok && n > math.MaxInt64 { // of a type that has no sign
			return nil, fmt.Errorf("%d is out of range: want an integer from %d to %d", n, int64(math.MinInt64), int64(math.MaxInt64))
		}
		err = shim.Int(v, func(n int64) { out = n })
	case descriptor.Float:
		err = shim.Float(v, func(x float64) { out = precise(c, x) })
	case descriptor.Bool:
		err = shim.Bool(v, func(b bool) { out = b })
	case descriptor.Time, descriptor.Day:
		err = shim.Time(v, func(t time.Time) { out = t })
	case descriptor.Bytes:
		err = shim.Bytes(v, func(b []byte) { out = b })
	case descriptor.UUID:
		err = shim.UUID(v, func(id uuid.UUID) { out = id })
	case descriptor.JSON:
		err = shim.JSON(v, func(raw json.RawMessage) { out = raw })
	case descriptor.Held:
		err = fmt.Errorf("the column %s is kept in a form that cannot be written here", c.Name)
	}
	return out, err
}

// textOf returns a day, or JSON, as the text that the rows of a column of another program's have, and not as
// the time or the bytes that the driver would make of it.
func textOf(c *descriptor.Column, v any) (out shim.Bound, err error) {
	if c.Storage == descriptor.Day {
		err = shim.Time(v, func(t time.Time) { out.V = t.Format(time.DateOnly) })
		return out, err
	}
	err = shim.JSON(v, func(raw json.RawMessage) { out.V = string(raw) })
	return out, err
}

// precise returns a number with the precision that its column keeps.
func precise(c *descriptor.Column, x float64) any {
	if c.Single {
		return float64(float32(x))
	}
	return x
}
