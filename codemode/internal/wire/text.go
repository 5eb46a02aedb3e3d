package wire

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// escape is the length of an escaped UTF-16 unit, as in \u00e9.
const escape = 6

// WellFormed reports whether a JSON text is valid UTF-8 without escapes of lone surrogates.
// Strict parsers and databases reject both.
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
