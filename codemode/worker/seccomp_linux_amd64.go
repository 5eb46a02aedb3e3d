package worker

import "golang.org/x/sys/unix"

const (
	seccompArch = unix.AUDIT_ARCH_X86_64
	x32Bit      = 0x40000000 // set in the numbers of the x32 ABI
)

var archAllowed = []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_TIME}
