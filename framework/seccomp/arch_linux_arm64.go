package seccomp

import "golang.org/x/sys/unix"

const (
	arch   = unix.AUDIT_ARCH_AARCH64
	x32Bit = 0x40000000 // above all numbers of this architecture
)
