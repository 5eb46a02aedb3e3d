package wire

import "regexp"

// maxPattern bounds a pattern of operations, in bytes.
const maxPattern = 512

var pattern = regexp.MustCompile(`^(koan|plugin|upstream|action)::[^\s]+$`)

// ValidPattern reports whether a text is the id of an operation that a plugin may ask to call, or a pattern of
// such ids.
func ValidPattern(s string) bool { return len(s) <= maxPattern && pattern.MatchString(s) }
