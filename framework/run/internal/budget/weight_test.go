package budget_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run/internal/budget"
)

// A weight is no less than what decoding takes.
func TestWeightCoversDecoding(t *testing.T) {
	for name, text := range map[string]string{
		"lists": strings.Repeat("[],", 100_000), "objects": strings.Repeat("{},", 100_000), "members": strings.Repeat(`{"a":1,"b":"c"},`, 50_000),
		"numbers": strings.Repeat("1,", 300_000), "texts": strings.Repeat(`"ab",`, 200_000), "nested": strings.Repeat(`[[[[]]]],`, 50_000),
	} {
		raw := json.RawMessage("[" + text + "0]")
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var v any
		require.NoError(t, json.Unmarshal(raw, &v))
		runtime.GC()
		runtime.ReadMemStats(&after)
		require.LessOrEqual(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), budget.Weight(raw), name)
		runtime.KeepAlive(v)
	}
}

func FuzzWeight(f *testing.F) {
	for _, s := range []string{``, `{"a":[1,"b"]}`, `"\\"`, `"`, `["\","{"]`, strings.Repeat(`{"a\"b":[`, 1000)} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		long := append(text, strings.Repeat(" ", 5000)...)
		require.GreaterOrEqual(t, budget.Weight(long), int64(len(long)))
		require.LessOrEqual(t, budget.Weight(long), int64(len(long))*400)
	})
}
