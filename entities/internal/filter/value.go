package filter

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// MaxSafe is the largest integer that JavaScript and JSON numbers hold exactly;
// beyond it integers travel as strings.
const MaxSafe = 1<<53 - 1

// Value checks one value of a field and returns what is bound for it: string,
// int64, float64, bool, []byte or time.Time. v is as Decode returns it. null is
// never a value here: what may be null is asked before.
func Value(c *descriptor.Column, f *catalog.Field, v any, at string) (any, *fault.Detail) {
	bad := func(message string) (any, *fault.Detail) {
		switch message {
		case wrongType:
			message = Quote(f.Name) + " takes " + expected(c, f)
			if s, ok := v.(string); ok && f.Type == catalog.TypeFloat && isNumber(s) {
				message += ": Number(" + Quote(s) + ") is one"
			}
		case outOfRange:
			message = Quote(f.Name) + " stores integers from " + integerRange(f)
		}
		return nil, &fault.Detail{Path: at, Message: message, Expected: expected(c, f), Received: Describe(v)}
	}
	switch f.Type {
	case catalog.TypeBool:
		if b, ok := v.(bool); ok {
			return b, nil
		}
		return bad(wrongType)
	case catalog.TypeInt:
		return integerOrBad(v, bad)
	case catalog.TypeFloat:
		if x, ok := float(c, v); ok {
			return x, nil
		}
		return bad(wrongType)
	case catalog.TypeJSON:
		return bad(Quote(f.Name) + " can be compared with null only")
	case catalog.TypeID:
		return identifier(c, v, bad)
	case catalog.TypeDecimal:
		if s, ok := decimal(v); ok {
			return s, nil
		}
		return bad(wrongType)
	case catalog.TypeString, catalog.TypeText, catalog.TypeEnum, catalog.TypeTime, catalog.TypeDay, catalog.TypeUUID, catalog.TypeBytes:
	}
	s, ok := v.(string)
	if !ok {
		return bad(wrongType)
	}
	if strings.ContainsRune(s, 0) {
		return bad(Quote(f.Name) + " takes a string without NUL characters")
	}
	return fromString(f, s, bad)
}

// isNumber reports whether a text is a number in JSON.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && len(s) <= maxShown && json.Valid([]byte(s))
}

// integerRange is the range of a field's integers, which are 64 bits wide where it has none of its
// own.
func integerRange(f *catalog.Field) string {
	least, most := "-9223372036854775808", "9223372036854775807"
	if f.Min != nil {
		least = strconv.FormatFloat(*f.Min, 'f', -1, 64)
	}
	if f.Max != nil {
		most = strconv.FormatFloat(*f.Max, 'f', -1, 64)
	}
	return least + " to " + most
}

type refuseFunc func(message string) (any, *fault.Detail)

// wrongType stands for the message that a field takes something else, which is
// put together only when it is needed; outOfRange for that of an integer which
// neither database has a place for, whatever the field's Go type holds.
const (
	wrongType  = ""
	outOfRange = "range"
)

func fromString(f *catalog.Field, s string, bad refuseFunc) (any, *fault.Detail) {
	switch f.Type {
	case catalog.TypeEnum:
		if !slices.Contains(f.Enum, s) {
			return bad(Quote(s) + " is not a value of " + Quote(f.Name) + fault.DidYouMean(s, f.Enum))
		}
	case catalog.TypeTime:
		t, ok := moment(s)
		if !ok {
			return bad(wrongType)
		}
		return t, nil
	case catalog.TypeDay:
		day, problem := parseDay(s)
		if problem != "" {
			return bad(Quote(f.Name) + " " + problem)
		}
		return day, nil
	case catalog.TypeUUID:
		id, err := uuid.Parse(s)
		if err != nil || len(s) != 36 {
			return bad(wrongType)
		}
		return id.String(), nil
	case catalog.TypeBytes:
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return bad(wrongType)
		}
		return raw, nil
	case catalog.TypeString, catalog.TypeText, catalog.TypeInt, catalog.TypeFloat, catalog.TypeBool, catalog.TypeID, catalog.TypeJSON, catalog.TypeDecimal:
	}
	return s, nil
}

// identifier takes ids in their native and in their string form.
func identifier(c *descriptor.Column, v any, bad refuseFunc) (any, *fault.Detail) {
	s, isText := v.(string)
	storage := c.Storage
	if len(c.Parts) > 0 {
		if id, ok := partedKey(c, v); ok && !strings.ContainsRune(id, 0) {
			return id, nil
		}
		return bad(wrongType)
	}
	if c.Form != nil {
		storage = descriptor.Text
	}
	switch storage {
	case descriptor.Int:
		if isText {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil && strconv.FormatInt(n, 10) == s {
				return n, nil
			}
			if c.IsLoose() && s != "" && !strings.ContainsRune(s, 0) { // rows may have an id that is none
				return s, nil
			}
		}
		return integerOrBad(v, bad)
	case descriptor.UUID:
		if id, err := uuid.Parse(s); isText && err == nil && len(s) == 36 {
			return id.String(), nil
		}
		return bad(wrongType)
	case descriptor.Text, descriptor.Float, descriptor.Bool, descriptor.Time, descriptor.Day, descriptor.JSON, descriptor.Bytes, descriptor.Decimal, descriptor.Held:
	}
	if !isText || strings.ContainsRune(s, 0) {
		return bad(wrongType)
	}
	return s, nil
}

