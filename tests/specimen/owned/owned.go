// Package owned has Go types as apps have them: each keeps itself in the database
// in a way of its own.
//
// What belongs here: types for the schemas of the specimens. Not here:
// anything of this repository.
package owned

import (
	"database/sql/driver"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Color is an enum whose values are its own texts.
type Color string

// Values implements field.EnumValues.
func (Color) Values() []string { return []string{"red", "green", "blue"} }

// Level is an enum of numbers that is kept as text.
type Level int

// The levels.
const (
	Low Level = iota + 1
	High
)

// String implements fmt.Stringer.
func (l Level) String() string { return map[Level]string{Low: "LOW", High: "HIGH"}[l] }

// Values implements field.EnumValues.
func (Level) Values() []string { return []string{"LOW", "HIGH"} }

// Value implements driver.Valuer.
func (l Level) Value() (driver.Value, error) { return l.String(), nil }

// Scan implements sql.Scanner.
func (l *Level) Scan(src any) error {
	if src == nil { // ent reads null into optional fields
		return nil
	}
	for _, known := range []Level{Low, High} {
		if known.String() == text(src) {
			*l = known
			return nil
		}
	}
	return fmt.Errorf("there is no level %q", text(src))
}

// Decimal is a decimal with its scale: 12.50 is not written 12.5.
type Decimal struct {
	unscaled big.Int
	scale    int
}

// MarshalText implements encoding.TextMarshaler.
func (d Decimal) MarshalText() ([]byte, error) {
	s := new(big.Int).Abs(&d.unscaled).String()
	if d.scale > 0 {
		for len(s) <= d.scale {
			s = "0" + s
		}
		s = s[:len(s)-d.scale] + "." + s[len(s)-d.scale:]
	}
	if d.unscaled.Sign() < 0 {
		s = "-" + s
	}
	return []byte(s), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Decimal) UnmarshalText(text []byte) error {
	whole, fraction, _ := strings.Cut(string(text), ".")
	if _, ok := d.unscaled.SetString(whole+fraction, 10); !ok {
		return errors.New("this is no decimal")
	}
	d.scale = len(fraction)
	return nil
}

// Value implements driver.Valuer.
func (d Decimal) Value() (driver.Value, error) {
	b, err := d.MarshalText()
	return string(b), err
}

// Scan implements sql.Scanner.
func (d *Decimal) Scan(src any) error {
	if src == nil {
		return nil
	}
	return d.UnmarshalText([]byte(text(src)))
}

// Secret is a text that the database never has as it is.
type Secret string

// Value implements driver.Valuer.
func (s Secret) Value() (driver.Value, error) {
	return base64.StdEncoding.EncodeToString([]byte(rot13(string(s)))), nil
}

// Scan implements sql.Scanner.
func (s *Secret) Scan(src any) error {
	b, err := base64.StdEncoding.DecodeString(text(src))
	*s = Secret(rot13(string(b)))
	return err
}

// Phone is a number with its country, kept as one text.
type Phone struct{ Country, Number string }

// Value implements driver.Valuer.
func (p Phone) Value() (driver.Value, error) { return "+" + p.Country + " " + p.Number, nil }

// Scan implements sql.Scanner.
func (p *Phone) Scan(src any) error {
	if src == nil { // ent reads null into optional fields
		return nil
	}
	s, ok := strings.CutPrefix(text(src), "+")
	country, number, found := strings.Cut(s, " ")
	if !ok || !found || strings.Trim(country+number, "0123456789") != "" {
		return errors.New("want +COUNTRY NUMBER")
	}
	*p = Phone{country, number}
	return nil
}

// ID is 16 bytes, written with a prefix and kept as bytes.
type ID [16]byte

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return []byte("cab_" + hex.EncodeToString(id[:])), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (id *ID) UnmarshalText(text []byte) error {
	s, ok := strings.CutPrefix(string(text), "cab_")
	b, err := hex.DecodeString(s)
	if !ok || err != nil || len(b) != len(id) || s != strings.ToLower(s) {
		return errors.New("want cab_ and 32 hexadecimal digits")
	}
	copy(id[:], b)
	return nil
}

// Value implements driver.Valuer.
func (id ID) Value() (driver.Value, error) { return id[:], nil }

// Scan implements sql.Scanner.
func (id *ID) Scan(src any) error {
	if src == nil { // ent reads null into optional fields
		return nil
	}
	b, ok := src.([]byte)
	if !ok || len(b) != len(id) {
		return fmt.Errorf("a %T is not an id", src)
	}
	copy(id[:], b)
	return nil
}

// Slug is an id that is a text.
type Slug string

// String implements fmt.Stringer; it is for logs.
func (s Slug) String() string { return "slug:" + string(s) }

// Point is shown as JSON and kept as "x;y".
type Point struct {
	X int `json:"x"`
	Y int `json:"y"`
}

// Value implements driver.Valuer.
func (p Point) Value() (driver.Value, error) { return fmt.Sprintf("%d;%d", p.X, p.Y), nil }

// Scan implements sql.Scanner.
func (p *Point) Scan(src any) error {
	if src == nil { // ent reads null into optional fields
		return nil
	}
	_, err := fmt.Sscanf(text(src), "%d;%d", &p.X, &p.Y)
	return err
}

// Words is a list that is kept as JSON.
type Words []string

// Value implements driver.Valuer.
func (w Words) Value() (driver.Value, error) {
	b, err := json.Marshal(w)
	return string(b), err
}

// Scan implements sql.Scanner.
func (w *Words) Scan(src any) error {
	if src == nil {
		return nil
	}
	return json.Unmarshal([]byte(text(src)), w)
}

// Cents is an integer by another name.
type Cents int64

// Ratio is a float by another name.
type Ratio float32

// Flag is a boolean by another name.
type Flag bool

// Raw is bytes by another name.
type Raw []byte

// Address is what a JSON field holds.
type Address struct {
	Street string            `json:"street"`
	Zip    int               `json:"zip,omitempty"`
	Notes  map[string]string `json:"notes,omitempty"`
}

func text(src any) string {
	switch v := src.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case nil:
		return ""
	}
	return fmt.Sprint(src)
}

func rot13(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case r >= 'A' && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s)
}
