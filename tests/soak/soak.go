// Package soak says which tests, and how much of them, run with every change, and what only `make soak`
// runs.
//
// What belongs here: that. Not here: what a test tests.
package soak

import (
	"maps"
	"os"
	"slices"
	"testing"
)

// Proof marks a test that takes more time than every change can wait for: `make test` leaves it out,
// `make soak` runs it, and so does go test where its package is named. It is the first statement of a
// test. What it proves has a shorter test that is not marked, wherever one can be made.
func Proof(testing.TB) {}

// Rounds returns how many rounds a test of random input makes: some with every change, many in
// `make soak`, which sets KOAN_SOAK.
func Rounds(some, many int) int {
	if os.Getenv("KOAN_SOAK") != "" {
		return many
	}
	return some
}

// Part returns some of the cases of a test whose cases each start a process: as many as every change can wait
// for, spread evenly over their names, always the same. `make soak`, which sets KOAN_SOAK, takes all.
func Part[C any](some int, all map[string]C) map[string]C {
	if Rounds(some, len(all)) >= len(all) {
		return all
	}
	names, part := slices.Sorted(maps.Keys(all)), make(map[string]C, some)
	for i := range some {
		name := names[i*len(names)/some]
		part[name] = all[name]
	}
	return part
}
