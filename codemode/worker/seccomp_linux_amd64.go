package worker

import "golang.org/x/sys/unix"

const (
	seccompArch = unix.AUDIT_ARCH_X86_64
	x32Bit      = 0x40000000 // calls of the x32 ABI have it set
)

var archAllowed = []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_TIME}
