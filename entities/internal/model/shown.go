package model

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/fault"
)

// Whoever reads an entity may send it back, with one field changed. What callers see of the others need not
// say all about what is kept, so that writing it would replace it.

// KeepStored drops the values that fields do not take, or may not mean, and that are stored as they are: they
// change nothing. Its fault says what is wrong with the others. row is the entity as ShownRow reads it, nil for
// none.
func (m *Values) KeepStored(k *Kind, row map[string]any) error {
	m.keepShown(k, row)
	var wrong []fault.Detail
	hint := ""
	for i := range m.Refused {
		r := &m.Refused[i]
		if stored, shown := row[r.Field.Name]; shown && sameShown(r.Value, stored) {
			m.Kept = append(m.Kept, r.Field.Name)
			continue
		}
		wrong, hint = append(wrong, r.Details...), cmp.Or(hint, r.hint)
	}
	m.Refused = nil
	switch {
	case len(wrong) == 0:
		return nil
	case hint != "":
		return fault.Invalid(wrong...).WithHint("%s", hint)
	}
	return fault.Invalid(wrong...)
}

// MayShowOthers reports whether a model sets fields to what may be shown of values that are something else: a
// text with U+FFFD in place of what is not UTF-8, a text in place of what is no JSON, or anything in a column
// that another program fills.
func (m *Values) MayShowOthers() bool { return slices.ContainsFunc(m.Fields, mayShowAnother) }

func mayShowAnother(f FieldValue) bool {
	if f.Column.ShowsAlike() {
		return true
	}
	switch v := f.Value.(type) {
	case string:
		return strings.ContainsRune(v, utf8.RuneError)
	case json.RawMessage:
		return bytes.HasPrefix(v, []byte(`"`))
	}
	return false
}

// keepShown drops what MayShowOthers is about where it is what the row shows.
func (m *Values) keepShown(k *Kind, row map[string]any) {
	m.Fields = slices.DeleteFunc(m.Fields, func(f FieldValue) bool {
		stored, shown := row[f.Field.Name]
		if !shown || !mayShowAnother(f) || !f.isShown(k, stored) {
			return false
		}
		m.Kept = append(m.Kept, f.Field.Name)
		return true
	})
}

// isShown reports whether a field is set to what a row shows of it.
func (f *FieldValue) isShown(k *Kind, stored any) bool {
	if raw, isJSON := f.Value.(json.RawMessage); isJSON {
		sent, err := filter.Decode(raw)
		return err == nil && sameShown(sent, stored)
	}
	was, ok := k.FieldValue(f.Column, f.Field, stored)
	return ok && reflect.DeepEqual(was, f.Value)
}

// ShownRow reads an entity as callers see it. Of a name that stands twice in a stored object they see the last
// value.
func ShownRow(raw json.RawMessage) (row map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return row, d.Decode(&row)
}

// sameShown reports whether a value that was sent is what was shown. Scripts have numbers as JavaScript's, and
// send 1.0 back as 1, and 0.10000000000000000001 as 0.1.
func sameShown(sent, shown any) bool {
	switch sent := sent.(type) {
	case map[string]any:
		other, ok := shown.(map[string]any)
		if !ok || len(sent) != len(other) {
			return false
		}
		for name, v := range sent {
			if was, there := other[name]; !there || !sameShown(v, was) {
				return false
			}
		}
		return true
	case []any:
		other, ok := shown.([]any)
		return ok && slices.EqualFunc(sent, other, sameShown)
	case json.Number:
		other, ok := shown.(json.Number)
		return ok && (sent == other || sameNumber(sent.String(), other.String()))
	}
	return reflect.DeepEqual(sent, shown)
}

func sameNumber(sent, shown string) bool {
	x, err := strconv.ParseFloat(shown, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseFloat(sent, 64)
	if err != nil || x != y {
		return false
	}
	if x == 0 { // 1e-999 is none
		return isZero(sent) && isZero(shown)
	}
	return sameDecimal(sent, shown) || sameDecimal(sent, strconv.FormatFloat(x, 'g', -1, 64))
}

func isZero(number string) bool {
	digits, _, _ := strings.Cut(strings.ToLower(number), "e")
	return strings.Trim(digits, "-0.") == ""
}

// sameDecimal compares numbers that a float64 holds, whose exponents are small.
func sameDecimal(a, b string) bool {
	x, ok := new(big.Rat).SetString(a)
	y, other := new(big.Rat).SetString(b)
	return ok && other && x.Cmp(y) == 0
}
