package worker

import (
	"os"
	"strings"

	"github.com/koan-go/koan/codemode/internal/language"
)

// Marker is a worker's first argument. It is specific enough not to be confused with an
// argument of a user.
const Marker = "--koan-codemode-worker=4"

// Args returns the arguments of a worker, without the executable. The worker applies these
// layers, and exits if it cannot.
func Args(layers []string) []string { return []string{Marker, strings.Join(layers, ",")} }

// Environment returns the complete environment of a worker. It must not be nil, which would
// mean the host's environment, of which nothing may reach a script.
func Environment() []string { return []string{"GOMAXPROCS=2", "GOTRACEBACK=none"} }

// Main runs a worker of these languages and exits if the command line is that of one, and otherwise returns at once. A
// program calls it in the initialisation of a package, so that every binary which links that package can be started
// again as a worker, whatever its main function does.
func Main(languages func() []language.Language) {
	if len(os.Args) != 3 {
		return
	}
	roles := map[string]func(layers []string) int{
		Marker:         func(layers []string) int { return serve(layers, languages()) },
		launcherMarker: serveLauncher,
	}
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
