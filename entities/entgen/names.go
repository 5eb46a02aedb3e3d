package entgen

import (
	"strings"
	"unicode"
)

// camel gives the JSON name of an ent name: "assigned_user_id" and
// "assignedUserId" both become "assignedUserId".
func camel(s string) string {
	var b strings.Builder
	up := false
	for i, r := range s {
		switch {
		case r == '_' || r == '-':
			up = b.Len() > 0
		case up:
			b.WriteRune(unicode.ToUpper(r))
			up = false
		case i == 0:
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
