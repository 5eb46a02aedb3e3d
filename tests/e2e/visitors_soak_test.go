//go:build soak && linux

package e2e

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSoakVisitors is the long form of TestVisitors: half an hour, or what
// KOAN_SOAK says.
func TestSoakVisitors(t *testing.T) {
	long := 30 * time.Minute
	if given := os.Getenv("KOAN_SOAK"); given != "" {
		var err error
		long, err = time.ParseDuration(given)
		require.NoError(t, err, "KOAN_SOAK")
	}
	receive(t, long, true)
}
