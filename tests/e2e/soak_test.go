//go:build soak

package e2e

import (
	"testing"
	"time"

	"github.com/koan-go/koan/tests/pgtest"
)

// TestSoakKilledServers is the long form of TestKilledServers.
func TestSoakKilledServers(t *testing.T) {
	if pgtest.ForEach(t, TestSoakKilledServers) {
		return
	}
	killInTheMiddle(t, 100, 10_000)
}

// TestSoakMixedLoad is the long form of TestMixedLoad.
func TestSoakMixedLoad(t *testing.T) {
	t.Run("SQLite", func(t *testing.T) { mixedLoad(t, newApp(t), 30*time.Second) })
	t.Run("PostgreSQL", func(t *testing.T) { mixedLoad(t, onPostgres(t), 30*time.Second) })
}

// TestSoakEachStaysFlat is the long form of TestEachStaysFlat.
func TestSoakEachStaysFlat(t *testing.T) { eachStaysFlat(t, 100_000) }

// TestSoakConformance is the long form of TestConformance.
func TestSoakConformance(t *testing.T) {
	for range 10 {
		conformance(t)
	}
}
