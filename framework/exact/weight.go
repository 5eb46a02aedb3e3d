package exact

import "bytes"

// Cost is what a reader of JSON takes for its parts besides their text, in bytes. A text of a megabyte can
// become hundreds of them: [[],[],[], ...]
type Cost struct {
	Object, Array int64 // each, with what makes it
	Member, Item  int64 // each member of an object, each value after a comma
}

// Of returns what a JSON text costs, or a part of one that ends outside of strings.
func (c Cost) Of(text []byte) (n int64) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfString(text, i)
		case '{':
			n += c.Object
		case '[':
			n += c.Array
		case ':':
			n += c.Member
		case ',':
			n += c.Item
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

// Depth returns how deep objects and lists are nested in a JSON text; 0 is a text without any.
func Depth(text []byte) (deepest int) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfString(text, i)
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		}
	}
	return deepest
}
