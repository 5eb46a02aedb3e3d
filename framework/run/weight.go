package run

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

// minWeighed is how long a text must be for weight to look into it: what is shorter takes
// little however it is decoded.
const minWeighed = 4 << 10

// weight estimates how many bytes a JSON text takes with what it is decoded into. A
// text of a megabyte can become fifty of them: [[],[],[], ...]
func weight(text json.RawMessage) int64 {
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

// admitWeight refuses an input that would take more than three quarters of what a run
// may hold once it is decoded: the rest is for what the call does with it.
func (e *Engine) admitWeight(input json.RawMessage) (int64, error) {
	n := weight(input)
	if most := e.budget.run / 4 * 3; n > most {
		return 0, fault.Newf(fault.CallTooLarge, "the input takes about %d bytes when it is decoded, at most %d are allowed (three quarters of run.maxBytes)", n, most).
			WithHint("Send less in one call: smaller lists and fewer nested objects.").
			WithDetails(map[string]any{"limitBytes": most})
	}
	return n, nil
}

// holdInput counts the input of a request.
func (e *Engine) holdInput(c *account, input json.RawMessage) error {
	n, err := e.admitWeight(input)
	if err != nil {
		return err
	}
	if f := c.take(n); f != nil {
		return f
	}
	return nil
}

// admitInput counts the input of a call, unless it is the request's own, which is
// counted.
func (e *Engine) admitInput(c *call) (int, error) {
	if !c.attempt.run.scripted() && !c.position.nested() {
		return 0, nil
	}
	n, err := e.admitWeight(c.input)
	if err != nil {
		return 0, err
	}
	if err := c.attempt.Hold(int(n)); err != nil {
		return 0, err
	}
	return int(n), nil
}
