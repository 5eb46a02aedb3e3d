package jail

import (
	"errors"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/framework/mounts"
)

// build makes the root of the jail, and moves this process into it.
func (j *Jail) build() error {
	if os.Getpid() != 1 {
		return errors.New("the process sees others")
	}
	root, err := mounts.New(j.Root)
	if err != nil {
		return err
	}
	if err := root.Memory("/tmp", "1777", j.TempMb, 0); err != nil {
		return err
	}
	if err := j.show(root); err != nil {
		return err
	}
	mountProc(root)
	if err := nameLocalhost(root); err != nil {
		return err
	}
	if err := os.MkdirAll(root.Path(j.Dir), 0o755); err != nil {
		return err
	}
	if err := root.Enter(); err != nil {
		return err
	}
	return unix.Sethostname([]byte("plugin"))
}

// show shows what of the machine the program sees.
func (j *Jail) show(root mounts.Root) error {
	for _, shown := range []struct {
		paths []string
		how   func(path string) error
	}{{libraries, root.Library}, {devices, root.Device}, {j.Read, root.Readable}, {j.Write, root.Writable}} {
		for _, path := range shown.paths {
			if err := shown.how(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// mountProc shows the program its own processes. Systems that hide parts of /proc from all, as containers do,
// do not let it be mounted: there it is empty.
func mountProc(root mounts.Root) {
	proc := root.Path("/proc")
	if os.Mkdir(proc, 0o555) == nil {
		_ = unix.Mount("proc", proc, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, "")
	}
}

// nameLocalhost gives the loopback addresses their name, by which programs talk to parts of themselves.
func nameLocalhost(root mounts.Root) error {
	etc := root.Path("/etc")
	if err := os.MkdirAll(etc, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(etc, "hosts"), []byte("127.0.0.1 localhost\n::1 localhost\n"), 0o444)
}
