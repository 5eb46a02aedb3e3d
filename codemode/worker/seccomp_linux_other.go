//go:build linux && !amd64 && !arm64

package worker

// No filter is known for this architecture: isolation is by process.
const (
	seccompArch = 0
	x32Bit      = 0x40000000
)

var archAllowed []uint32
