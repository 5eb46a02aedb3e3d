package builtins

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// binary returns the bytes of a string whose code units are all at most U+00FF.
func binary(v goja.Value) ([]byte, bool) {
	s := v.ToString().(goja.String)
	out := make([]byte, s.Length())
	for i := range out {
		c := s.CharAt(i)
		if c > 0xff {
			return nil, false
		}
		out[i] = byte(c)
	}
	return out, true
}

// atob decodes base64 by the rules of the Web (forgiving-base64); it returns null for invalid
// input.
func (in *installer) atob(c goja.FunctionCall) goja.Value {
	text := strings.Map(func(r rune) rune {
		if strings.ContainsRune("\t\n\f\r ", r) {
			return -1
		}
		return r
	}, c.Argument(0).String())
	if len(text)%4 == 0 {
		text = strings.TrimSuffix(strings.TrimSuffix(text, "="), "=")
	}
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil {
		return goja.Null()
	}
	var b strings.Builder
	for _, x := range raw {
		b.WriteRune(rune(x))
	}
	return in.vm.ToValue(b.String())
}

// btoa encodes base64; it returns null if a code unit is not a byte.
func (in *installer) btoa(c goja.FunctionCall) goja.Value {
	raw, ok := binary(c.Argument(0))
	if !ok {
		return goja.Null()
	}
	return in.vm.ToValue(base64.StdEncoding.EncodeToString(raw))
}

// encode returns the UTF-8 of a string as an ArrayBuffer.
func (in *installer) encode(c goja.FunctionCall) goja.Value {
	return in.vm.ToValue(in.vm.NewArrayBuffer([]byte(strings.ToValidUTF8(c.Argument(0).String(), "\ufffd"))))
}

// decode implements decode(buffer, fatal, more), which returns [text, rest] for an ArrayBuffer with
// UTF-8. text is null if the bytes are invalid and fatal is set; rest is the incomplete character
// at the end if more is set.
func (in *installer) decode(c goja.FunctionCall) goja.Value {
	buffer, ok := c.Argument(0).Export().(goja.ArrayBuffer)
	if !ok {
		panic(in.vm.NewTypeError("decode needs an ArrayBuffer"))
	}
	text, rest, ok := decodeUTF8(buffer.Bytes(), c.Argument(1).ToBoolean(), c.Argument(2).ToBoolean())
	if !ok {
		return in.vm.NewArray(goja.Null(), goja.Null())
	}
	return in.vm.NewArray(text, in.vm.NewArrayBuffer(append([]byte(nil), rest...)))
}

// decodeUTF8 replaces invalid bytes as the Encoding Standard requires: each maximal prefix of a
// character by one U+FFFD.
func decodeUTF8(b []byte, fatal, more bool) (text string, rest []byte, ok bool) {
	if utf8.Valid(b) {
		return string(b), nil, true
	}
	var out strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r != utf8.RuneError || size > 1 {
			out.WriteRune(r)
			b = b[size:]
			continue
		}
		n := begun(b)
		if more && n == len(b) && !utf8.FullRune(b) {
			return out.String(), b, true
		}
		if fatal {
			return "", nil, false
		}
		out.WriteRune(utf8.RuneError)
		b = b[n:]
	}
	return out.String(), nil, true
}

// begun returns how many bytes are a prefix of a character, at least 1.
func begun(b []byte) int {
	n := 1
	for n < len(b) && n < utf8.UTFMax && !utf8.FullRune(b[:n]) {
		n++
	}
	if utf8.FullRune(b[:n]) && n > 1 {
		n-- // the last byte made it invalid
	}
	return n
}

// unform decodes a name or value of application/x-www-form-urlencoded.
func (in *installer) unform(c goja.FunctionCall) goja.Value {
	text, _, _ := decodeUTF8(percentDecode(strings.ReplaceAll(c.Argument(0).String(), "+", " ")), false, false)
	return in.vm.ToValue(text)
}

func percentDecode(s string) []byte {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && hexDigit(s[i+1]) >= 0 && hexDigit(s[i+2]) >= 0 {
			out = append(out, byte(hexDigit(s[i+1])<<4|hexDigit(s[i+2])))
			i += 2
			continue
		}
		out = append(out, s[i])
	}
	return out
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
