package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/filelock"
	"github.com/koan-go/koan/framework/run/store"
)

var (
	_ database.Drafter = (*Folder)(nil)
	_ database.Draft   = (*Draft)(nil)
)

// Draft is a set that does not exist yet: a file in a folder of its own, which moves
// to the set's place when what was written to it has committed. Its one transaction is
// all that uses it.
type Draft struct {
	*Database
	folder    *Folder
	dir       string
	owner     *os.File // the locked dir: it is in use
	attached  any
	published bool
	adopted   bool // the folder keeps it open now
}

const (
	draftDirs = ".draft-" // no set's name has a dot
	// abandoned is how old a draft is whose process has died, on systems where no lock shows
	// that; no run takes that long.
	abandoned = 24 * time.Hour
)

// Draft implements database.Drafter.
func (f *Folder) Draft(ctx context.Context, set string) (d database.Draft, attached any, release func(), err error) {
	if !database.ValidSet(set) || f.opened.Has(set) {
		return nil, nil, nil, nil
	}
	there, err := f.exists(set)
	if err != nil {
		return nil, nil, nil, f.openFault(set, err)
	}
	if there {
		return nil, nil, nil, nil
	}
	draft, err := f.newDraft(ctx, set)
	if err != nil {
		return nil, nil, nil, f.openFault(set, err)
	}
	return draft, draft.attached, draft.release, nil
}

func (f *Folder) newDraft(ctx context.Context, set string) (*Draft, error) {
	owner, err := newOwnedDir(f.path)
	if err != nil {
		return nil, err
	}
	dir := owner.Name()
	file := filepath.Join(dir, set+suffix)
	if err := f.birth.writeNewSet(ctx, set, file); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir), owner.Close())
	}
	d := &Draft{Database: open(file, set, "", f.sync), folder: f, dir: dir, owner: owner}
	d.draft = d
	if d.attached, err = f.migrateOpened(d.Database); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir), owner.Close())
	}
	return d, nil
}

// Publish implements database.Draft.
func (d *Draft) Publish(context.Context) error {
	d.published = true
	return nil
}

// move takes the committed file to the set's place, where it is published. The set
// exists from that moment on; whoever comes second ends in store.ErrStale.
func (d *Draft) move(ctx context.Context) error {
	if !d.published {
		return nil
	}
	from := *d.file.Load()
	if err := d.disconnect(from); err != nil {
		return d.folder.openFault(d.set, err)
	}
	to := d.folder.file(d.set)
	stale := false
	err := d.folder.withCreateLock(ctx, d.set, func() error {
		there, err := d.folder.exists(d.set)
		if stale = there; err != nil || there {
			return err
		}
		if err := publish(from, to); err != nil {
			return err
		}
		return d.folder.mark(d.set)
	})
	switch {
	case err != nil:
		return d.folder.openFault(d.set, err)
	case stale:
		return store.ErrStale
	}
	d.file.Store(&to)
	d.draft, d.turns = nil, newTurns(d.folder.turns(d.set))
	d.db.SetMaxIdleConns(idleConns)
	d.runs.SetMaxIdleConns(idleConns)
	d.adopted = d.folder.opened.Adopt(d.set, d.Database, d.attached)
	return nil
}

// disconnect closes all connections, the last of which writes the log back into the
// file.
func (d *Draft) disconnect(file string) error {
	d.closeWriter()
	d.db.SetMaxIdleConns(-1)
	d.runs.SetMaxIdleConns(-1)
	if n := d.db.Stats().OpenConnections + d.runs.Stats().OpenConnections; n > 0 {
		return fmt.Errorf("%d connections to %s are still in use", n, file)
	}
	if info, err := os.Stat(file + "-wal"); err == nil && info.Size() > 0 {
		return fmt.Errorf("%s-wal was not written back", file)
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// release removes what is left of the draft.
func (d *Draft) release() {
	if !d.adopted {
		_ = d.close()
	}
	_ = os.RemoveAll(d.dir)
	_ = d.owner.Close()
}

// newOwnedDir makes a folder for a draft, and locks it for as long as the file is open.
func newOwnedDir(in string) (*os.File, error) {
	for {
		dir, err := os.MkdirTemp(in, draftDirs+"*")
		if err != nil {
			return nil, err
		}
		owner, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a process that started has removed it before it was locked
		}
		if err != nil {
			return nil, err
		}
		mine, err := filelock.Try(owner)
		if err == nil && mine {
			if _, err = os.Stat(dir); err == nil {
				return owner, nil
			}
		}
		_ = owner.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// removeUnowned removes a draft unless a process has locked it.
func removeUnowned(dir string) {
	owner, err := os.Open(dir)
	if err != nil {
		return
	}
	defer owner.Close()
	info, err := owner.Stat()
	if err != nil || !filelock.Supported && time.Since(info.ModTime()) <= abandoned {
		return
	}
	if free, err := filelock.Try(owner); err == nil && free {
		_ = os.RemoveAll(dir)
	}
}
