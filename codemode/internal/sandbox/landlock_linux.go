package sandbox

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	readFiles   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	runFiles    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	ofDirectory = unix.LANDLOCK_ACCESS_FS_READ_DIR // a right that single files do not have
)

// handled are the rights that Landlock takes away, by the version that brought
// them.
var handled = []struct {
	version uintptr
	fs, net uint64
}{
	{1, unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1, 0}, // the first 13
	{2, unix.LANDLOCK_ACCESS_FS_REFER, 0},
	{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE, 0},
	{4, 0, unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP},
	{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, 0},
}

// restrictThread puts the calling thread under Landlock, for good, and with it
// every process that it starts. It may still start the program, with the libraries
// that a program which links C loads, and read /proc, where the program measures
// itself; names says that it has to write there too, to name the users of a new
// namespace. The worker cannot do this itself: it would miss the threads that it
// has by then.
func restrictThread(program string, names bool) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("the kernel has it not, or not switched on: %w", errno)
	}
	var rules unix.LandlockRulesetAttr
	for _, h := range handled {
		if version >= h.version {
			rules.Handled_access_fs |= h.fs
			rules.Handled_access_net |= h.net
		}
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), unsafe.Sizeof(rules), 0)
	if errno != 0 {
		return fmt.Errorf("make a rule set: %w", errno)
	}
	defer unix.Close(int(fd))
	proc := uint64(readFiles)
	if names {
		proc |= unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	}
	if err := errors.Join(permit(fd, program, runFiles), permit(fd, "/proc", proc), permitLibraries(fd, program)); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("no_new_privs: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	return nil
}

// permit allows access to a file, or to everything below a directory.
func permit(rules uintptr, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("stat %s: %w", path, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &^= ofDirectory
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("permit %s: %w", path, errno)
	}
	return nil
}

// libraries are where systems keep what dynamic programs load.
var libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"}

// permitLibraries allows what a dynamically linked program needs to start.
func permitLibraries(rules uintptr, program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return nil // a script: its start will tell
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		loader, err := io.ReadAll(p.Open())
		if err != nil {
			return fmt.Errorf("read %s: %w", program, err)
		}
		paths := append([]string{filepath.Dir(strings.TrimRight(string(loader), "\x00"))}, libraries...)
		for _, path := range paths {
			if err := permit(rules, path, runFiles|readFiles); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
