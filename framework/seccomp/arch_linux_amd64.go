package seccomp

import "golang.org/x/sys/unix"

const (
	arch   = unix.AUDIT_ARCH_X86_64
	x32Bit = 0x40000000 // set in the numbers of the x32 ABI
)
