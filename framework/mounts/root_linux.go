package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// hardened are the attributes of everything that is shown.
const hardened = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV

// Root is a folder that becomes the root of this process. The process has a mount namespace of its own.
type Root string

// New mounts an empty file system in memory over a folder. Nothing that is mounted from now on is seen by others.
func New(folder string) (Root, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return "", fmt.Errorf("keep mounts to itself: %w", err)
	}
	if err := unix.Mount("tmpfs", folder, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755,size=1m"); err != nil {
		return "", fmt.Errorf("mount a root: %w", err)
	}
	return Root(folder), nil
}

// Path returns where in the old root a path of the new one is.
func (r Root) Path(path string) string { return filepath.Join(string(r), path) }

// Memory mounts a folder in memory, with a mode in octal digits, that holds so many megabytes. flags are those of mount.
func (r Root) Memory(path, mode string, megabytes int, flags uintptr) error {
	inside := r.Path(path)
	if err := os.MkdirAll(inside, 0o755); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", inside, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|flags, "mode="+mode+",nr_inodes=16k,size="+strconv.Itoa(megabytes)+"m"); err != nil {
		return fmt.Errorf("mount %s: %w", path, err)
	}
	return nil
}

// Library shows a path of the system at its own place, to be read, if it is there: a link as one.
func (r Root) Library(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return r.Readable(path)
	}
	target, err := os.Readlink(path)
	if err != nil {
		return err
	}
	inside := r.Path(path)
	if err := os.MkdirAll(filepath.Dir(inside), 0o755); err != nil {
		return err
	}
	return os.Symlink(target, inside)
}

// Device shows a device, if it is there.
func (r Root) Device(path string) error {
	if err := r.bind(path, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Readable shows a file or folder at its own path, to be read.
func (r Root) Readable(path string) error { return r.bind(path, unix.MOUNT_ATTR_RDONLY|hardened) }

// ReadableAt shows a file or folder at another path, to be read.
func (r Root) ReadableAt(path, at string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return r.bindAt(path, r.Path(at), info.IsDir(), unix.MOUNT_ATTR_RDONLY|hardened)
}

// Writable shows a file or folder at its own path, to be read and written.
func (r Root) Writable(path string) error { return r.bind(path, hardened) }

// bind shows a file or folder at its own path.
func (r Root) bind(path string, attributes uint64) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	inside := r.Path(path)
	switch there, err := os.Lstat(inside); {
	case err == nil && there.Mode()&fs.ModeSymlink != 0: // a link in a folder that is shown already
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			return err
		}
		return r.bind(real, attributes)
	}
	return r.bindAt(path, inside, info.IsDir(), attributes)
}

// bindAt shows a file or folder at a place in the new root, which it makes if there is none.
func (r Root) bindAt(path, inside string, folder bool, attributes uint64) error {
	_, err := os.Lstat(inside)
	switch {
	case err == nil:
	case folder:
		err = os.MkdirAll(inside, 0o755)
	default:
		err = emptyFile(inside)
	}
	if err != nil {
		return err
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

// Enter makes the folder the root of this process, which nobody writes to, and forgets the old one.
func (r Root) Enter() error {
	if err := unix.Chdir(string(r)); err != nil {
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
	return nil
}
