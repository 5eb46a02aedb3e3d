//go:build soak

package e2e

import (
	"fmt"
	"testing"
)

// TestConformanceSoak runs the protocol's suites ten times in a row: what passes by
// luck doesn't.
func TestConformanceSoak(t *testing.T) {
	for i := range 10 {
		t.Run(fmt.Sprint(i+1), conformance)
	}
}
