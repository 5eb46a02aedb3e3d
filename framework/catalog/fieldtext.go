package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// TypeScript returns the field's type in TypeScript, without null. ok is false for
// JSON, whose type is in the field's schema.
func (f *Field) TypeScript() (kind string, ok bool) {
	switch f.Type {
	case TypeInt, TypeFloat:
		if f.Wide && f.BeyondNumbers() {
			return "number | string", true
		}
		return "number", true
	case TypeBool:
		return "boolean", true
	case TypeEnum:
		if len(f.Enum) == 0 {
			return "string", true
		}
		parts := make([]string, len(f.Enum))
		for i, v := range f.Enum {
			parts[i] = Quote(v)
		}
		return strings.Join(parts, " | "), true
	case TypeJSON:
		return "", false
	case TypeString, TypeText, TypeTime, TypeDay, TypeUUID, TypeID, TypeBytes, TypeDecimal:
	}
	return "string", true
}

// Format returns the format of the field's values that its type leaves open, such as
// "base64".
func (f *Field) Format() string {
	switch f.Type {
	case TypeTime:
		return "RFC 3339 UTC"
	case TypeDay:
		return "YYYY-MM-DD"
	case TypeBytes:
		return "base64"
	case TypeDecimal:
		return "decimal"
	case TypeUUID:
		return "UUID"
	default:
		return ""
	}
}

// maxExample is the longest example that comments repeat, in bytes.
const maxExample = 60

// Limits returns what restricts the field's values.
func (f *Field) Limits() []string {
	var out []string
	add := func(s string) { out = append(out, s) }
	if f.MinLength != nil {
		add("at least " + strconv.Itoa(*f.MinLength) + " characters")
	}
	if f.MaxLength != nil {
		add("at most " + strconv.Itoa(*f.MaxLength) + " characters")
	}
	if f.Min != nil {
		add("min " + number(*f.Min))
	}
	if f.Max != nil {
		add("max " + number(*f.Max))
	}
	if f.Precision > 0 {
		add(f.Digits())
	}
	if f.Pattern != "" {
		add("pattern " + f.Pattern)
	}
	return out
}

// Digits says how many digits the field's numbers may have, "" where there is no bound.
func (f *Field) Digits() string {
	switch {
	case f.Precision == 0:
		return ""
	case f.Scale <= 0:
		return "at most " + strconv.Itoa(f.Precision-f.Scale) + " digits, without decimals"
	}
	return "at most " + strconv.Itoa(max(0, f.Precision-f.Scale)) + " digits before the point and " + strconv.Itoa(f.Scale) + " after it"
}

// Usual returns the field's default and example, as comments show them.
func (f *Field) Usual() []string {
	var out []string
	if len(f.Default) > 0 {
		out = append(out, "default "+string(f.Default))
	}
	if len(f.Example) > 0 && len(f.Example) <= maxExample {
		out = append(out, "such as "+string(f.Example))
	}
	return out
}

// Limits returns what restricts writing the relationship.
func (e *Edge) Limits() []string {
	var out []string
	if e.ReadOnly {
		out = append(out, "read-only")
	}
	if e.Immutable {
		out = append(out, "only at creation")
	}
	return out
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// Quote returns a string as a literal of TypeScript and JSON.
func Quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes; U+2028 and U+2029 are escaped
	quoted := strings.TrimSuffix(b.String(), "\n")
	if strings.IndexFunc(quoted, invisible) < 0 {
		return quoted
	}
	b.Reset()
	for _, r := range quoted {
		switch {
		case !invisible(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// invisible reports whether a character cannot be seen, or changes how others are shown.
func invisible(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }
