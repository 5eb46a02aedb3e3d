package read

import (
	"bytes"
	"database/sql/driver"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// kind is how a column's value becomes JSON.
type kind uint8

const (
	kindText kind = iota // also what is a string outside whatever it is inside: ids, decimals
	kindInt
	kindFloat
	kindSingle
	kindBool
	kindTime
	kindDay
	kindJSON
	kindFloats // JSON whose numbers are floats
	kindBytes
	kindForeignText // of columns that another program fills: bytes that are no text are base64
	kindForeignJSON
	kindHeld        // what the column's form makes of it
	kindHeldDecimal // the same of a decimal, which is shown as it is stored where the form does not take it
)

func kindOf(f *catalog.Field, c *descriptor.Column) kind {
	if f.Type == catalog.TypeID {
		return kindText
	}
	switch c.Storage {
	case descriptor.Int:
		return kindInt
	case descriptor.Float:
		if c.Single {
			return kindSingle
		}
		return kindFloat
	case descriptor.Bool:
		return kindBool
	case descriptor.Time:
		return kindTime
	case descriptor.Day:
		return kindDay
	case descriptor.JSON:
		switch {
		case c.IsLoose():
			return kindForeignJSON
		case bytes.Contains(f.Schema, []byte(`"number"`)):
			return kindFloats
		}
		return kindJSON
	case descriptor.Bytes:
		return kindBytes
	case descriptor.Text, descriptor.UUID, descriptor.Decimal, descriptor.Held:
	}
	if c.IsLoose() {
		return kindForeignText
	}
	return kindText
}

// cell is where database/sql delivers one column: it appends the column to the
// row's JSON and keeps nothing. Cells of one row are scanned from left to right.
type cell struct {
	out  *[]byte
	kind kind
	form descriptor.Form // of kindHeld
	key  string
	keep *any // where the raw value goes as well; nil for most
	raw  bool // keep only, append nothing
	sum  bool // computed: there is an end to it
	// scale is how many digits a decimal has behind its point, 0 for as many as are stored.
	scale int
}

// Scan implements sql.Scanner.
func (c *cell) Scan(src any) error {
	if c.keep != nil {
		switch v := src.(type) {
		case []byte:
			*c.keep = keyBytes(v)
		case time.Time: // in the form that cursors have
			*c.keep = v.UTC().Format(sqltext.SQLiteTime)
		default:
			*c.keep = src
		}
		if c.raw {
			return nil
		}
	}
	if v, ok := src.(float64); ok && c.sum {
		if math.IsInf(v, 0) {
			return errFloatSum
		}
		src = withoutNoise(v)
	}
	b := append(*c.out, c.key...)
	if src == nil {
		*c.out = append(b, "null"...)
		return nil
	}
	var err error
	before := len(b)
	if c.form != nil {
		b, err = appendFormValue(b, c.form, src)
	} else {
		b, err = appendValue(b, c.kind, src)
	}
	switch {
	case err == nil, c.sum: // of a sum it is what the rows are together
	case c.kind == kindHeld:
		err = formFault(c.key, err)
	default:
		b, err = appendMisfit(b[:before], c.kind, src), nil
	}
	if c.scale > 0 && err == nil {
		b = padDecimal(b, len(*c.out)+len(c.key), c.scale)
	}
	*c.out = b
	return err
}

// padDecimal adds zeros to the JSON string that begins at a place, up to as many digits after the point as its
// column has: PostgreSQL keeps them, while SQLite and many types in Go drop them.
func padDecimal(b []byte, from, scale int) []byte {
	if n := len(b); n-from > 2 && b[from] == '"' {
		return append(append(b[:from+1], sqltext.PadDecimal(string(b[from+1:n-1]), scale)...), '"')
	}
	return b
}

// keyBytes is bytes that are kept to be compared and bound again.
type keyBytes string

// Value implements driver.Valuer.
func (b keyBytes) Value() (driver.Value, error) { return []byte(b), nil }

// appendFormValue returns the JSON of what callers see of a value.
func appendFormValue(b []byte, form descriptor.Form, src any) ([]byte, error) {
	seen, err := form.Show(src)
	if err != nil {
		return b, err
	}
	switch v := seen.(type) {
	case nil:
		return append(b, "null"...), nil
	case string:
		return appendString(b, v), nil
	case int64:
		return appendInteger(b, v), nil
	case float64:
		return appendFloat(b, v), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case time.Time:
		return appendTime(b, v), nil
	case json.RawMessage:
		return appendJSON(b, []byte(v), true)
	case []byte:
		return appendBase64(b, v), nil
	}
	return b, fmt.Errorf("read: a form returned a %T", seen)
}

// errSum is what a sum of integers ends in that no integer holds, in SQLite's
// words; errFloatSum that of floats, in PostgreSQL's.
var (
	errSum      = errors.New("integer overflow")
	errFloatSum = errors.New("value out of range: overflow")
)

func appendValue(b []byte, k kind, src any) ([]byte, error) {
	switch k {
	case kindText:
		return appendText(b, src)
	case kindForeignText, kindForeignJSON:
		if v, ok := src.([]byte); ok && !utf8.Valid(v) {
			return appendBase64(b, v), nil
		}
		if k == kindForeignJSON {
			return appendJSON(b, src, true)
		}
		return appendText(b, src)
	case kindInt:
		switch v := src.(type) {
		case int64:
			return appendInteger(b, v), nil
		case string: // PostgreSQL's sums of integers
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				return b, errSum
			}
			return appendInteger(b, n), nil
		}
	case kindSingle:
		if v, ok := src.(float64); ok {
			return appendDigits(b, v, 32), nil
		}
		return appendValue(b, kindFloat, src)
	case kindFloat:
		switch v := src.(type) {
		case float64:
			return appendFloat(b, v), nil
		case int64:
			return strconv.AppendInt(b, v, 10), nil
		case string: // a decimal column
			if x, err := strconv.ParseFloat(v, 64); err == nil {
				return appendFloat(b, x), nil
			}
		}
	case kindBool:
		switch v := src.(type) {
		case bool:
			return strconv.AppendBool(b, v), nil
		case int64:
			if v == 0 || v == 1 {
				return strconv.AppendBool(b, v != 0), nil
			}
		}
	case kindDay:
		return appendDay(b, src)
	case kindTime:
		if t, ok := src.(time.Time); ok {
			return appendTime(b, t), nil
		}
		if s, ok := src.(string); ok {
			return appendTimeText(b, s)
		}
	case kindJSON:
		return appendJSON(b, src, true)
	case kindFloats:
		return appendJSON(b, src, false)
	case kindBytes:
		switch v := src.(type) {
		case []byte:
			return appendBase64(b, v), nil
		case string:
			return appendBase64(b, []byte(v)), nil
		}
	}
	return b, fmt.Errorf("read: unexpected %T for the column's descriptor", src)
}

