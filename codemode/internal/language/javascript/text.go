package javascript

import (
	"bytes"
	"strings"
	"unicode/utf16"

	"github.com/dop251/goja"

	"github.com/koan-go/koan/framework/exact"
)

// replaceSurrogates replaces the escapes of lone surrogates in the output of JSON.stringify by
// U+FFFD, since strict parsers reject them. The engine's conversion of strings to UTF-8 replaces
// unescaped ones in the same way. raw may be modified.
func replaceSurrogates(raw []byte) []byte {
	if !bytes.Contains(raw, []byte(`\ud`)) {
		return raw
	}
	out := raw[:0]
	for i := 0; i < len(raw); i++ {
		switch {
		case raw[i] != '\\' || i+1 == len(raw):
			out = append(out, raw[i])
		case i+5 < len(raw) && raw[i+1] == 'u' && raw[i+2] == 'd' && raw[i+3] >= '8':
			out = append(out, "\uFFFD"...) // shorter than the escape
			i += 5
		default:
			out = append(out, raw[i], raw[i+1])
			i++
		}
	}
	return out
}

// malformed returns where the output of JSON.stringify has the escape of a lone surrogate.
func malformed(raw []byte) (path string, found bool) {
	if !bytes.Contains(raw, []byte(`\ud`)) {
		return "", false
	}
	return exact.Malformed(raw)
}

// hasSurrogate reports whether a string has half of a surrogate pair. text is its conversion to UTF-8.
func hasSurrogate(s goja.String, text string) bool {
	if !strings.Contains(text, "\uFFFD") {
		return false
	}
	for i := 0; i < s.Length(); i++ {
		switch unit := rune(s.CharAt(i)); {
		case !utf16.IsSurrogate(unit):
		case i+1 < s.Length() && utf16.DecodeRune(unit, rune(s.CharAt(i+1))) != '\uFFFD':
			i++
		default:
			return true
		}
	}
	return false
}
