//go:build linux && !amd64

package cell

import "golang.org/x/sys/unix"

// archAllowed are allowed calls that have another name elsewhere.
var archAllowed = []uint32{unix.SYS_FSTATAT}
