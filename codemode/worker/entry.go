package worker

import (
	"os"
	"strings"
)

// Marker is a worker's first argument. It is exact, so that no argument that a
// user could mean is taken for it.
const Marker = "--koan-codemode-worker=4"

// Args is the command line of a worker that puts on these layers, or ends where
// it cannot; without the executable.
func Args(layers []string) []string { return []string{Marker, strings.Join(layers, ",")} }

func init() {
	if len(os.Args) != 3 || os.Args[1] != Marker {
		return
	}
	layers, ok := parseLayers(os.Args[2])
	if !ok {
		os.Exit(exitBroken)
	}
	os.Exit(serve(layers))
}
