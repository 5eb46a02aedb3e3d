package worker

import (
	"os"
	"strings"
)

// Marker is a worker's first argument. It is exact, so that no argument that a
// user could mean is taken for it.
const Marker = "--koan-codemode-worker=3"

// The second argument says what comes first.
const (
	startRehearsed = "rehearsed"
	startHurried   = "hurried"
)

// Args is the command line of a worker that puts on these layers, or ends where
// it cannot; without the executable. A hurried one is ready sooner, for a job that
// waits for it already: it takes no rehearsal, so that its script is slower and both
// together cost less.
func Args(layers []string, hurried bool) []string {
	start := startRehearsed
	if hurried {
		start = startHurried
	}
	return []string{Marker, start, strings.Join(layers, ",")}
}

func init() {
	if len(os.Args) != 4 || os.Args[1] != Marker {
		return
	}
	start := os.Args[2]
	layers, ok := parseLayers(os.Args[3])
	if !ok || (start != startRehearsed && start != startHurried) {
		os.Exit(exitBroken)
	}
	os.Exit(serve(layers, start == startRehearsed))
}