// appendText returns a JSON string, also for what the database keeps as a number.
func appendText(b []byte, src any) ([]byte, error) {
	switch v := src.(type) {
	case string:
		return appendString(b, v), nil
	case []byte:
		return appendString(b, string(v)), nil
	case int64:
		b = append(b, '"')
		return append(strconv.AppendInt(b, v, 10), '"'), nil
	case float64:
		if isEndlessNumber(v) {
			return appendFloat(b, v), nil
		}
		b = append(b, '"')
		return append(strconv.AppendFloat(b, v, 'f', -1, 64), '"'), nil
	case bool:
		b = append(b, '"')
		return append(strconv.AppendBool(b, v), '"'), nil
	case time.Time:
		return appendTime(b, v), nil
	}
	return b, fmt.Errorf("read: got %T, want text", src)
}

// appendInteger returns a number, or a string where a JavaScript number would lose
// digits.
func appendInteger(b []byte, n int64) []byte {
	if n > filter.MaxSafe || n < -filter.MaxSafe {
		b = append(b, '"')
		return append(strconv.AppendInt(b, n, 10), '"')
	}
	return strconv.AppendInt(b, n, 10)
}

// withoutNoise returns a sum or an average without what binary arithmetic has added to a number of
// at most 12 digits: 12.13 and 2.99 are 15.12, not 15.120000000000001. All others it leaves alone.
func withoutNoise(v float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	if err != nil || rounded == v { // beyond the largest float
		return v
	}
	digits, _, _ := strings.Cut(strings.TrimLeft(strconv.FormatFloat(rounded, 'e', -1, 64), "-"), "e")
	if len(strings.Replace(digits, ".", "", 1)) > 12 {
		return v
	}
	return rounded
}

