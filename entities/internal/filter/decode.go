package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
)

var errTwice = errors.New("a name occurs twice in one object")

// Decode reads one JSON value as encoding/json does with UseNumber: objects are maps
// and numbers are json.Number. A name that stands twice in one object is an error.
// Inputs are small and there is one with every call, so what is valid is read without
// the library's decoder, which takes 2 KB for each.
func Decode(raw json.RawMessage) (any, error) {
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return decodeSlowly(raw)
	}
	r := reader{text: raw}
	v := r.value()
	if r.err != nil {
		return decodeSlowly(raw)
	}
	return v, nil
}

// Input is Decode for the whole input of an operation.
func Input(raw json.RawMessage) (any, *fault.Detail) {
	if json.Valid(raw) {
		if path, found := exact.Malformed(raw); found {
			return nil, &fault.Detail{Path: path, Message: exact.NotText}
		}
	}
	v, err := Decode(raw)
	var twice *exact.Repeated
	switch {
	case errors.As(err, &twice):
		return nil, &fault.Detail{Path: twice.Path, Message: "the name appears twice"}
	case err != nil:
		return nil, &fault.Detail{Message: "the input is not JSON: " + err.Error()}
	}
	return v, nil
}

// decodeSlowly says what is wrong, and repairs what is not UTF-8.
func decodeSlowly(raw json.RawMessage) (any, error) {
	var twice *exact.Repeated
	if err := exact.Once(raw); errors.As(err, &twice) {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errTrailing
	}
	return v, nil
}

// reader reads a text that is valid JSON, and so nested no deeper than json.Valid
// allows.
type reader struct {
	text []byte
	at   int
	err  error
}

// next returns the first byte that is not blank.
func (r *reader) next() byte {
	for {
		switch c := r.text[r.at]; c {
		case ' ', '\n', '\r', '\t':
			r.at++
		default:
			return c
		}
	}
}

func (r *reader) value() any {
	switch r.next() {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return r.string()
	case 't':
		r.at += len("true")
		return true
	case 'f':
		r.at += len("false")
		return false
	case 'n':
		r.at += len("null")
		return nil
	}
	start := r.at
	for r.at < len(r.text) && bytes.IndexByte([]byte("+-.eE0123456789"), r.text[r.at]) >= 0 {
		r.at++
	}
	return json.Number(r.text[start:r.at])
}

func (r *reader) object() map[string]any {
	m := map[string]any{}
	for r.at++; r.next() != '}'; {
		name := r.string()
		r.next()
		r.at++ // the colon
		if _, twice := m[name]; twice && r.err == nil {
			r.err = errTwice
		}
		m[name] = r.value()
		if r.next() == ',' {
			r.at++
		}
	}
	r.at++
	return m
}

func (r *reader) array() []any {
	list := []any{}
	for r.at++; r.next() != ']'; {
		list = append(list, r.value())
		if r.next() == ',' {
			r.at++
		}
	}
	r.at++
	return list
}

func (r *reader) string() string {
	start, plain := r.at, true
	for r.at++; r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			r.at++
			plain = false
		}
	}
	r.at++
	if plain {
		return string(r.text[start+1 : r.at-1])
	}
	var s string
	if err := json.Unmarshal(r.text[start:r.at], &s); err != nil {
		r.err = err
	}
	return s
}
