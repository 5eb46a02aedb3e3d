package model

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/koan-go/koan/entities/shim"
)

// What ent's own validators say. They keep the limit to themselves, in a Go
// function.
const (
	tooShort      = "value is less than the required length"
	tooLong       = "value is greater than the required length"
	tooFewRunes   = "value is less than the required rune length"
	tooManyRunes  = "value is greater than the required rune length"
	outOfRange    = "value out of range"
	doesNotMatch  = "value does not match validation"
	longestProbed = 1 << 16
)

// explainLimit says which limit of a validator of ent a value breaks, "" if it cannot
// be found. Validators are functions, so it tries other values on them.
func (m *Model) explainLimit(tx shim.Tx, k *Kind, values *Values, f *FieldValue, why string) string {
	refuses := m.validator(tx, k, values, f, why)
	if refuses == nil {
		return ""
	}
	words := ""
	switch v := f.Value.(type) {
	case string:
		fill := func(n int) any { return strings.Repeat("x", n) }
		words = length(why, len(v), utf8.RuneCountInString(v), "bytes of UTF-8", func(n int) bool { return refuses(fill(n)) })
	case []byte:
		words = length(why, len(v), len(v)+1, "bytes", func(n int) bool { return refuses(bytes.Repeat([]byte("x"), n)) })
	case int64:
		if why == outOfRange {
			words = integerRange(f, v, refuses)
		}
	case float64:
		if why == outOfRange {
			words = floatRange(f, v, refuses)
		}
	}
	if f.Field.Sensitive { // nor its length
		words, _, _ = strings.Cut(words, ", not ")
	}
	return words
}

// validator returns a function that reports whether ent refuses another value of a
// field for the same reason; nil where it does not refuse the model's own value
// that way, since something else did. Nothing is stored.
func (m *Model) validator(tx shim.Tx, k *Kind, values *Values, f *FieldValue, why string) func(v any) bool {
	same := func(err error) bool {
		trait := m.App.Trait(err)
		return trait.Invalid && trait.Field == f.Column.Ent && LastPart(err) == why
	}
	creating := func(v any) bool {
		w := k.Create(tx)
		other := *values
		other.Fields = slices.Clone(values.Fields)
		for i := range other.Fields {
			if other.Fields[i].Field == f.Field {
				other.Fields[i].Value = v
			}
		}
		return other.Apply(k, w, true) != nil || same(checkDefaults(w))
	}
	if id, err := k.ParseID(fmt.Sprint(exampleID(k))); err == nil { // a builder needs one
		updating := func(v any) bool {
			w := k.Update(tx, id)
			return k.Set(w.Mutation, f.Column.Name, v) != nil || same(w.Check())
		}
		if updating(f.Value) {
			return updating
		}
	}
	if creating(f.Value) {
		return creating
	}
	return nil
}

// checkDefaults runs the part of a builder's Save that comes before its statement.
func checkDefaults(w shim.Write) error {
	w.Defaults()
	return w.Check()
}

// explainIDLimit says how long an id may be, given one that is too long; "" if that
// cannot be found.
func (m *Model) explainIDLimit(tx shim.Tx, k *Kind, values *Values) string {
	if !k.SettableID {
		return ""
	}
	return length(tooLong, len(values.Shown), utf8.RuneCountInString(values.Shown), "bytes of UTF-8", func(n int) bool {
		id, err := k.ParseID(strings.Repeat("x", n))
		if err != nil {
			return n > 0
		}
		w := k.Create(tx)
		if values.Apply(k, w, true) != nil || k.SetID(w.Mutation, id) != nil {
			return true
		}
		err = checkDefaults(w)
		return err != nil && LastPart(err) == tooLong
	})
}

