// Package race marks tests for the race detector.
//
// What belongs here: the mark, and what lists the marked tests for .ci/unit. Not here: what a
// test tests.
package race

import "testing"

// Detect marks a test in which goroutines share what is tested: of a package whose tests take too
// long to be all run under the race detector, .ci/unit runs those that are marked. It is the first
// statement of a test.
func Detect(testing.TB) {}
