package cell

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/framework/mounts"
)

const (
	// nobody is the user and group of the interpreter if the host is root.
	nobody = 65534
	// workspaceMb is how much a script's folder may hold.
	workspaceMb = 64
)

func attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL, Setpgid: true,
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
	}
	if os.Getuid() != 0 { // a user namespace lets the process build its root
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	return attr
}

// libraries are what the interpreter finds of the system; those that are not there are left out.
var libraries = []string{
	"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libx32", "/usr/local/lib",
	"/usr/share/zoneinfo", "/etc/ld.so.cache", "/etc/alternatives", // in which Debian links libblas and others
}

// become builds the root, drops all privileges, and becomes the interpreter. It returns only where that fails.
func (c *Cell) become() error {
	if os.Getpid() != 1 {
		return errors.New("the process sees others")
	}
	self, err := unix.Open("/proc/self/statm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("measure itself: %w", err)
	}
	if err := c.build(); err != nil {
		return fmt.Errorf("build its root: %w", err)
	}
	if err := c.arrangeFiles(self); err != nil {
		return fmt.Errorf("keep its files: %w", err)
	}
	runtime.LockOSThread() // whose rights the interpreter has
	if err := c.dropRights(); err != nil {
		return err
	}
	if c.Seal == nil {
		return syscall.Exec(c.Path, append([]string{c.Path}, c.Args...), c.Env)
	}
	return c.sealAndStart()
}

// arrangeFiles leaves the interpreter its own files and no other: what the app has left open is closed. self is
// the open file of statm.
func (c *Cell) arrangeFiles(self int) error {
	keep := map[int]int{statm: self}
	if c.Apart {
		null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		keep[framesIn], keep[framesOut], keep[0], keep[1] = 0, 1, null, null
	}
	const first = framesOut + 1 // no copy is in the place of another
	for to, from := range keep {
		dup, err := unix.FcntlInt(uintptr(from), unix.F_DUPFD_CLOEXEC, first)
		if err != nil {
			return err
		}
		keep[to] = dup
	}
	if err := unix.CloseRange(statm, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	for to, from := range keep {
		if err := unix.Dup3(from, to, 0); err != nil {
			return err
		}
	}
	return nil
}

// build makes the root and moves into it.
func (c *Cell) build() error {
	place, err := c.placeOfRoot()
	if err != nil {
		return err
	}
	root, err := mounts.New(place)
	if err != nil {
		return err
	}
	for _, path := range libraries {
		if err := root.Library(path); err != nil {
			return err
		}
	}
	for _, path := range append([]string{c.Path}, c.Shown...) {
		if err := root.Readable(path); err != nil {
			return err
		}
	}
	for at, path := range c.Placed {
		if err := root.ReadableAt(path, at); err != nil {
			return err
		}
	}
	if err := root.Device("/dev/null"); err != nil {
		return err
	}
	owner := strconv.Itoa(c.user())
	if err := root.Memory(Workspace, "700,uid="+owner+",gid="+owner, workspaceMb, unix.MS_NOEXEC); err != nil {
		return err
	}
	if err := c.install(root); err != nil {
		return err
	}
	if err := root.Enter(); err != nil {
		return err
	}
	return unix.Sethostname([]byte("koan"))
}

// user is the user and the group that the interpreter has, as the process sees them.
func (c *Cell) user() int {
	if c.rootless {
		return 0
	}
	return nobody
}

// placeOfRoot returns a folder that the root can be mounted over, since nothing that is shown is in it.
func (c *Cell) placeOfRoot() (string, error) {
	for _, place := range []string{"/mnt", "/media", "/srv", "/opt", "/sys", "/tmp"} {
		info, err := os.Stat(place)
		inside := func(path string) bool { return strings.HasPrefix(path, place+"/") }
		if err != nil || !info.IsDir() || inside(c.Path) || slices.ContainsFunc(c.Shown, inside) {
			continue
		}
		free := true
		for at, path := range c.Placed {
			free = free && !inside(path) && !inside(at)
		}
		if free {
			return place, nil
		}
	}
	return "", errors.New("there is no folder to mount it over")
}

// install writes the interpreter's side into the root, and what it is told.
func (c *Cell) install(root mounts.Root) error {
	err := fs.WalkDir(c.Side, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := root.Path(path.Join(Home, name))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := fs.ReadFile(c.Side, name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o444)
	})
	if err != nil {
		return err
	}
	c.Told["ready"] = ready()
	config, err := json.Marshal(c.Told)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root.Path(Home), configFile), config, 0o444)
}

// dropRights takes all rights from this thread.
func (c *Cell) dropRights() error {
	if c.rootless {
		if err := mounts.DropPrivileges(); err != nil {
			return err
		}
	} else {
		for call, args := range map[uintptr][3]uintptr{unix.SYS_SETGROUPS: {}, unix.SYS_SETRESGID: {nobody, nobody, nobody}} {
			if _, _, errno := unix.RawSyscall(call, args[0], args[1], args[2]); errno != 0 {
				return fmt.Errorf("groups: %w", errno)
			}
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			return fmt.Errorf("become nobody: %w", errno)
		}
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil { // a change of the user clears it
		return fmt.Errorf("die with the host: %w", err)
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}
