package entities_test

import (
	"testing"

	"github.com/koan-go/koan/tests/fixture/ent"
)

// BenchmarkStart is a provider with a fresh data folder, ready for calls: what a
// test with koantest pays.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		start(b, ent.Entities())
	}
}
