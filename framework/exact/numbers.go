package exact

// MapNumbers returns a valid JSON text with what replace returns in the place of its numbers; nil
// leaves one as it is. It returns the text itself where nothing changes.
func MapNumbers(text []byte, replace func(number []byte) []byte) []byte {
	var out []byte
	done := 0 // how much of text is in out
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			i++
		case c == '-' || c >= '0' && c <= '9':
			from := i
			for i++; i < len(text) && isNumeric(text[i]); i++ {
			}
			if other := replace(text[from:i]); other != nil {
				out = append(append(out, text[done:from]...), other...)
				done = i
			}
		default:
			i++
		}
	}
	if done == 0 {
		return text
	}
	return append(out, text[done:]...)
}

func isNumeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-'
}

// maxExact is the number of digits of which every integer is below 2^53.
const maxExact = len("999999999999999")

// BeyondDouble reports whether a number of JSON is an integer beyond 2^53, of which JavaScript and
// others that hold numbers as doubles make another one.
func BeyondDouble(number []byte) bool {
	digits := number
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) <= maxExact {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' { // a fraction or an exponent
			return false
		}
	}
	const limit = "9007199254740992"
	return len(digits) > len(limit) || len(digits) == len(limit) && string(digits) > limit
}
