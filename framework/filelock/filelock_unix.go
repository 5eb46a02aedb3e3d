//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Supported reports whether there are such locks on this system.
const Supported = true

// Try takes the lock of a file or folder if nobody has it. Closing the file releases it. The lock is
// that of flock(2), which SQLite does not use.
func Try(f *os.File) (bool, error) {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, unix.EINTR):
			return false, &os.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
}

// Release releases a lock that is held.
func Release(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) } // never fails for a lock that is held
