package mcpserver

import (
	"bytes"
	"encoding/json"
)

// members calls each for every member of an object, in order, with the value's bytes. The
// text must be valid JSON, which is checked once, when a message is parsed. It returns
// false if the text is not an object.
//
// Names are exact, while encoding/json would match struct fields in any case. Of a name
// that occurs twice the last one counts. A value has no spare capacity, so that
// appending to it does not overwrite what follows.
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

// elements calls each for every element of an array, in order, with the element's bytes.
// The text must be a valid JSON array.
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

// pastString returns the index after the string that begins at i.
func pastString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// pastValue returns the index after the value that begins at i.
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
				continue // separators in a container
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
