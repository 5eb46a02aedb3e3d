package engine_test

import (
	"testing"

	"github.com/koan-go/koan/tests/fixture/ent"
)

// BenchmarkStart is a provider with a fresh place, ready for calls: what a
// test with koantest pays.
func BenchmarkStart(b *testing.B) {
	if forEach(b, BenchmarkStart) {
		return
	}
	for b.Loop() {
		start(b, ent.Entities())
	}
}