// Held returns what a column holds for a value that Value has checked.
func Held(c *descriptor.Column, f *catalog.Field, v any, at string) (any, *fault.Detail) {
	if c.Form == nil || f.Type == catalog.TypeDecimal { // decimals compare as numbers, however they are kept
		return v, nil
	}
	held, err := c.Form.Bind(v)
	if err != nil {
		return nil, &fault.Detail{Path: at, Message: Quote(f.Name) + ": " + err.Error(), Received: Describe(v)}
	}
	return held, nil
}

// Key checks an id of an entity, in its native or its string form, and gives
// it as Value does.
func Key(e *descriptor.Entity, v any, at string) (any, *fault.Detail) {
	if v == nil {
		return nil, &fault.Detail{Path: at, Message: fault.Subject(at) + " " + nullID, Expected: "an id"}
	}
	f := e.Resource.Key
	f.Type = catalog.TypeID
	return Value(&e.Key, &f, v, at)
}

// nullID says of an id that is null where it may come from: what was read for it had none.
const nullID = "must be an id, not null: a relationship that is not set, an optional field, and a result of findById can be null; check it before the call"

func integerOrBad(v any, bad refuseFunc) (any, *fault.Detail) {
	if n, ok := integer(v); ok {
		return n, nil
	}
	if exceedsInt64(v) {
		return bad(outOfRange)
	}
	return bad(wrongType)
}

// exceedsInt64 reports whether a value is the digits of an integer of more than 64 bits with
// its sign.
func exceedsInt64(v any) bool {
	s, ok := v.(string)
	if number, isNumber := v.(json.Number); isNumber {
		s, ok = number.String(), true
	}
	_, err := strconv.ParseInt(s, 10, 64)
	return ok && errors.Is(err, strconv.ErrRange) && s[0] != '+'
}

// integer takes numbers that are integers, and strings of their digits: an id that was read is such a
// string, and so is every integer beyond MaxSafe.
func integer(v any) (int64, bool) {
	s, ok := v.(string)
	if !ok {
		return Integer(v)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}

// Integer takes a number as Decode returns it that JSON Schema calls an integer:
// 1, 1.0, 1e3.
func Integer(v any) (int64, bool) {
	number, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	s := number.String()
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, true
	}
	// Exact arithmetic on 1e-999999999 would fill the memory.
	_, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if len(s) > maxShown || len(exponent) > len("+99") {
		return 0, false
	}
	exact, ok := new(big.Rat).SetString(s)
	if !ok || !exact.IsInt() || !exact.Num().IsInt64() {
		return 0, false
	}
	n := exact.Num().Int64()
	return n, n >= -MaxSafe && n <= MaxSafe
}

// float takes a number that the column can keep, as the column keeps it: what is
// written is found again by the same number.
func float(c *descriptor.Column, v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	x, err := n.Float64()
	if c.Single && err == nil {
		x = float64(float32(x))
	}
	return x, err == nil && !math.IsInf(x, 0)
}

// decimal takes a number or a plain decimal string and returns its text.
func decimal(v any) (string, bool) {
	var s string
	switch v := v.(type) {
	case json.Number:
		s = v.String()
	case string:
		s = v
	default:
		return "", false
	}
	if x, err := strconv.ParseFloat(s, 64); err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return "", false
	}
	return s, len(s) <= maxShown && strings.Trim(s, "+-0123456789.eE") == ""
}

// rfc3339 is the form that time.Parse is more lenient about: hours of one digit,
// commas, offsets beyond a day.
var rfc3339 = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`)

// moment reads RFC 3339 as it is written, to the nanosecond.
func moment(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || !rfc3339.MatchString(s) {
		return t, false
	}
	t = t.UTC()
	return t, t.Year() >= 1 && t.Year() <= 9999
}

// expected is how a report names what a field takes.
func expected(c *descriptor.Column, f *catalog.Field) string {
	switch f.Type {
	case catalog.TypeBool:
		return "a boolean"
	case catalog.TypeInt:
		return "an integer, as a number or its digits"
	case catalog.TypeFloat:
		if c.Single {
			return "a number that fits a 32-bit float"
		}
		return "a number"
	case catalog.TypeTime:
		return "an RFC 3339 time such as 2026-01-31T08:00:00Z"
	case catalog.TypeDay:
		return "a day such as 2026-01-31"
	case catalog.TypeEnum:
		return "one of " + fault.Choices(f.Enum)
	case catalog.TypeBytes:
		return "a base64 string"
	case catalog.TypeDecimal:
		return "a decimal, as a string or number"
	case catalog.TypeUUID:
		return "a UUID"
	case catalog.TypeID:
		if c.Form != nil {
			return "an id string"
		}
		switch c.Storage {
		case descriptor.Int:
			return "an integer id, as a number or string"
		case descriptor.UUID:
			return "a UUID"
		case descriptor.Text, descriptor.Float, descriptor.Bool, descriptor.Time, descriptor.Day, descriptor.JSON, descriptor.Bytes, descriptor.Decimal, descriptor.Held:
		}
		return "an id string"
	case catalog.TypeJSON:
		return "null"
	case catalog.TypeString, catalog.TypeText:
	}
	return "a string"
}

// Describe names a value of an input in a report: its type, and short scalars
// themselves.
func Describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return fmt.Sprintf("boolean %t", v)
	case json.Number:
		return "number " + fault.Clip(v.String(), maxShown)
	case string:
		return "string " + Quote(v)
	case []any:
		return fmt.Sprintf("array of %d", len(v))
	}
	return "object"
}
