package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Folder is a Store in a folder, which servers may share. Nobody but the app's user may read it.
type Folder struct{ dir string }

var _ Store = (*Folder)(nil)

// newFolder has what is being written, on the same disk.
const newFolder = "new"

// spools is how the names of spool files begin.
const spools = "upload-"

// OpenFolder creates the folder where it is missing, and removes what killed processes were writing.
func OpenFolder(dir string) (*Folder, error) {
	if err := os.MkdirAll(filepath.Join(dir, newFolder), 0o700); err != nil {
		return nil, err
	}
	f := &Folder{dir}
	removeAbandoned(f.path(newFolder), spools)
	return f, nil
}

func (f *Folder) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// Spool implements Store.
func (f *Folder) Spool() (*os.File, error) { return newSpool(f.path(newFolder), spools) }

// Put implements Store.
func (f *Folder) Put(_ context.Context, name string, from *os.File, _ string) error {
	if err := from.Sync(); err != nil {
		return errors.Join(err, from.Close())
	}
	if runtime.GOOS == "windows" { // where an open file cannot be renamed
		if err := from.Close(); err != nil {
			return err
		}
	}
	defer from.Close() // its lock keeps it until it is in its place
	to := f.path(name)
	err := os.Rename(from.Name(), to)
	created := false
	for tries := 0; (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist)) && tries < 100; tries++ {
		// Its folder is not there yet, or another server has just found it empty and removed it; if that
		// happens while it is created, the error is that it exists.
		if err = os.MkdirAll(filepath.Dir(to), 0o700); err == nil {
			created, err = true, os.Rename(from.Name(), to)
		}
	}
	if err != nil {
		return err
	}
	return f.syncFolders(filepath.Dir(to), created)
}

// syncFolders makes what was put into a folder outlive a loss of power: the folder's entry too, where
// it was created.
func (f *Folder) syncFolders(dir string, created bool) error {
	if runtime.GOOS == "windows" { // where folders cannot be synced, and their entries are journalled
		return nil
	}
	for {
		d, err := os.Open(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // then all in it was deleted
			return err
		}
		if err == nil {
			if err = errors.Join(d.Sync(), d.Close()); err != nil {
				return err
			}
		}
		if !created || dir == f.dir {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// Write implements Store.
func (f *Folder) Write(ctx context.Context, name string, raw []byte) error {
	spool, err := f.Spool()
	if err != nil {
		return err
	}
	defer Discard(spool)
	if _, err := spool.Write(raw); err != nil {
		return err
	}
	return f.Put(ctx, name, spool, "")
}

// Read implements Store.
func (f *Folder) Read(_ context.Context, name string) ([]byte, error) {
	file, err := os.Open(f.path(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxSmall))
}

// Open implements Store.
func (f *Folder) Open(_ context.Context, name string, size int64) (io.ReadSeekCloser, error) {
	file, err := os.Open(f.path(name))
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.Size() != size {
		err = fmt.Errorf("%s has %d bytes instead of %d", name, info.Size(), size)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// Written implements Store.
func (f *Folder) Written(_ context.Context, name string) (time.Time, error) {
	info, err := os.Stat(f.path(name))
	if err != nil {
		return time.Time{}, err
	}
	return info.ModTime(), nil
}

// List implements Store.
func (f *Folder) List(ctx context.Context, prefix string, visit func(name string, written time.Time) error) error {
	return filepath.WalkDir(f.path(prefix), func(path string, e fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another server has deleted it
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(f.dir, path)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(name), info.ModTime())
	})
}

// Delete implements Store. A folder that it leaves empty goes, too, but for those at the top.
func (f *Folder) Delete(_ context.Context, name string) error {
	if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if strings.Count(name, "/") > 1 {
		_ = os.Remove(filepath.Dir(f.path(name))) // fails where something is left in it
	}
	return nil
}

// Tidy implements Store.
func (f *Folder) Tidy(ctx context.Context, before time.Time) error {
	return f.List(ctx, newFolder+"/", func(name string, written time.Time) error {
		if written.After(before) {
			return nil
		}
		return f.Delete(ctx, name)
	})
}

// Check implements Store.
func (f *Folder) Check(context.Context) error {
	_, err := os.Stat(f.path(newFolder))
	return err
}

func (f *Folder) String() string { return f.dir }
