package plugins

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkStart starts a plugin until it takes calls: confined, and as the app's own user.
func BenchmarkStart(b *testing.B) {
	self, err := os.Executable()
	require.NoError(b, err)
	path := filepath.Join(b.TempDir(), "echo")
	require.NoError(b, os.Symlink(self, path))
	for _, mode := range []string{trusted, confined} {
		b.Run(mode, func(b *testing.B) {
			for b.Loop() {
				s, err := StartSingle(b.Context(), path, SingleOptions{Keys: map[string]string{"isolation": mode}})
				require.NoError(b, err)
				require.NoError(b, s.Admit(b.Context()))
				b.StopTimer()
				s.Stop()
				b.StartTimer()
			}
			b.ReportMetric(b.Elapsed().Seconds()*1000/float64(b.N), "start-ms")
		})
	}
}
