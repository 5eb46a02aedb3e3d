package inspect

import (
	"errors"
	"fmt"
	"time"

	"github.com/koan-go/koan/entities/descriptor"
)

// dayForm is the form of a day without a time.
const dayForm = time.DateOnly

// plainTime is the form in which SQLite's own functions write times, in UTC.
const plainTime = "2006-01-02 15:04:05"

// timeForms are the forms in which texts are times, and sort as such. A fraction has a fixed number of digits in
// each.
var timeForms = []string{
	dayForm, plainTime, "2006-01-02 15:04:05.000", "2006-01-02 15:04:05.000000",
	"2006-01-02T15:04:05", "2006-01-02T15:04:05.000", "2006-01-02T15:04:05.000000",
	"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05.000000Z",
	"2006-01-02 15:04", "2006-01-02T15:04",
	"2006-01-02 15:04:05+00:00", "2006-01-02T15:04:05+00:00",
}

// timeForm returns the form that a text has, "" for none.
func timeForm(text string) string {
	for _, form := range timeForms {
		if t, err := time.Parse(form, text); err == nil && t.Format(form) == text {
			return form
		}
	}
	return ""
}

// timeText is a column whose times are texts of one form.
type timeText string

var _ descriptor.Form = timeText("")

// Show implements descriptor.Form. A text in another form is shown as it is.
func (f timeText) Show(held any) (any, error) {
	switch v := held.(type) {
	case time.Time:
		return v.UTC(), nil
	case string:
		if t, err := time.Parse(string(f), v); err == nil && t.Format(string(f)) == v {
			return t, nil
		}
		return v, nil
	case []byte:
		return f.Show(string(v))
	case int64, float64:
		return v, nil
	}
	return nil, fmt.Errorf("a %T is not a time", held)
}

var errFraction = errors.New("the column keeps fewer digits of a second")

// Bind implements descriptor.Form.
func (f timeText) Bind(seen any) (any, error) {
	t, ok := seen.(time.Time)
	if !ok {
		return nil, fmt.Errorf("want a time, got %T", seen)
	}
	text := t.UTC().Format(string(f))
	if kept, err := time.Parse(string(f), text); err != nil || !kept.Equal(t) {
		return nil, errFraction
	}
	return text, nil
}

// Canonical implements descriptor.Form.
func (f timeText) Canonical(seen any) (any, error) {
	if s, ok := seen.(string); ok {
		t, err := time.Parse(time.RFC3339Nano, s)
		if err != nil {
			return nil, fmt.Errorf("%q is not a time", s)
		}
		return t.UTC(), nil
	}
	return seen, nil
}
