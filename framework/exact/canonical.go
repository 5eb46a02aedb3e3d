package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Canonical returns JSON text in the form of RFC 8785: without spaces, members in the
// order of their names' UTF-16 code units, strings with the escapes that JSON needs,
// numbers as JavaScript writes them. Two texts of the same JSON have one canonical form,
// and no others do: a number that JavaScript would round keeps all its digits. Of
// members with one name the last counts, as for every reader here.
func Canonical(text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON")
	}
	return appendCanonical(make([]byte, 0, len(text)), v), nil
}

func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		return appendNumber(b, v.String())
	case string:
		return AppendString(b, v)
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, item)
		}
		return append(b, ']')
	case map[string]any:
		return appendObject(b, v)
	}
	panic(fmt.Sprintf("exact: %T is not decoded JSON", v))
}

func appendObject(b []byte, members map[string]any) []byte {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendCanonical(append(AppendString(b, name), ':'), members[name])
	}
	return append(b, '}')
}

// AppendString appends a string in its canonical form. The string must be valid UTF-8.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			if c < ' ' {
				b = fmt.Appendf(b, `\u%04x`, c)
				continue
			}
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// maxExponent bounds the exponents of numbers that are normalised. A larger one, which no
// type can hold, is kept unchanged.
const maxExponent = 1 << 30

// appendNumber appends a JSON number in the form of ECMAScript's Number::toString, by
// its decimal digits, so that none is lost.
func appendNumber(b []byte, number string) []byte {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	power := 0
	if exponent != "" {
		var err error
		if power, err = strconv.Atoi(exponent); err != nil || power > maxExponent || power < -maxExponent {
			return append(b, number...)
		}
	}
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	point := len(digits) - len(fraction) + power // the position of the point in digits
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return append(b, '0')
	}
	if negative {
		b = append(b, '-')
	}
	return appendDigits(b, digits, point)
}

// appendDigits appends the number 0.digits times ten to the power of point.
func appendDigits(b []byte, digits string, point int) []byte {
	const (
		most  = 21 // digits before the point
		least = -6 // zeros after it
	)
	switch n := len(digits); {
	case n <= point && point <= most:
		return append(append(b, digits...), strings.Repeat("0", point-n)...)
	case 0 < point && point <= most:
		return append(append(append(b, digits[:point]...), '.'), digits[point:]...)
	case least < point && point <= 0:
		return append(append(append(b, "0."...), strings.Repeat("0", -point)...), digits...)
	}
	b = append(b, digits[0])
	if len(digits) > 1 {
		b = append(append(b, '.'), digits[1:]...)
	}
	return fmt.Appendf(b, "e%+d", point-1)
}
