//go:build unix

package pgtest

import (
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// Lend hands the folder to a user that the server may run as, and what starts a
// process as that user; nil where the test's own will do. The process gets a
// session of its own, so that what interrupts the test does not reach it before it
// can clean up.
func Lend(folder string) (*syscall.SysProcAttr, error) {
	own := &syscall.SysProcAttr{Setsid: true}
	if os.Getuid() != 0 {
		return own, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		if u, err = user.Lookup("nobody"); err != nil {
			return nil, err
		}
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.Atoi(u.Gid)
	if err != nil {
		return nil, err
	}
	own.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return own, os.Chown(folder, uid, gid)
}
