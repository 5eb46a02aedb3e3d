//go:build linux && !amd64

package python

import "golang.org/x/sys/unix"

// archAllowed are allowed calls that have another name elsewhere.
var archAllowed = []uint32{unix.SYS_FSTATAT}

// zygoteArch are those that the process which forks needs beside.
var zygoteArch []uint32
