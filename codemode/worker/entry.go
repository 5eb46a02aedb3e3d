package worker

import "os"

// Marker is a worker's only argument. It is exact, so that no argument that a
// user could mean is taken for it.
const Marker = "--koan-codemode-worker=1"

// Args is the command line of a worker, without the executable.
func Args() []string { return []string{Marker} }

func init() {
	if len(os.Args) == 2 && os.Args[1] == Marker {
		os.Exit(serve())
	}
}
