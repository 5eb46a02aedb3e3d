package budget

import (
	"bytes"
	"encoding/json"

	"github.com/koan-go/koan/framework/fault"
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

// WeighInput returns the weight of an input, and refuses one that would take more than three
// quarters of what a run may hold: the rest is for what the call does with it.
func (b *Budget) WeighInput(input json.RawMessage) (int64, error) {
	n := Weight(input)
	if most := b.run / 4 * 3; n > most {
		return 0, fault.Newf(fault.CallTooLarge, "the input takes about %d bytes when it is decoded, at most %d are allowed (three quarters of run.maxBytes)", n, most).
			WithHint("Send less in one call: smaller lists and fewer nested objects.").
			WithDetails(map[string]any{"limitBytes": most})
	}
	return n, nil
}
