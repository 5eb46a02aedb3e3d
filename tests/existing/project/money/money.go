// Package money has amounts of money, to the cent.
package money

import (
	"database/sql/driver"
	"fmt"
	"strconv"
	"strings"
)

// Amount counts cents.
type Amount struct{ cents int64 }

// Cents makes an amount.
func Cents(n int64) Amount { return Amount{n} }

// Parse reads "12.50".
func Parse(s string) (Amount, error) {
	whole, cents, found := strings.Cut(s, ".")
	if !found {
		cents = "00"
	}
	n, err := strconv.ParseInt(whole+cents, 10, 64)
	if err != nil || len(cents) != 2 || whole == "" {
		return Amount{}, fmt.Errorf("%q is no amount such as 12.50", s)
	}
	return Amount{n}, nil
}

// String returns "12.50".
func (a Amount) String() string {
	sign, n := "", a.cents
	if n < 0 {
		sign, n = "-", -n
	}
	return fmt.Sprintf("%s%d.%02d", sign, n/100, n%100)
}

// MarshalText implements encoding.TextMarshaler.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (a *Amount) UnmarshalText(text []byte) (err error) {
	*a, err = Parse(string(text))
	return err
}

// Value implements driver.Valuer.
func (a Amount) Value() (driver.Value, error) { return a.String(), nil }

// Scan implements sql.Scanner.
func (a *Amount) Scan(src any) error {
	switch v := src.(type) {
	case string:
		return a.UnmarshalText([]byte(v))
	case []byte:
		return a.UnmarshalText(v)
	case nil:
		return nil
	}
	return fmt.Errorf("a %T is no amount", src)
}
