package sqltext

import (
	"encoding/hex"
	"strings"
)

// ent's builders take some names for calls of functions, for aliases, modifiers or names that are quoted already,
// and don't double a quotation mark. They get an encoded name for each that isn't a plain word, and the statement
// gets the name itself where it is sent.

// EncodeName returns what ent's builders write for a name of a database: a plain word itself.
func EncodeName(name string) string {
	if isPlainWord(name) {
		return name
	}
	return schemaMark + hex.EncodeToString([]byte(name)) + schemaMark
}

// isPlainWord reports whether a name is of letters, digits and underscores alone, and no word of ent's.
func isPlainWord(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return name != "" && !strings.HasPrefix(name, "DISTINCT") && !strings.HasPrefix(name, "ALL")
}

// DecodeNames returns a statement of ent's with the names themselves, quoted.
func DecodeNames(statement string) string {
	if !strings.Contains(statement, schemaMark) {
		return statement
	}
	parts := strings.Split(statement, schemaMark)
	out := make([]byte, 0, len(statement))
	for i, part := range parts {
		if i%2 == 0 { // the quotation marks around an encoded name are ent's
			if i > 0 {
				part = part[1:]
			}
			if i < len(parts)-1 {
				part = part[:len(part)-1]
			}
			out = append(out, part...)
			continue
		}
		name, err := hex.DecodeString(part)
		if err != nil { // no identifier has the mark
			return statement
		}
		out = AppendName(out, string(name))
	}
	return string(out)
}
