package javascript

import (
	"bytes"
	"math/big"
	"reflect"
	"strconv"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/framework/exact"
)

// maxSafe is Number.MAX_SAFE_INTEGER. A larger number may stand for several integers: what the script
// wrote is not known, and an id or an amount would silently become its neighbour.
const maxSafe = 1<<53 - 1

// appendInteger appends a number in the input of a call.
func appendInteger(out []byte, n int64) []byte {
	if n > maxSafe || n < -maxSafe {
		return strconv.AppendFloat(out, float64(n), 'e', -1, 64)
	}
	return strconv.AppendInt(out, n, 10)
}

// A BigInt passes JSON.stringify as a string that begins with a lone surrogate, which no string of a
// script's data does: such strings are refused.
const bigEscaped = `"\ud800n` // as JSON.stringify writes it

var bigType = reflect.TypeFor[*big.Int]()

// asBigText returns the value as which JSON.stringify gets v: for a BigInt its bigText.
func asBigText(v goja.Value) goja.Value {
	if _, object := v.(*goja.Object); object || v.ExportType() != bigType {
		return v
	}
	return bigText(v.Export().(*big.Int))
}

// bigText returns the string as which a BigInt passes JSON.stringify.
func bigText(n *big.Int) goja.Value {
	digits := n.String()
	units := make([]uint16, 0, 2+len(digits))
	units = append(units, 0xD800, 'n')
	for _, c := range []byte(digits) {
		units = append(units, uint16(c))
	}
	return goja.StringFromUTF16(units)
}

// writeBigInts writes BigInts in the output of JSON.stringify as numbers, or, if quoteLarge is set, as
// strings of digits beyond 2^53.
func writeBigInts(raw []byte, quoteLarge bool) []byte {
	mark := []byte(bigEscaped)
	if !bytes.Contains(raw, mark) {
		return raw
	}
	var out []byte
	for {
		before, after, found := bytes.Cut(raw, mark)
		out = append(out, before...)
		if !found {
			return out
		}
		digits, rest, _ := bytes.Cut(after, []byte{'"'})
		if quoteLarge && exact.BeyondDouble(digits) {
			out = append(append(append(out, '"'), digits...), '"')
		} else {
			out = append(out, digits...)
		}
		raw = rest
	}
}

// markInexact writes integers beyond maxSafe in the output of JSON.stringify with an exponent, which
// says that JavaScript has rounded them: they are not taken for integers; for other numbers it is the
// same value. Digits in a string, and those of a BigInt, are exact.
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
