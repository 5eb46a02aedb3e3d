package typegen

// eachKey visits the keys of a JSON text without decoding it: a schema of many
// kilobytes for each of many operations is read for a few names. depth counts
// from 1 for the outermost object, parent is the key at depth 1 that holds the
// key, and value is the text behind its colon. Escapes in keys are left as they
// are.
func eachKey(raw []byte, visit func(depth int, parent, key, value string)) {
	depth, parent := 0, ""
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			start := i + 1
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if i >= len(raw) {
				return
			}
			key, rest := raw[start:i], skipBlank(raw[i+1:])
			if len(rest) == 0 || rest[0] != ':' {
				continue
			}
			if depth == 1 {
				parent = string(key)
			}
			value := skipBlank(rest[1:])
			visit(depth, parent, string(key), string(value[:min(len(value), len("false"))]))
		}
	}
}

func skipBlank(raw []byte) []byte {
	for len(raw) > 0 && (raw[0] == ' ' || raw[0] == '\n' || raw[0] == '\t' || raw[0] == '\r') {
		raw = raw[1:]
	}
	return raw
}
