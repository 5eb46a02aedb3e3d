package engine

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
