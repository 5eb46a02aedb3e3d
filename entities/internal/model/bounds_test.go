package model

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLengthFindsTheLimit(t *testing.T) {
	for _, c := range []struct {
		why         string
		size, runes int
		min, max    int
		want        string
	}{
		{tooLong, 6, 6, 0, 5, "must have at most 5 characters, not 6"},
		{tooLong, 60_000, 60_000, 0, 1, "must have at most 1 character, not 60000"},
		{tooLong, 6, 4, 0, 5, "must have at most 5 bytes of UTF-8, not 6"},
		{tooManyRunes, 12, 6, 0, 5, "must have at most 5 characters, not 6"},
		{tooShort, 0, 0, 1, 9, "cannot be empty"},
		{tooShort, 2, 2, 3, 9, "must have at least 3 characters, not 2"},
		{tooShort, 2, 1, 3, 9, "must have at least 3 bytes of UTF-8, not 2"},
		{tooFewRunes, 4, 2, 1000, math.MaxInt, "must have at least 1000 characters, not 2"},
		{tooShort, 2, 2, math.MaxInt, math.MaxInt, ""},
		{"even", 2, 2, 3, 9, ""},
	} {
		refuses := func(n int) bool {
			if c.why == tooLong || c.why == tooManyRunes {
				return n > c.max
			}
			return n < c.min
		}
		require.Equal(t, c.want, length(c.why, c.size, c.runes, "bytes of UTF-8", refuses))
	}
}

func TestRangeFindsTheLimits(t *testing.T) {
	const lowest, highest = math.MinInt64, math.MaxInt64
	show := func(n int64) string { return quantity(n, "x") }
	for _, c := range []struct {
		v, min, max int64
		want        string
	}{
		{0, 1, highest, "must be at least 1 x, not 0 x"},
		{lowest, 0, highest, "must be at least 0 x, not -9223372036854775808 x"},
		{highest, lowest, -1, "must be at most -1 x, not 9223372036854775807 x"},
		{9, 1, 5, "must be from 1 x to 5 x, not 9 x"},
		{-9, 1, 5, "must be from 1 x to 5 x, not -9 x"},
		{1, 1900, 2100, "must be from 1900 x to 2100 x, not 1 x"},
		{0, 1234, 1235, ""},
	} {
		good := func(n int64) bool { return n >= c.min && n <= c.max }
		require.Equal(t, c.want, within(c.v, lowest, highest, show, roundNumbers(func(f float64) int64 { return int64(f) }), good))
	}
}

func FuzzFloatsAreOrdered(f *testing.F) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64} {
		f.Add(v, -v)
	}
	f.Fuzz(func(t *testing.T, a, b float64) {
		if math.IsNaN(a) || math.IsNaN(b) { // has no place in the order
			return
		}
		require.Equal(t, a, fromOrdered(ordered(a)))
		if a < b {
			require.Less(t, ordered(a), ordered(b))
		}
	})
}