// length says how long a value may be, or must be at least. ent counts a text's
// bytes, unless it says runes.
func length(why string, size, runes int, unit string, refuses func(n int) bool) string {
	if why == tooFewRunes || why == tooManyRunes || size == runes {
		size, unit = runes, "characters"
	}
	switch why {
	case tooLong, tooManyRunes:
		if refuses(0) || !refuses(size) {
			return ""
		}
		return fmt.Sprintf("must have at most %s, not %d", quantity(nearestGood(0, int64(size), func(n int64) bool { return !refuses(int(n)) }), unit), size)
	case tooShort, tooFewRunes:
		enough := max(1, size*2)
		for refuses(enough) {
			if enough *= 2; enough > longestProbed {
				return ""
			}
		}
		least := nearestGood(int64(enough), int64(size), func(n int64) bool { return !refuses(int(n)) })
		if least == 1 {
			return "cannot be empty"
		}
		return fmt.Sprintf("must have at least %s, not %d", quantity(least, unit), size)
	}
	return ""
}

func quantity(n int64, unit string) string {
	if n == 1 {
		unit = strings.NewReplacer("characters", "character", "bytes", "byte").Replace(unit)
	}
	return fmt.Sprintf("%d %s", n, unit)
}

// nearestGood returns the value nearest to bad that is good, of two values between
// which it changes once.
func nearestGood(good, bad int64, isGood func(int64) bool) int64 {
	for {
		// Halves first, since the two may be further apart than a number is large.
		middle := good/2 + bad/2 + (good%2+bad%2)/2
		if middle == good || middle == bad {
			return good
		}
		if isGood(middle) {
			good = middle
		} else {
			bad = middle
		}
	}
}

// integerRange says in which range an integer must be.
func integerRange(f *FieldValue, v int64, refuses func(any) bool) string {
	lowest, highest := int64(math.MinInt64), int64(math.MaxInt64)
	if f.Field.Min != nil && f.Field.Max != nil {
		lowest, highest = int64(*f.Field.Min), int64(*f.Field.Max)
	}
	show := func(n int64) string { return strconv.FormatInt(n, 10) }
	return within(v, lowest, highest, show, roundNumbers(func(s float64) int64 { return int64(s) }), func(n int64) bool { return !refuses(n) })
}

// floatRange says in which range a number must be. Floats are searched in the order of
// their bits.
func floatRange(f *FieldValue, v float64, refuses func(any) bool) string {
	highest := math.MaxFloat64
	if f.Column.Single {
		highest = math.MaxFloat32
	}
	show := func(n int64) string { return strconv.FormatFloat(fromOrdered(n), 'g', -1, 64) }
	return within(ordered(v), ordered(-highest), ordered(highest), show, roundNumbers(ordered), func(n int64) bool { return !refuses(fromOrdered(n)) })
}

// ordered numbers floats so that a larger one has a larger number.
func ordered(f float64) int64 {
	n := int64(math.Float64bits(f))
	if n < 0 {
		n = math.MinInt64 - n
	}
	return n
}

func fromOrdered(n int64) float64 {
	if n < 0 {
		n = math.MinInt64 - n
	}
	return math.Float64frombits(uint64(n))
}

// roundNumbers returns numbers of which one is likely to be in any range that people
// choose.
func roundNumbers(as func(float64) int64) (out []int64) {
	out = append(out, as(0))
	for power := -6; power <= 18; power++ {
		for _, digit := range []float64{1, 2, 5} {
			n := digit * math.Pow10(power)
			if n >= math.MaxInt64 {
				continue
			}
			out = append(out, as(n), as(-n))
		}
	}
	return out
}

// within says in which range v, which is outside of it, must be; "" if no value in the
// range is found.
func within(v, lowest, highest int64, show func(int64) string, tries []int64, good func(int64) bool) string {
	i := slices.IndexFunc(tries, func(n int64) bool { return n >= lowest && n <= highest && good(n) })
	if i < 0 {
		return ""
	}
	inside := tries[i]
	near := nearestGood(inside, v, good)
	switch {
	case v < inside && good(highest):
		return fmt.Sprintf("must be at least %s, not %s", show(near), show(v))
	case v < inside:
		return fmt.Sprintf("must be from %s to %s, not %s", show(near), show(nearestGood(inside, highest, good)), show(v))
	case good(lowest):
		return fmt.Sprintf("must be at most %s, not %s", show(near), show(v))
	}
	return fmt.Sprintf("must be from %s to %s, not %s", show(nearestGood(inside, lowest, good)), show(near), show(v))
}
