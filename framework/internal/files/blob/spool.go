package blob

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/koan-go/koan/framework/filelock"
)

// newSpool creates a spool file, and locks it where the system can, for as long as it is open.
func newSpool(dir, prefix string) (*os.File, error) {
	for {
		f, err := os.CreateTemp(dir, prefix)
		if err != nil {
			return nil, err
		}
		if !filelock.Supported { // removeAbandoned leaves it alone, too
			return f, nil
		}
		locked, err := filelock.Try(f)
		if err != nil {
			return f, nil // a file system without locks
		}
		if locked {
			if _, err = os.Stat(f.Name()); err == nil {
				return f, nil
			}
		}
		_ = f.Close() // a process that started has removed it before it was locked
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// removeAbandoned removes the spool files of processes that died, which nobody has locked. Where there
// are no locks, they are removed when they are old (Tidy).
func removeAbandoned(dir, prefix string) {
	if !filelock.Supported {
		return
	}
	paths, _ := filepath.Glob(filepath.Join(dir, prefix+"*"))
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if free, err := filelock.Try(f); err == nil && free {
			_ = os.Remove(path)
		}
		_ = f.Close()
	}
}
