// Package exact reads JSON that decides about rights: objects whose members have exact
// and unique names. encoding/json matches the names of struct fields in any case, and
// takes the last of two members with one name, or a mixture of both; so two readers of one
// text could read different things. It also writes JSON in the canonical form by which
// texts are compared.
//
// What belongs here: reading names, and the canonical form. Not here: what any
// member means.
package exact

import (
	"bytes"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// escapes turns a name into a step of a JSON Pointer (RFC 6901).
var escapes = strings.NewReplacer("~", "~0", "/", "~1")

// ErrNotObject is what Members returns for anything but an object.
var ErrNotObject = errors.New("it is not a JSON object")

// Repeated is the error of a text in which an object has a name twice.
type Repeated struct{ Path string } // JSON Pointer of the member

// Error implements error.
func (r *Repeated) Error() string { return "the name " + strconv.Quote(r.Path) + " appears twice" }

// Members returns the members of an object by their exact names, with the bytes of their
// values. The error is ErrNotObject, or a *Repeated at any depth.
func Members(text []byte) (map[string]json.RawMessage, error) {
	if err := Once(text); err != nil {
		return nil, err
	}
	if text = bytes.TrimSpace(text); len(text) == 0 || text[0] != '{' {
		return nil, ErrNotObject
	}
	var out map[string]json.RawMessage
	return out, json.Unmarshal(text, &out)
}

// All returns the members of an object with their values, which are parts of the text and are not
// decoded. The text must be valid JSON, as what an operation returns is: All does not check it.
// Anything but an object has none.
func All(text []byte) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		for raw, value := range members(text) {
			if !yield(unquoted(raw), value) {
				return
			}
		}
	}
}

// members is All with names as they are written, with their quotes.
func members(text []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		s := scanner{text: text}
		if len(text) == 0 || s.next() != '{' {
			return
		}
		for s.at++; s.next() != '}'; {
			name := s.quoted()
			s.next()
			s.at++ // the colon
			s.next()
			start := s.at
			s.skip()
			if !yield(name, text[start:s.at:s.at]) {
				return
			}
			if s.next() == ',' {
				s.at++
			}
		}
	}
}

// Member returns the value of one member of All, nil if there is none.
func Member(text []byte, name string) json.RawMessage {
	for raw, value := range members(text) {
		if inner, plain := unescaped(raw); plain && string(inner) == name || !plain && unquoted(raw) == name {
			return value
		}
	}
	return nil
}

// skip passes a value without looking at the names in it: of objects and lists only strings matter,
// which may have brackets in them. It is most of the work of reading a page's numbers.
func (s *scanner) skip() {
	if c := s.text[s.at]; c != '{' && c != '[' {
		s.scalar()
		return
	}
	text, at := s.text, s.at
	for depth := 0; ; at++ {
		switch text[at] {
		case '"':
			for at++; text[at] != '"'; at++ {
				if text[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.at = at + 1
				return
			}
		}
	}
}

// scalar passes a value that is neither an object nor a list.
func (s *scanner) scalar() {
	if s.text[s.at] == '"' {
		raw := s.quoted()
		s.checkText(raw)
		return
	}
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case ' ', '\n', '\r', '\t', ',', ']', '}':
			return
		}
	}
}

// Once checks that a text is JSON, and that no object in it has a name twice.
func Once(text []byte) error {
	if !json.Valid(text) {
		var v json.RawMessage
		return json.Unmarshal(text, &v)
	}
	s := scanner{text: text}
	s.value()
	if s.repeated != nil {
		return &Repeated{pointer(s.repeated)}
	}
	return nil
}

// MaxDepth is how deep objects and lists are nested at most in a value that is kept or passed on,
// whoever writes it: scripts, and readers of other languages, follow no more than some hundreds.
const MaxDepth = 200

// scanner walks through a text that is valid JSON, and so nested no deeper than
// json.Valid allows.
type scanner struct {
	text     []byte
	at       int
	path     []string // to where it is
	repeated []string // the path of the first duplicate name

	strict    bool     // look for what is not well formed
	malformed []string // the path of the first such string or name
}

func (s *scanner) next() byte {
	for {
		switch c := s.text[s.at]; c {
		case ' ', '\n', '\r', '\t':
			s.at++
		default:
			return c
		}
	}
}

func (s *scanner) value() {
	switch s.next() {
	case '{':
		s.object()
	case '[':
		s.at++
		for i := 0; s.next() != ']'; i++ {
			s.step(strconv.Itoa(i))
		}
		s.at++
	default:
		s.scalar()
	}
}

// step passes a member's value or an element, and the comma after it.
func (s *scanner) step(name string) {
	s.path = append(s.path, name)
	s.value()
	s.path = s.path[:len(s.path)-1]
	if s.next() == ',' {
		s.at++
	}
}

func (s *scanner) object() {
	var seen names
	for s.at++; s.next() != '}'; {
		raw := s.quoted()
		name := unquoted(raw)
		s.path = append(s.path, name)
		s.checkText(raw)
		s.path = s.path[:len(s.path)-1]
		if seen.add(name) && s.repeated == nil {
			s.repeated = append(append([]string(nil), s.path...), name)
		}
		s.next()
		s.at++ // the colon
		s.step(name)
	}
	s.at++
}

// names are those of one object. Few are compared one by one.
type names struct {
	few  [8]string
	n    int
	many map[string]bool // instead of few, where there are more
}

// add adds a name, and reports whether it is there already.
func (o *names) add(name string) (again bool) {
	if o.many != nil {
		again = o.many[name]
		o.many[name] = true
		return again
	}
	if slices.Contains(o.few[:o.n], name) {
		return true
	}
	if o.n < len(o.few) {
		o.few[o.n] = name
		o.n++
		return false
	}
	o.many = map[string]bool{name: true}
	for _, one := range o.few {
		o.many[one] = true
	}
	return false
}

// quoted passes a string, and returns it with its quotes.
func (s *scanner) quoted() []byte {
	start := s.at
	for s.at++; s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at++
	return s.text[start:s.at]
}

// checkText notes where the text is of the string that was just passed, if it is not well formed.
func (s *scanner) checkText(raw []byte) {
	if s.strict && s.malformed == nil && !WellFormed(raw) {
		s.malformed = append(make([]string, 0, len(s.path)), s.path...)
	}
}

// unescaped returns what is between the quotes of a string of JSON; plain reports whether that is its
// value.
func unescaped(raw []byte) (inner []byte, plain bool) {
	inner = raw[1 : len(raw)-1]
	return inner, bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner)
}

// unquoted returns the value of a string of JSON.
func unquoted(raw []byte) string {
	if inner, plain := unescaped(raw); plain {
		return string(inner)
	}
	var out string
	_ = json.Unmarshal(raw, &out) // the text is valid JSON
	return out
}

func pointer(way []string) string {
	var b strings.Builder
	for _, step := range way {
		b.WriteByte('/')
		b.WriteString(escapes.Replace(step))
	}
	return b.String()
}
