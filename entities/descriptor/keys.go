package descriptor

import "strings"

// The id of a row whose key has several columns is their values, written as texts, with commas between
// them: "10248,11". What is a comma or a percent sign in a value is written as in a URL.

const keySeparator = ","

var (
	keyEscaper   = strings.NewReplacer("%", "%25", keySeparator, "%2C")
	keyUnescaper = strings.NewReplacer("%25", "%", "%2C", keySeparator)
)

// JoinKey returns the id of a key's values.
func JoinKey(values []string) string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = keyEscaper.Replace(v)
	}
	return strings.Join(out, keySeparator)
}

// SplitKey returns the values of an id of so many columns. ok is false for a text that JoinKey does not
// return.
func SplitKey(id string, columns int) (values []string, ok bool) {
	parts := strings.Split(id, keySeparator)
	if len(parts) != columns {
		return nil, false
	}
	for _, part := range parts {
		values = append(values, keyUnescaper.Replace(part))
	}
	return values, JoinKey(values) == id
}
