package exact

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// escape is the length of an escaped UTF-16 unit, as in \u00e9.
const escape = 6

// WellFormed reports whether a JSON text is valid UTF-8 without escapes of lone surrogates.
// RFC 8259 leaves open what a reader makes of either, and I-JSON forbids both (RFC 7493 section 2.1):
// encoding/json reads U+FFFD in their place, which nobody wrote.
func WellFormed(raw []byte) bool {
	if !utf8.Valid(raw) {
		return false
	}
	for {
		at := bytes.IndexByte(raw, '\\')
		if at < 0 {
			return true
		}
		raw = raw[at:]
		unit, ok := escaped(raw)
		switch {
		case !ok:
			raw = raw[min(2, len(raw)):]
			continue
		case utf16.IsSurrogate(unit):
			second, _ := escaped(raw[escape:])
			if utf16.DecodeRune(unit, second) == utf8.RuneError {
				return false
			}
			raw = raw[escape:]
		}
		raw = raw[escape:]
	}
}

// escaped returns the UTF-16 code unit of the escape at the start of raw.
func escaped(raw []byte) (unit rune, ok bool) {
	if len(raw) < escape || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(raw[2:escape]), 16, 16)
	return rune(n), err == nil
}

// NotText is what a message says of such a string.
const NotText = "the text is not valid Unicode: it has half of a surrogate pair, or bytes that are not UTF-8"

// Malformed returns the JSON Pointer of the first string or name in a valid JSON text that is not
// well formed.
func Malformed(text []byte) (path string, found bool) {
	if len(text) == 0 || WellFormed(text) {
		return "", false
	}
	s := scanner{text: text, strict: true}
	s.value()
	return pointer(s.malformed), s.malformed != nil
}
