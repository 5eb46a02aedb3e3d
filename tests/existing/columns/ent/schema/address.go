package schema

import (
	"database/sql/driver"
	"fmt"
	"regexp"
	"strings"
)

// Address is the composite type address of the database.
type Address struct{ Street, City string }

var composite = regexp.MustCompile(`^\(("(?:[^"\\]|"")*"|[^",()]*),("(?:[^"\\]|"")*"|[^",()]*)\)$`)

// Scan reads the text of a composite.
func (a *Address) Scan(v any) error {
	var text string
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		text = v
	case []byte:
		text = string(v)
	}
	parts := composite.FindStringSubmatch(text)
	if parts == nil {
		return fmt.Errorf("%q is not an address", text)
	}
	plain := func(s string) string { return strings.ReplaceAll(strings.Trim(s, `"`), `""`, `"`) }
	a.Street, a.City = plain(parts[1]), plain(parts[2])
	return nil
}

// Value writes the text of a composite.
func (a *Address) Value() (driver.Value, error) { return fmt.Sprintf("(%q,%q)", a.Street, a.City), nil }

// Badge is the same kind of type, held by value and shown as its text.
type Badge struct {
	Series string
	Number int
}

// Scan reads the text of a composite.
func (b *Badge) Scan(v any) error {
	text, ok := v.(string)
	if raw, isBytes := v.([]byte); isBytes {
		text, ok = string(raw), true
	}
	series, number, found := strings.Cut(strings.Trim(text, "()"), ",")
	if !ok || !found {
		return fmt.Errorf("%v is not a badge", v)
	}
	b.Series = series
	_, err := fmt.Sscan(number, &b.Number)
	return err
}

// Value writes the text of a composite.
func (b Badge) Value() (driver.Value, error) { return fmt.Sprintf("(%s,%d)", b.Series, b.Number), nil }

// MarshalText writes what people see.
func (b Badge) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%s-%d", b.Series, b.Number), nil
}

// UnmarshalText reads what people write.
func (b *Badge) UnmarshalText(text []byte) error {
	series, number, found := strings.Cut(string(text), "-")
	if !found {
		return fmt.Errorf("%q is not a badge: write A-1", text)
	}
	b.Series = series
	_, err := fmt.Sscan(number, &b.Number)
	return err
}
