package worker

import "strconv"

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
	var out []byte
	done := 0 // how much of raw is in out
	for i := 0; i < len(raw); {
		switch c := raw[i]; {
		case c == '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			i++
		case c == '-' || c >= '0' && c <= '9':
			from := i
			for i++; i < len(raw) && isNumeric(raw[i]); i++ {
			}
			if i-from < digits {
				continue
			}
			text := string(raw[from:i])
			if _, err := strconv.ParseUint(text[len(text)-digits:], 10, 64); err != nil { // a fraction or an exponent
				continue
			}
			x, err := strconv.ParseFloat(text, 64)
			if err != nil || x <= maxSafe && x >= -maxSafe {
				continue
			}
			out = strconv.AppendFloat(append(out, raw[done:from]...), x, 'e', -1, 64)
			done = i
		default:
			i++
		}
	}
	if done == 0 {
		return raw
	}
	return append(out, raw[done:]...)
}

func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}
