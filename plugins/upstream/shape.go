package upstream

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// maxNested is how deep objects and lists of a message may be nested: encoding/json reads no
// deeper ones.
const maxNested = 10_000

var errTooDeep = fmt.Errorf("it sent a message that is nested more than %d levels deep", maxNested)

// errNotJSON is the error of a message that is none, such as one with Python's NaN.
var errNotJSON = errors.New("it sent a message that is not JSON")

// errNoResult is the error of an answer that answers nothing.
var errNoResult = errors.New("it sent an answer with neither a result nor an error")

// errResponseCut is the error of a stream that ended before the result that it was opened
// for.
var errResponseCut = errors.New("its response ended before the result")

// shape follows one JSON text: how deep it is nested, and the id at its top level. It needs no
// stack, so that a text cannot exhaust it.
type shape struct {
	depth, deepest    int
	inString, escaped bool
	wrong             bool   // it has what no JSON has outside of strings
	separated         bool   // a comma came last
	word              []byte // of the top level, under way
	isID              bool   // the word is the value of "id"
	id                []byte
}

func (s *shape) take(part []byte) {
	for _, c := range part {
		if s.inString {
			s.inString = s.escaped || c != '"'
			s.escaped = c == '\\' && !s.escaped
			s.add(c)
			continue
		}
		switch c {
		case '{', '[':
			s.depth++
			s.separated = false
			s.deepest = max(s.deepest, s.depth)
		case '}', ']', ',':
			s.wrong = s.wrong || s.separated && c != ','
			s.separated = c == ','
			if s.depth == 1 && s.isID && s.id == nil {
				s.id = bytes.Clone(s.word)
			}
			if s.depth == 1 {
				s.word, s.isID = s.word[:0], false
			}
			if c != ',' {
				s.depth--
			}
		case ':':
			if s.depth == 1 {
				s.isID = string(s.word) == `"id"`
				s.word = s.word[:0]
			}
		case ' ', '\t', '\r', '\n':
		default:
			s.inString, s.separated = c == '"', false
			s.wrong = s.wrong || !s.inString && strings.IndexByte("-+.0123456789eEtrufalsn", c) < 0
			s.add(c)
		}
	}
}

// unreadable is why the whole text cannot be read, as far as its shape shows that; else nil.
func (s *shape) unreadable() error {
	switch {
	case s.deepest > maxNested:
		return errTooDeep
	case s.wrong, s.inString, s.depth != 0:
		return errNotJSON
	}
	return nil
}

func (s *shape) add(c byte) {
	const most = 64 // of an id
	if s.depth == 1 && len(s.word) < most {
		s.word = append(s.word, c)
	}
}
