package install

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/regular"
)

// maxFile bounds a client's file, in bytes. Claude Code keeps its history in it, too.
const maxFile = 64 << 20

// file is one that is about to be changed.
type file struct {
	path  string // as the client knows it
	real  string // where it lies, if path is a link
	was   []byte
	mode  fs.FileMode
	fresh bool // it does not exist yet
}

// look reads a file, which need not exist. mode is that of a new one.
func look(path string, mode fs.FileMode) (*file, error) {
	f := &file{path: path, real: path, mode: mode}
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		f.fresh = true
		return f, nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if f.real, err = filepath.EvalSymlinks(path); err != nil {
			return nil, fault.Newf(fault.NotFound, "%s is a link to a file that is not there", path).
				WithHint("Make the file that it points to, or remove the link.").Because(err)
		}
		info, err = os.Stat(f.real)
	}
	if err != nil {
		return nil, cannot("read", path, err)
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fault.Newf(fault.InvalidPayload, "%s is not a regular file", path).WithHint("Move it away, and run the command again.")
	case info.Size() > maxFile:
		return nil, fault.Newf(fault.InvalidPayload, "%s is larger than %d MiB", path, maxFile>>20).WithHint("Check that it is the client's file: --print shows what to add by hand.")
	}
	f.mode = info.Mode().Perm()
	if f.was, err = regular.ReadFile(f.real, maxFile); err != nil {
		return nil, cannot("read", path, err)
	}
	return f, nil
}

func cannot(verb, path string, err error) error {
	return fault.Newf(fault.ServiceUnavailable, "%s cannot be %s", path, map[string]string{"read": "read", "write": "written"}[verb]).
		WithHint("Check who owns the file and its folder, and what they allow.").Because(err)
}

// writable reports why a file cannot be changed. Renaming would replace a read-only one,
// whose owner has said that it must not change.
func (f *file) writable() error {
	if !f.fresh && f.mode&0o200 == 0 {
		return fault.Newf(fault.Forbidden, "%s is read-only", f.path).WithHint("Allow its owner to write it (chmod u+w), or add what --print shows by hand.")
	}
	return nil
}

// unchanged reports an error if a file is not as look found it.
func (f *file) unchanged() error {
	now, err := regular.ReadFile(f.real, maxFile)
	if f.fresh && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || f.fresh || !bytes.Equal(now, f.was) {
		return fault.Newf(fault.Conflict, "%s was changed by another program meanwhile; nothing was written", f.path).
			WithHint("Run the command again. Close the client first if it happens again.")
	}
	return nil
}

// keepCopy writes what a file was beside it, under a name that nothing has yet.
func (f *file) keepCopy(now time.Time) (string, error) {
	if f.fresh {
		return "", nil
	}
	base := f.real + ".koan-" + now.UTC().Format("20060102-150405")
	for n := 1; n < 1000; n++ {
		name := base
		if n > 1 {
			name += "-" + strconv.Itoa(n)
		}
		out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, f.mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = out.Write(f.was)
			err = errors.Join(err, out.Close())
		}
		if err != nil {
			return "", cannot("write", name, err)
		}
		return name, nil
	}
	return "", fault.Newf(fault.Conflict, "there are a thousand copies named %s", base).WithHint("Remove some of them.").WithRetry(fault.Fix)
}

// write replaces a file as a whole. A reader sees the old one or the new one.
func (f *file) write(now []byte) error {
	if err := os.MkdirAll(filepath.Dir(f.real), 0o755); err != nil {
		return cannot("write", f.path, err)
	}
	if err := f.unchanged(); err != nil {
		return err
	}
	out, err := os.CreateTemp(filepath.Dir(f.real), "."+filepath.Base(f.real)+"-")
	if err != nil {
		return cannot("write", f.path, err)
	}
	_, err = out.Write(now)
	err = errors.Join(err, out.Chmod(f.mode), out.Sync(), out.Close())
	if err == nil {
		err = f.unchanged()
	}
	if err == nil {
		err = os.Rename(out.Name(), f.real)
	}
	if err != nil {
		_ = os.Remove(out.Name())
		if fault.CodeOf(err) == fault.Conflict {
			return err
		}
		return cannot("write", f.path, err)
	}
	return nil
}

// damaged is the fault of a file that cannot be understood.
func damaged(path string, err error) error {
	return fault.Newf(fault.ParseError, "%s: %v", path, err).WithHint("Nothing was written. Mend the file, or move it away, and run the command again.")
}
