package read

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// FuzzText: any text becomes the JSON string that encoding/json reads back.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"", "plain", "\"\\\n\r\t\x00\x1f\x7f", "é日本\u2028", "\xff\xc3", "a\xf0\x9f\x98\x80b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got, want string
		require.NoError(t, json.Unmarshal(appendString(nil, s), &got))
		raw, err := json.Marshal(s)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(raw, &want))
		require.Equal(t, want, got)
	})
}

// FuzzTimeText: what the driver stores for a moment reads as that moment, and
// any other text is JSON or an error.
func FuzzTimeText(f *testing.F) {
	for _, seed := range []string{"2026-01-02 03:04:05+00:00", "2026-01-02 03:04:05.000000001-07:30", "2026-01-02 03:04:05.", "2026-01-02", "20000-02-29 00:00:00+00:00", "17", "x"} {
		f.Add(seed, int64(1767323045), int64(120e6))
	}
	f.Fuzz(func(t *testing.T, s string, seconds, nanos int64) {
		if out, err := appendTimeText(nil, s); err == nil {
			require.True(t, json.Valid(out), string(out))
		}
		at := time.Unix(seconds%(1<<37), (nanos%1e9+1e9)%1e9).UTC()
		if at.Year() < 0 || at.Year() > 9999 {
			return
		}
		out, err := appendTimeText(nil, at.Format("2006-01-02 15:04:05.999999999-07:00"))
		require.NoError(t, err)
		var got time.Time
		require.NoError(t, json.Unmarshal(out, &got))
		require.True(t, got.Equal(at), string(out))
	})
}

// FuzzDistantTime: a time of any year reads back from the text that cursors and SQLite have of it, and any
// other text is a time or none.
func FuzzDistantTime(f *testing.F) {
	for _, seed := range []string{"20000-02-29 00:00:00+00:00", "-0043-03-15 00:00:00+00:00", "--1-01-01", "99999-", "infinity"} {
		f.Add(seed, int64(-63e9))
	}
	f.Fuzz(func(t *testing.T, s string, seconds int64) {
		parseDistantTime(s)
		at := time.Unix(seconds%(1<<44), 0).UTC()
		got, err := parseTime(at.Format(sqltext.SQLiteTime))
		require.NoError(t, err)
		require.True(t, got.Equal(at), "%s: %s", at, got)
	})
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]any{
		"9007199254740991": int64(1<<53 - 1), `"9007199254740992"`: int64(1 << 53), `"-9007199254740992"`: int64(-1 << 53), "0": int64(0),
	} {
		got, err := appendValue(nil, kindInt, v)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
	}
	for _, v := range []float64{0, -0.5, 1e-7, 123456789.125, 1e21, 5e-324, 1.7976931348623157e308} {
		got, err := appendValue(nil, kindFloat, v)
		require.NoError(t, err)
		var back float64
		require.NoError(t, json.Unmarshal(got, &back))
		require.Equal(t, v, back)
	}
	_, err := appendValue(nil, kindInt, "text")
	require.Error(t, err)
}

// unreadableForm is that of a type which reads nothing.
type unreadableForm struct{ descriptor.Form }

func (unreadableForm) Show(held any) (any, error) { return nil, fmt.Errorf("cannot read %v", held) }

// TestUnreadableValueIsNamedByItsField: the type's own words may have the value in them,
// so they are the cause, for the log.
func TestUnreadableValueIsNamedByItsField(t *testing.T) {
	t.Parallel()
	var out []byte
	c := cell{out: &out, kind: kindHeld, form: unreadableForm{}, key: `,"address":`}
	err := c.Scan("a secret")
	var f *fault.Fault
	require.ErrorAs(t, err, &f)
	require.Equal(t, fault.ServiceUnavailable, f.Code)
	require.Equal(t, fault.Never, f.Retry)
	require.Contains(t, f.Message, `"address"`)
	require.NotContains(t, f.Message+f.Hint, "secret")
	require.EqualError(t, errors.Unwrap(f), "cannot read a secret")
}

func TestSumsHaveNoNoise(t *testing.T) {
	cents := 0.0
	for range 10 {
		cents += 0.1
	}
	third := 1.0
	third /= 3
	for got, want := range map[float64]float64{
		15.120000000000001: 15.12, 24.439999999999998: 24.44, -cents: -1, 0.30000000000000004: 0.3, 1e-7 * 3: 3e-7,
		third: third, 2 * third: 2 * third, 4611686018427387904: 4611686018427387904, math.MaxFloat64: math.MaxFloat64, 0: 0, 123456789012.34567: 123456789012.34567,
	} {
		require.Equal(t, want, withoutNoise(got)) //nolint:testifylint // to the last bit
	}
}
