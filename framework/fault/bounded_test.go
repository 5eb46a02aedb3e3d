package fault_test

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

func TestBounded(t *testing.T) {
	long := strings.Repeat("\x01", 1<<20)
	f := fault.New(fault.NotFound, long).WithHint("%s", long).WithPath(long).WithDetails(map[string]any{"long": long}).Bounded()
	f.Source = ""
	raw, err := json.Marshal(f)
	require.NoError(t, err)
	require.LessOrEqual(t, len(raw), fault.MaxBytes)
	require.Nil(t, f.Details)
	short := fault.New(fault.NotFound, "no Todo 1").WithDetails(map[string]any{"id": "1"})
	require.Equal(t, short, short.Bounded())
}

// Details of a fault that is too long are not decoded: they could take fifty times
// their text.
func TestDecodeBoundsFaults(t *testing.T) {
	long := `{"code":"conflict","message":"` + strings.Repeat("x", 1<<20) + `","hint":"h","retry":"safe","details":[` + strings.Repeat("[],", 1<<20) + `[]]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f, err := fault.Decode(json.RawMessage(long))
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(20<<20))
	require.Equal(t, fault.Conflict, f.Code)
	require.Equal(t, fault.Safe, f.Retry)
	require.Nil(t, f.Details)
	require.LessOrEqual(t, len(f.Message), 16<<10)
}
