//go:build linux && !amd64

package worker

// archAllowed are those of allowed that only this architecture has.
var archAllowed []uint32
