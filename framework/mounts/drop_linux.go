package mounts

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// DropPrivileges takes from the calling thread, and from what it starts, all that root may do. What is left of root
// is the owner of files: those that are shown are mounted so that nobody writes to them.
func DropPrivileges() error {
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if _, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0); errno != 0 && errno != unix.EINVAL {
			return fmt.Errorf("bound capabilities: %w", errno)
		}
	}
	// A user namespace of one user does not allow it, and has no other groups.
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, 0, 0, 0); errno != 0 && errno != unix.EPERM {
		return fmt.Errorf("groups: %w", errno)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if _, _, errno := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0); errno != 0 {
		return fmt.Errorf("capabilities: %w", errno)
	}
	return nil
}
