package worker

import (
	"strconv"

	"github.com/koan-go/koan/framework/exact"
)

// maxSafe is Number.MAX_SAFE_INTEGER. A larger number may stand for several integers: what the script
// wrote is not known, and an id or an amount would silently become its neighbour.
const maxSafe = 1<<53 - 1

// appendInteger appends a number in the input of a call.
func appendInteger(out []byte, n int64, where place) []byte {
	if where.entity && (n > maxSafe || n < -maxSafe) {
		return strconv.AppendFloat(out, float64(n), 'e', -1, 64)
	}
	return strconv.AppendInt(out, n, 10)
}

// markInexact writes integers beyond maxSafe in the output of JSON.stringify with an exponent, which
// entities do not take for integers; for columns of other numbers it is the same value. Digits in a
// string are exact.
func markInexact(raw []byte) []byte {
	const digits = len("9007199254740992")
	return exact.MapNumbers(raw, func(number []byte) []byte {
		if len(number) < digits {
			return nil
		}
		text := string(number)
		if _, err := strconv.ParseUint(text[len(text)-digits:], 10, 64); err != nil { // a fraction or an exponent
			return nil
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil || x <= maxSafe && x >= -maxSafe {
			return nil
		}
		return strconv.AppendFloat(nil, x, 'e', -1, 64)
	})
}
