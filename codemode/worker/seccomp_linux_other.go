//go:build linux && !amd64 && !arm64

package worker

// There is no filter for this architecture, so LayerSeccomp is not available.
const (
	seccompArch = 0
	x32Bit      = 0x40000000
)

var archAllowed []uint32
