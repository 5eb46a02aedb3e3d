package entgen

import (
	"strings"
	"unicode"
)

// camel returns the JSON name of an ent name: "assigned_user_id" and
// "assignedUserId" both become "assignedUserId", "URLPath" becomes "urlPath".
func camel(s string) string {
	var b strings.Builder
	up := false
	runes := []rune(s)
	for i, r := range runes {
		last := i+1 == len(runes)
		switch {
		case r == '_' || r == '-':
			up = b.Len() > 0
		case up:
			b.WriteRune(unicode.ToUpper(r))
			up = false
		// In a leading run of capitals, the last one begins the next word.
		case isLeadingCapital(runes[:i]) && (i == 0 || last || !unicode.IsLower(runes[i+1])):
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isLeadingCapital reports whether all of a name so far are capitals.
func isLeadingCapital(runes []rune) bool {
	for _, r := range runes {
		if !unicode.IsUpper(r) {
			return false
		}
	}
	return true
}
