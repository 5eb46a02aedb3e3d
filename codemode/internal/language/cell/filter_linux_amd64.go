package cell

import "golang.org/x/sys/unix"

// archAllowed are the older names of allowed calls, which this architecture has too.
var archAllowed = []uint32{
	unix.SYS_OPEN, unix.SYS_STAT, unix.SYS_LSTAT, unix.SYS_NEWFSTATAT, unix.SYS_ACCESS, unix.SYS_READLINK, unix.SYS_MKDIR, unix.SYS_RMDIR, unix.SYS_UNLINK, unix.SYS_RENAME,
	unix.SYS_SYMLINK, unix.SYS_LINK, unix.SYS_CHMOD, unix.SYS_DUP2, unix.SYS_PIPE, unix.SYS_EVENTFD, unix.SYS_POLL, unix.SYS_SELECT, unix.SYS_EPOLL_CREATE, unix.SYS_EPOLL_WAIT, unix.SYS_GETPGRP, unix.SYS_TIME, unix.SYS_ARCH_PRCTL, unix.SYS_GETDENTS,
}
