// Package soak says how long tests with random input go on.
//
// What belongs here: that. What must never: what a test tests.
package soak

import "os"

// Rounds returns how many rounds a test of random input makes: some with every change, many in
// `make soak`, which sets KOAN_SOAK.
func Rounds(some, many int) int {
	if os.Getenv("KOAN_SOAK") != "" {
		return many
	}
	return some
}
