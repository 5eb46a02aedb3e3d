package restore

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
)

// What an undo reads of an image has the type that builders take, for every storage, as SQLite and
// as PostgreSQL write it.
func TestHeldValuesHaveTheTypesOfBuilders(t *testing.T) {
	day := time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)
	moment := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	for storage, values := range map[descriptor.Storage]map[any]any{
		descriptor.Text:    {"a": "a", "7": "7"},
		descriptor.Int:     {int64(7): int64(7), "7": int64(7)},
		descriptor.Float:   {1.5: 1.5, "1.5": 1.5},
		descriptor.Bool:    {int64(1): true, "t": true, "false": false},
		descriptor.Time:    {"2026-02-03 04:05:06+00:00": moment, "2026-02-03 04:05:06+00": moment},
		descriptor.Day:     {"2026-02-03 00:00:00+00:00": day, "2026-02-03": day},
		descriptor.UUID:    {"6ba7b810-9dad-11d1-80b4-00c04fd430c8": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"},
		descriptor.Decimal: {"1.50": "1.50"},
		descriptor.Held:    {"x": "x"},
	} {
		for held, want := range values {
			got, err := typed(storage, held)
			require.NoError(t, err, "%s %v", storage, held)
			if at, ok := got.(time.Time); ok {
				got = at.UTC()
			}
			require.Equal(t, want, got, "%s %v", storage, held)
		}
	}
	raw, err := typed(descriptor.JSON, `{"a":1}`)
	require.NoError(t, err)
	require.Equal(t, json.RawMessage(`{"a":1}`), raw)
	for _, held := range []any{[]byte("ab"), `\x6162`} {
		bytes, err := typed(descriptor.Bytes, held)
		require.NoError(t, err)
		require.Equal(t, []byte("ab"), bytes)
	}
}

// Times come back from each form in which a database writes them, and whatever is taken for a time can be
// written and read again.
func FuzzParseMoment(f *testing.F) {
	for _, text := range []string{"2024-02-29 23:59:59.999999999+00:00", "2024-02-29 23:59:59.5+02", "2024-01-01", "0001-01-01T00:00:00Z", "9999-12-31 23:59:59", "-5", "1700000000", "", "NaN", "24:00", "2024-13-01"} {
		f.Add(text, int64(len(text))<<30, int64(123456789))
	}
	f.Fuzz(func(t *testing.T, text string, second, nano int64) {
		if at, err := parseMoment(text); err == nil && at.Year() >= 0 && at.Year() <= 9999 {
			again, err := parseMoment(at.UTC().Format(time.RFC3339Nano))
			require.NoError(t, err)
			require.True(t, at.Equal(again), "%s: %s and %s", text, at, again)
		}
		const year1, year9999 = -62135596800, 253402300799
		at := time.Unix(year1+((second%(year9999-year1))+(year9999-year1))%(year9999-year1), (nano%1e9+1e9)%1e9).UTC()
		for _, layout := range moments {
			want := at
			if layout == time.DateOnly {
				want = at.Truncate(24 * time.Hour)
			}
			got, err := parseMoment(at.Format(layout))
			require.NoError(t, err, layout)
			require.True(t, want.Equal(got), "%s: %s became %s", layout, want, got)
		}
	})
}
