package python

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/mounts"
	"github.com/koan-go/koan/framework/seccomp"
)

const (
	// nobody is the user and group of the interpreter if the host is root.
	nobody = 65534
	// workspaceMb is how much a script's folder may hold.
	workspaceMb = 64
	// statm is the descriptor by which the interpreter knows how much memory it has mapped.
	statm = 3
	// home is the folder of the interpreter's side.
	home = "/koan"
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
	"/usr/share/zoneinfo", "/etc/ld.so.cache",
}

// become builds the root, drops all privileges, and becomes the interpreter. It returns only where that fails.
func (c *cell) become() error {
	if os.Getpid() != 1 {
		return errors.New("the process sees others")
	}
	self, err := unix.Open("/proc/self/statm", unix.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("measure itself: %w", err)
	}
	if err := c.build(); err != nil {
		return fmt.Errorf("build its root: %w", err)
	}
	if err := unix.CloseRange(statm, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC); err != nil { // what the app has left open
		return fmt.Errorf("close files: %w", err)
	}
	if self == statm {
		_, err = unix.FcntlInt(statm, unix.F_SETFD, 0)
	} else {
		err = unix.Dup3(self, statm, 0)
	}
	if err != nil {
		return fmt.Errorf("keep a file: %w", err)
	}
	runtime.LockOSThread() // whose rights the interpreter has
	if err := c.dropRights(); err != nil {
		return err
	}
	args := []string{c.Path, "-s", "-S", "-B", "-X", "utf8", "-c", "import sys; sys.path.insert(0, '" + home + "'); from koan_runtime.zygote import main; main()"}
	return syscall.Exec(c.Path, args, []string{
		"PYTHONHASHSEED=0", "PYTHONSAFEPATH=1", "TZ=UTC", "HOME=/workspace", "TMPDIR=/workspace", "LC_ALL=C.UTF-8", "LANG=C.UTF-8",
		"OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1",
	})
}

// build makes the root and moves into it.
func (c *cell) build() error {
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
	shown := append([]string{c.Path}, c.Library...)
	if len(c.Modules) > 0 {
		shown = append(shown, c.Sites...)
	}
	for _, path := range shown {
		if err := root.Readable(path); err != nil {
			return err
		}
	}
	if err := root.Device("/dev/null"); err != nil {
		return err
	}
	owner := strconv.Itoa(c.user())
	if err := root.Memory("/workspace", "700,uid="+owner+",gid="+owner, workspaceMb, unix.MS_NOEXEC); err != nil {
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
func (c *cell) user() int {
	if c.Rootless {
		return 0
	}
	return nobody
}

// placeOfRoot returns a folder that the root can be mounted over, since nothing that is shown is in it.
func (c *cell) placeOfRoot() (string, error) {
	for _, place := range []string{"/mnt", "/media", "/srv", "/opt", "/sys", "/tmp"} {
		info, err := os.Stat(place)
		inside := func(path string) bool { return strings.HasPrefix(path, place+"/") }
		if err != nil || !info.IsDir() || inside(c.Path) {
			continue
		}
		free := true
		for _, path := range append(append([]string{}, c.Library...), c.Sites...) {
			free = free && !inside(path)
		}
		if free {
			return place, nil
		}
	}
	return "", errors.New("there is no folder to mount it over")
}

// install writes the interpreter's side into the root, and what it has to know.
func (c *cell) install(root mounts.Root) error {
	const base = "runtime"
	err := fs.WalkDir(runtimeFiles, base, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := root.Path(path.Join(home, strings.TrimPrefix(name, base)))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := runtimeFiles.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o444)
	})
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"ready":      wire.Ready{Protocol: wire.Protocol, Build: worker.Build(), Isolation: worker.Isolation(Layers())},
		"filters":    map[string]string{"zygote": encoded(zygoteFilter()), "script": encoded(scriptFilter())},
		"vocabulary": newVocabulary(c.Modules),
		"modulePath": c.Sites,
	})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root.Path(home), "config.json"), config, 0o444)
}

// encoded returns a filter as the kernel takes it, in base64.
func encoded(p seccomp.Program) string {
	var raw []byte
	for _, i := range p {
		raw = binary.NativeEndian.AppendUint16(raw, i.Code)
		raw = append(raw, i.Jt, i.Jf)
		raw = binary.NativeEndian.AppendUint32(raw, i.K)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// dropRights takes all rights from this thread.
func (c *cell) dropRights() error {
	if c.Rootless {
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
