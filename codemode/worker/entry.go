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

// Environment is all that a worker's environment has. It is not nil, which would
// inherit the host's: nothing of it may reach a script.
func Environment() []string { return []string{"GOMAXPROCS=2", "GOTRACEBACK=none"} }

func init() {
	if len(os.Args) != 3 {
		return
	}
	roles := map[string]func(layers []string) int{Marker: serve, launcherMarker: serveLauncher}
	role, ok := roles[os.Args[1]]
	if !ok {
		return
	}
	layers, ok := parseLayers(os.Args[2])
	if !ok {
		os.Exit(exitBroken)
	}
	os.Exit(role(layers))
}
