package filter

import (
	"encoding/json"
	"math"
	"strconv"

	"github.com/koan-go/koan/framework/exact"
)

// longest is the number of digits of which every integer is at most MaxSafe.
const longest = len("999999999999999")

// maxWhole is how many digits encoding/json gives a float at most; PostgreSQL writes those of
// larger ones without an exponent too.
const maxWhole = 21

// QuoteLarge returns valid JSON with its integers beyond MaxSafe as strings. A larger float
// that a database has written with all its digits stays a number, and gets the exponent without which
// whoever reads it would take it for an integer.
func QuoteLarge(text []byte) []byte {
	if !hasDigits(text) {
		return text
	}
	return exact.MapNumbers(text, func(number []byte) []byte {
		if !isBeyondSafe(number) {
			return nil
		}
		if x, ok := asDouble(number); ok && len(number) > maxWhole {
			return strconv.AppendFloat(nil, x, 'e', -1, 64)
		}
		return append(append([]byte{'"'}, number...), '"')
	})
}

// hasDigits reports whether more than longest digits stand in a row anywhere. Most texts have
// none, so only one byte in longest+1 is looked at.
func hasDigits(text []byte) bool {
	const step = longest + 1
	isDigit := func(i int) bool { return i >= 0 && i < len(text) && text[i] >= '0' && text[i] <= '9' }
	for i := longest; i < len(text); i += step {
		if !isDigit(i) {
			continue
		}
		from, to := i, i+1
		for isDigit(from - 1) {
			from--
		}
		for isDigit(to) {
			to++
		}
		if to-from >= step {
			return true
		}
	}
	return false
}

// isBeyondSafe reports whether a number is digits only and beyond MaxSafe.
func isBeyondSafe(number []byte) bool {
	return exact.BeyondDouble(number) || string(number) == "9007199254740992" || string(number) == "-9007199254740992"
}

// asDouble returns the float that is written as a number of digits, if there is one.
func asDouble(number []byte) (float64, bool) {
	x, err := strconv.ParseFloat(string(number), 64)
	return x, err == nil && strconv.FormatFloat(x, 'f', -1, 64) == string(number)
}

// IsLargeInteger reports whether a text is an integer beyond MaxSafe, as reads return it.
func IsLargeInteger(s string) bool {
	if len(s) <= longest || s[0] != '-' && (s[0] < '1' || s[0] > '9') || s[0] == '-' && (s[1] < '1' || s[1] > '9') {
		return false
	}
	return isBeyondSafe([]byte(s))
}

// WithNumbers returns decoded JSON with the texts that IsLargeInteger as numbers.
func WithNumbers(v any) any {
	switch v := v.(type) {
	case string:
		if IsLargeInteger(v) {
			return json.Number(v)
		}
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = WithNumbers(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			out[name] = WithNumbers(item)
		}
		return out
	}
	return v
}

// IsInexact reports whether a number may stand for several integers once it is a float, or
// would be read as a string: it is beyond MaxSafe and has no exponent when it is written.
func IsInexact(number []byte) bool {
	if len(number) <= longest {
		plain := true
		for _, c := range number {
			plain = plain && c != 'e' && c != 'E'
		}
		if plain {
			return false
		}
	}
	x, err := strconv.ParseFloat(string(number), 64)
	x = math.Abs(x)
	return err != nil || x > MaxSafe && (x < 1e21 || isBeyondSafe(number))
}

// HasInexact reports whether a number in a valid JSON text IsInexact.
func HasInexact(text []byte) (found bool) {
	exact.MapNumbers(text, func(number []byte) []byte {
		found = found || IsInexact(number)
		return nil
	})
	return found
}
