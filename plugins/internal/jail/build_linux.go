package jail

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// build makes the root of the jail, and moves this process into it.
func (j *Jail) build() error {
	if os.Getpid() != 1 {
		return errors.New("the process sees others")
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to itself: %w", err)
	}
	const flags = unix.MS_NOSUID | unix.MS_NODEV
	if err := unix.Mount("tmpfs", j.Root, "tmpfs", flags, "mode=755,size=1m"); err != nil {
		return fmt.Errorf("mount a root: %w", err)
	}
	if err := j.mountTemp(flags); err != nil {
		return err
	}
	for _, path := range libraries {
		if err := j.library(path); err != nil {
			return err
		}
	}
	for _, path := range devices {
		if err := j.bind(path, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, path := range j.Read {
		if err := j.bind(path, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
			return err
		}
	}
	for _, path := range j.Write {
		if err := j.bind(path, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV); err != nil {
			return err
		}
	}
	j.mountProc()
	if err := j.nameLocalhost(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(j.Root, j.Dir), 0o755); err != nil {
		return err
	}
	return j.enter()
}

// mountTemp gives the program a /tmp.
func (j *Jail) mountTemp(flags uintptr) error {
	tmp := filepath.Join(j.Root, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", tmp, "tmpfs", flags, "mode=1777,size="+strconv.Itoa(j.TempMb)+"m"); err != nil {
		return fmt.Errorf("mount /tmp: %w", err)
	}
	return nil
}

// mountProc shows the program its own processes. Systems that hide parts of /proc from all, as containers do,
// do not let it be mounted: there it is empty.
func (j *Jail) mountProc() {
	proc := filepath.Join(j.Root, "proc")
	if os.Mkdir(proc, 0o555) == nil {
		_ = unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "")
	}
}

// nameLocalhost gives the loopback addresses their name, by which programs talk to parts of themselves.
func (j *Jail) nameLocalhost() error {
	etc := filepath.Join(j.Root, "etc")
	if err := os.MkdirAll(etc, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(etc, "hosts"), []byte("127.0.0.1 localhost\n::1 localhost\n"), 0o444)
}

// library shows a path of the system, if it is there: a link as one.
func (j *Jail) library(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return j.bind(path, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	}
	target, err := os.Readlink(path)
	if err != nil {
		return err
	}
	inside := filepath.Join(j.Root, path)
	if err := os.MkdirAll(filepath.Dir(inside), 0o755); err != nil {
		return err
	}
	return os.Symlink(target, inside)
}

// bind shows a file or folder at its own path.
func (j *Jail) bind(path string, attributes uint64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	inside := filepath.Join(j.Root, path)
	switch there, err := os.Lstat(inside); {
	case err == nil && there.Mode()&fs.ModeSymlink != 0: // a link in a folder that is shown already
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		return j.bind(real, attributes)
	case err == nil:
	case info.IsDir():
		if err := os.MkdirAll(inside, 0o755); err != nil {
			return err
		}
	default:
		if err := emptyFile(inside); err != nil {
			return err
		}
	}
	if err := unix.Mount(path, inside, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("show %s: %w", path, err)
	}
	if attributes == 0 {
		return nil
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, inside, unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: attributes}); err != nil {
		return fmt.Errorf("protect %s: %w", path, err)
	}
	return nil
}

// emptyFile makes a file that another one is shown in place of.
func emptyFile(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o444)
}

// enter makes the folder the root of all, and forgets the old one.
func (j *Jail) enter() error {
	if err := unix.Chdir(j.Root); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("change the root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("protect the root: %w", err)
	}
	return unix.Sethostname([]byte("plugin"))
}
