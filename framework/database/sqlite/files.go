package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// files are those of a folder: where each lies, and whether it is there.
type files struct{ path string }

func (f files) file(set string) string { return filepath.Join(f.path, set+suffix) }

// draft is where a set's file comes into being; no set's name has a dot.
func (f files) draft(set string) string { return filepath.Join(f.path, ".creating-"+set) }

// turns is where the processes that write to a set take turns.
func (f files) turns(set string) string { return filepath.Join(f.path, "."+set) }

// ledger is the app's own file.
func (f files) ledger() string { return filepath.Join(f.path, ownFile) }

// clearDraft returns where a file comes into being, and removes what a process that died has left
// there.
func (f files) clearDraft(set string) (string, error) {
	draft := f.draft(set)
	for _, tail := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(draft + tail); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return draft, nil
}

// Sets implements database.Backend.
func (f files) Sets(context.Context) ([]string, error) {
	files, err := os.ReadDir(f.path)
	if err != nil {
		return nil, faultOr("the data folder cannot be read", err)
	}
	var out []string
	for _, file := range files {
		if name, ok := strings.CutSuffix(file.Name(), suffix); ok && database.ValidSet(name) {
			out = append(out, name)
		}
	}
	return out, nil
}

// exists reports whether a set has a file. A file that cannot be a set's is a fault, and so is one
// that was there once and is gone.
func (f files) exists(set string) (bool, error) {
	there, err := fileExists(f.file(set), database.Named(set))
	if err != nil || there {
		return there, err
	}
	return f.checkLost(set)
}

// publish moves a complete file, which its maker has synced, to its place, where it outlives a
// loss of power.
func publish(draft, to string) error {
	if err := os.Rename(draft, to); err != nil {
		return err
	}
	return database.SyncFolder(filepath.Dir(to))
}

// withCreateLock runs fn while no other process creates the same set. The lock's file goes
// when the set is there: whoever waited for it finds the set. Where fn fails the
// file stays, so that all who wait keep waiting for the same one.
func (f files) withCreateLock(ctx context.Context, set string, fn func() error) error {
	lock := filepath.Join(f.path, ".creating-"+set+".lock")
	return withConnection(ctx, "file:"+lock+"?_busy_timeout=200&_journal_mode=OFF", func(c *sql.Conn) error {
		if err := lockFileForWriting(ctx, c, longest); err != nil {
			return err
		}
		defer func() { _, _ = c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
		if err := fn(); err != nil {
			return err
		}
		if err := os.Remove(lock); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	})
}

// removeAbandoned removes the drafts of processes that died.
func (f files) removeAbandoned() {
	dirs, _ := filepath.Glob(filepath.Join(f.path, draftDirs+"*"))
	for _, dir := range dirs {
		removeUnowned(dir)
	}
}

// writable writes a file and removes it.
func (f files) writable() error {
	probe, err := os.CreateTemp(f.path, ".probe-*")
	if err != nil {
		return err
	}
	_, err = probe.Write(make([]byte, probeSize))
	return errors.Join(err, probe.Close(), os.Remove(probe.Name()))
}

// makeFolder makes a folder, and those above it, where they are missing, so that they outlive a
// loss of power.
func makeFolder(path string) error {
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	above := filepath.Dir(path)
	if above != path {
		if err := makeFolder(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := database.SyncFolder(above); !errors.Is(err, fs.ErrPermission) { // it may be another's
		return err
	}
	return nil
}

func unwritableFault(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fault.Newf(fault.ServiceUnavailable, "the data folder %s cannot be written: %v", path, err).
		WithHint("Make the folder writable, or name another one with `database: sqlite://PATH`.").Because(err)
}
