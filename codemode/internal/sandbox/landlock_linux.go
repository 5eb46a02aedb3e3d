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
	readFiles     = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	runFiles      = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE
	directoryOnly = unix.LANDLOCK_ACCESS_FS_READ_DIR // a right that applies to directories only
)

// handledRights are the rights that the rule set handles, which means denies by default,
// by the Landlock ABI version that introduced them.
var handledRights = []struct {
	version uintptr
	fs, net uint64
}{
	{1, unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1, 0}, // the first 13
	{2, unix.LANDLOCK_ACCESS_FS_REFER, 0},
	{3, unix.LANDLOCK_ACCESS_FS_TRUNCATE, 0},
	{4, 0, unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP},
	{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, 0},
}

// restrictThread puts the calling thread, and every process that it starts, under Landlock
// for good. They may still execute the program, load the shared libraries of a program that
// links C, and read /proc, where the program measures itself. With writeProc they may also
// write there, as the ID mappings of a new user namespace require. The worker cannot do this
// itself: Landlock restricts one thread, and a Go program has several by then.
func restrictThread(program string, writeProc bool) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return fmt.Errorf("this Linux does not have it, or has it disabled: %w", errno)
	}
	var rules unix.LandlockRulesetAttr
	for _, h := range handledRights {
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
	if writeProc {
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

// permit adds a rule that allows access to a file, or to everything below a directory.
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
		access &^= directoryOnly
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("permit %s: %w", path, errno)
	}
	return nil
}

// libraries are the usual places of shared libraries.
var libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"}

// permitLibraries allows a dynamically linked program to load its libraries.
func permitLibraries(rules uintptr, program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return nil // not ELF, perhaps a script: starting it shows whether it works
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
