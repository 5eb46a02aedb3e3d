//go:build soak

package e2e

import "testing"

// TestSoakKilledInTheMiddle is the long form of TestKilledInTheMiddle.
func TestSoakKilledInTheMiddle(t *testing.T) { killInTheMiddle(t, 100) }
