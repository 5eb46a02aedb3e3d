// Package schemasize bounds the schemas that plugins and servers declare, before anything
// reads them.
//
// What belongs here: how large and how deep. Not here: what a schema says.
package schemasize

import "fmt"

// maxDepth bounds how deeply objects and lists of a schema are nested: the validator's
// time grows with its square, and beyond.
const maxDepth = 200

// Beyond returns why a schema is too much for the validator, "" if it is not.
func Beyond(raw []byte, maxBytes int) string {
	switch {
	case len(raw) > maxBytes:
		return fmt.Sprintf("it has %d bytes, and %d are the most", len(raw), maxBytes)
	case deeper(raw, maxDepth):
		return fmt.Sprintf("it is nested more than %d levels deep", maxDepth)
	}
	return ""
}

// deeper reports whether objects and lists of a JSON text are nested more than n levels deep.
func deeper(raw []byte, n int) bool {
	depth, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > n {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
