package worker

import "golang.org/x/sys/unix"

// archAllowed are those of allowed that only this architecture has.
var archAllowed = []uint32{unix.SYS_EPOLL_WAIT, unix.SYS_TIME}
