package worker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSizeIsExact(t *testing.T) {
	for n, want := range map[int64]string{64 << 20: "64 MB", 1000: "1000 bytes", 1 << 20: "1 MB", 1536 << 10: "1536 KB", 1<<20 + 1: "1048577 bytes"} {
		require.Equal(t, want, size(n))
	}
}

func FuzzWellFormed(f *testing.F) {
	for _, s := range []string{`"\ud800"`, `"\\ud800"`, `"\\\ud800x"`, `"\ud83d\ude00"`, `"\ud8`, `\`, `"\u0041\udfff"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := wellFormed([]byte(s))
		require.LessOrEqual(t, len(out), len(s))
		require.Equal(t, string(out), string(wellFormed(append([]byte(nil), out...))))
	})
}
