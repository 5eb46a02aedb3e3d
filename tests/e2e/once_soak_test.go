//go:build soak

package e2e

import (
	"testing"

	"github.com/koan-go/koan/tests/pgtest"
)

// TestSoakOnceThoughKilled is the long form of TestOnceThoughKilled.
func TestSoakOnceThoughKilled(t *testing.T) {
	if pgtest.ForEach(t, TestSoakOnceThoughKilled) {
		return
	}
	onceThoughKilled(t, 100)
}
