package worker

import (
	"slices"
	"strings"
)

// The layers that can isolate a script from the system in addition to its process, in the
// order in which Isolation names them.
const (
	LayerSeccomp    = "seccomp"    // all but a few system calls are refused
	LayerLandlock   = "landlock"   // no file can be opened, no TCP port used
	LayerNamespaces = "namespaces" // no other process, network or file exists
)

// Layers returns all layers.
func Layers() []string { return []string{LayerSeccomp, LayerLandlock, LayerNamespaces} }

// Isolation names a worker with these layers: "process+seccomp+landlock".
func Isolation(layers []string) string {
	return strings.Join(append([]string{"process"}, layers...), "+")
}

// parseLayers parses the layers in the arguments that Args returns; ok is false for anything
// else.
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
