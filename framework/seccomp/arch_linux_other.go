//go:build linux && !amd64 && !arm64

package seccomp

// There is no filter for this architecture.
const (
	arch   = 0
	x32Bit = 0x40000000
)
