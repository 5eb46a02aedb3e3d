package worker

import (
	"slices"
	"strings"
)

// The layers that can stand between a script and the system on top of its own
// process, in the order in which they are named.
const (
	LayerSeccomp    = "seccomp"    // all but a few system calls are refused
	LayerLandlock   = "landlock"   // no file can be opened, no TCP port used
	LayerNamespaces = "namespaces" // no other process, network or file exists
)

// Layers returns all layers there are.
func Layers() []string { return []string{LayerSeccomp, LayerLandlock, LayerNamespaces} }

// Isolation names a worker with these layers: "process+seccomp+landlock".
func Isolation(layers []string) string {
	return strings.Join(append([]string{"process"}, layers...), "+")
}

// parseLayers reads what Args wrote; ok is false for anything else.
func parseLayers(text string) (layers []string, ok bool) {
	if text == "" {
		return nil, true
	}
	layers = strings.Split(text, ",")
	for i, l := range layers {
		if !slices.Contains(Layers(), l) || slices.Contains(layers[:i], l) {
			return nil, false
		}
	}
	return layers, true
}