// appendMisfit returns a stored value that is none of its column's kind, since another program wrote it or
// the column had another type before, as the text that it is. Like that callers can send it
// back, filter the others out and correct it, and the rows around it are read.
func appendMisfit(b []byte, k kind, src any) []byte {
	raw, isBytes := src.([]byte)
	switch {
	case isBytes && !utf8.Valid(raw):
		return appendBase64(b, raw)
	case k == kindBytes:
		return appendBase64(b, fmt.Append(nil, src))
	}
	text, err := appendText(b, src)
	if err != nil {
		return appendString(b, fmt.Sprint(src))
	}
	return text
}

// isEndlessNumber reports whether JSON has no number for a float.
func isEndlessNumber(v float64) bool { return math.IsInf(v, 0) || math.IsNaN(v) }

// appendFloat spells a float as encoding/json does. JSON has no infinities and no NaN: they read as
// texts, which can be sent back, as a null would replace them.
func appendFloat(b []byte, v float64) []byte { return appendDigits(b, v, 64) }

// appendDigits spells a float of 64 or 32 bits with as many digits as it takes to
// tell it from others of its size.
func appendDigits(b []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e21) {
		return strconv.AppendFloat(b, v, 'e', -1, bits)
	}
	return strconv.AppendFloat(b, v, 'f', -1, bits)
}

// appendJSON passes stored JSON on, without blanks and line breaks and, if integers is
// true, with integers that a JavaScript number would not hold as strings. What is no
// JSON, or nested deeper than scripts read, since somebody else wrote it, reads as the text that it is.
func appendJSON(b []byte, src any, integers bool) ([]byte, error) {
	var raw []byte
	switch v := src.(type) {
	case string:
		raw = []byte(v)
	case []byte:
		raw = v
	case int64:
		if integers {
			return appendInteger(b, v), nil
		}
		return strconv.AppendInt(b, v, 10), nil
	case float64:
		return appendFloat(b, v), nil
	default:
		return b, fmt.Errorf("read: got %T, want JSON", src)
	}
	out := bytes.NewBuffer(b)
	if err := json.Compact(out, raw); err != nil || depthOf(raw) > maxDepth {
		return appendString(b, string(raw)), nil
	}
	if text := out.Bytes(); integers {
		return append(text[:len(b)], filter.QuoteLarge(text[len(b):])...), nil
	}
	return out.Bytes(), nil
}

// maxDepth is how deep JSON may be nested that callers get as such: scripts read 2,000 levels of a whole
// page.
const maxDepth = 1900

// depthOf returns how deep valid JSON is nested.
func depthOf(raw []byte) (most int) {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			most = max(most, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return most
}

func appendBase64(b, v []byte) []byte {
	b = append(b, '"')
	return append(base64.StdEncoding.AppendEncode(b, v), '"')
}

const hex = "0123456789abcdef"

// longString is how long a text must be to be worth the room that it needs being made at
// once, in bytes.
const longString = 4 << 10

// appendString returns a JSON string; what is not UTF-8 becomes U+FFFD.
func appendString(b []byte, s string) []byte {
	if len(s) > longString { // room for it and for what follows, so that it is not copied again
		b = slices.Grow(b, len(s)+len(s)/64+longString)
	}
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || size > 1 {
				i += size
				continue
			}
			b = append(b, s[start:i]...)
			b = append(b, `\ufffd`...)
			i++
			start = i
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		start = i
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}
