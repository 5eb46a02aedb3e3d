package account

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// A value as a column holds it comes back to the last bit, and no text that claims to be one
// makes anything panic.
func FuzzHeld(f *testing.F) {
	f.Add("i5", int64(5), 0.1, []byte{0, 255})
	f.Add("x//8=", int64(math.MinInt64), math.Inf(-1), []byte("text"))
	f.Add("", int64(0), math.Copysign(0, -1), []byte{})
	f.Fuzz(func(t *testing.T, text string, n int64, x float64, b []byte) {
		_, _ = Bound(&text)
		for _, v := range []any{nil, text, string(b), n, x, b} {
			h, err := Hold(v)
			require.NoError(t, err)
			back, err := Bound(h)
			require.NoError(t, err)
			if f, ok := v.(float64); ok && math.IsNaN(f) {
				require.True(t, math.IsNaN(back.(float64)))
				continue
			}
			if raw, ok := v.([]byte); ok && len(raw) == 0 {
				require.Empty(t, back)
				continue
			}
			require.Equal(t, v, back)
		}
	})
}
