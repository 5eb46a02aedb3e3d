package budget

import (
	"bytes"
	"encoding/json"
)

// What Go takes for a decoded JSON value besides its text, in bytes: a map of a few
// members, a slice, and one member or element with its key.
const (
	objectBytes  = 384
	arrayBytes   = 48
	elementBytes = 64
)

// minWeighed is how long a text must be for Weight to look into it: what is shorter takes
// little however it is decoded.
const minWeighed = 4 << 10

// Weight estimates how many bytes a JSON text takes with what it is decoded into. A
// text of a megabyte can become fifty of them: [[],[],[], ...]
func Weight(text json.RawMessage) int64 {
	n := int64(len(text))
	if n < minWeighed {
		return n
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfString(text, i)
		case '{':
			n += objectBytes
		case '[':
			n += arrayBytes
		case ',':
			n += elementBytes
		}
	}
	return n
}

// endOfString finds the quote that ends the string which begins at i.
func endOfString(text []byte, i int) int {
	for i++; i < len(text); {
		next := bytes.IndexByte(text[i:], '"')
		if next < 0 {
			return len(text)
		}
		end := i + next
		escapes := 0
		for end-escapes > i && text[end-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end
		}
		i = end + 1
	}
	return len(text)
}
