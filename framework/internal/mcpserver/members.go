package mcpserver

import (
	"bytes"
	"encoding/json"
)

// members hands out the members of an object, in their order and with their values
// as they stand there. The text is valid JSON: whoever parses a message checks that
// once, for all that is read of it later. It is false for what is no object.
//
// Names are the exact ones, where struct fields would match them in any case. A name
// that comes twice counts the last time. A value has no room behind it, so that
// appending to one leaves its neighbours alone.
func members(text []byte, each func(name []byte, value json.RawMessage)) bool {
	i := pastBlanks(text, 0)
	if i == len(text) || text[i] != '{' {
		return false
	}
	for i = pastBlanks(text, i+1); text[i] != '}'; {
		end := pastString(text, i)
		name := text[i+1 : end-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			plain, _ := unquoted(text[i:end])
			name = []byte(plain)
		}
		i = pastBlanks(text, pastBlanks(text, end)+1)
		end = pastValue(text, i)
		each(name, text[i:end:end])
		if i = pastBlanks(text, end); text[i] == ',' {
			i = pastBlanks(text, i+1)
		}
	}
	return true
}

// elements hands out the elements of an array, in their order and as they stand there,
// until each is false. The text is a valid JSON array.
func elements(text []byte, each func(value json.RawMessage) bool) {
	i := pastBlanks(text, pastBlanks(text, 0)+1)
	for text[i] != ']' {
		end := pastValue(text, i)
		if !each(text[i:end:end]) {
			return
		}
		if i = pastBlanks(text, end); text[i] == ',' {
			i = pastBlanks(text, i+1)
		}
	}
}

func pastBlanks(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// pastString returns where the string that begins at i has ended.
func pastString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// pastValue returns where the value that begins at i has ended.
func pastValue(text []byte, i int) int {
	for depth := 0; ; {
		switch text[i] {
		case '"':
			i = pastString(text, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			i++
			if depth > 0 {
				continue // what stands between the values of a container
			}
			for i < len(text) && !bytes.ContainsRune([]byte(" \n\t\r,]}"), rune(text[i])) {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

// unquoted reads a string; ok is false for any other value.
func unquoted(raw []byte) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	return s, json.Unmarshal(raw, &s) == nil
}
