//go:build soak

package e2e

import (
	"testing"

	"github.com/koan-go/koan/tests/pgtest"
)

// TestSoakOnceWithKilledServers is the long form of TestOnceWithKilledServers.
func TestSoakOnceWithKilledServers(t *testing.T) {
	if pgtest.ForEach(t, TestSoakOnceWithKilledServers) {
		return
	}
	onceThoughKilled(t, 100)
}
