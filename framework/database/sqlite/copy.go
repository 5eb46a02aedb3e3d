package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// Copies takes the files of a folder out as copies, and in again.
type Copies struct{ files }

// Copies returns what copies the folder's files.
func (f *Folder) Copies() Copies { return Copies{f.files} }

// HasLedger reports whether the folder has the app's own file.
func (c Copies) HasLedger() (bool, error) { return fileExists(c.ledger(), ledgerName) }

// CopyTo writes what a set has at one moment, that of database.Ledger included, into a file that is not there yet. Others
// may read and write the set meanwhile.
func (c Copies) CopyTo(ctx context.Context, set, to string) error {
	file, owner := c.located(set)
	there, err := fileExists(file, owner)
	if err != nil {
		return err
	}
	if !there {
		return fault.Newf(fault.UnknownSet, "the set %q has no data", set)
	}
	return fileFault(owner, withConnection(ctx, dsn(file, busyTimeout, SyncFull), func(conn *sql.Conn) error {
		_, err := conn.ExecContext(ctx, "VACUUM INTO ?", to)
		return err
	}))
}

// located returns the file of a set, or of database.Ledger, and whose it is.
func (c Copies) located(set string) (file, owner string) {
	if set == database.Ledger {
		return c.ledger(), ledgerName
	}
	return c.file(set), database.Named(set)
}

// Admit moves a file that CopyTo wrote into the folder. Both must be on the same file system.
func (c Copies) Admit(ctx context.Context, set, from string) error {
	file, owner := c.located(set)
	err := withConnection(ctx, dsn(from, busyTimeout, SyncFull), func(conn *sql.Conn) error {
		var mode string
		return conn.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
	})
	if err == nil {
		err = publish(from, file)
	}
	if err == nil && set != database.Ledger {
		err = c.mark(set)
	}
	return fileFault(owner, err)
}

// Retire moves the files of all sets, and the app's own, into a folder that is there. It ends in set_busy, and has moved
// nothing, where some process has one of them open.
func (c Copies) Retire(ctx context.Context, to string) error {
	sets, err := c.Sets(ctx)
	if err != nil {
		return err
	}
	if there, err := c.HasLedger(); err != nil {
		return err
	} else if there {
		sets = append(sets, database.Ledger)
	}
	for _, set := range sets {
		if err := c.checkClosed(ctx, set); err != nil {
			return err
		}
	}
	for _, set := range sets {
		file, _ := c.located(set)
		moved := []string{file, file + "-wal", file + "-shm"}
		if set != database.Ledger {
			moved = append(moved, c.turns(set)+".line", c.turns(set)+".turn")
		}
		for _, path := range moved {
			if err := os.Rename(path, filepath.Join(to, filepath.Base(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fault.Newf(fault.ServiceUnavailable, "%s cannot be moved away", filepath.Base(path)).Because(err)
			}
		}
	}
	return database.SyncFolder(c.path)
}

// checkClosed ends in set_busy where some process has a set's file open: only without any other can a file leave
// the mode in which it has a log. What the log has is in the file then.
func (c Copies) checkClosed(ctx context.Context, set string) error {
	file, owner := c.located(set)
	var mode string
	err := withConnection(ctx, dsn(file, 200*time.Millisecond, SyncFull), func(conn *sql.Conn) error {
		return conn.QueryRowContext(ctx, "PRAGMA journal_mode = DELETE").Scan(&mode)
	})
	if err == nil && mode == "delete" {
		return nil
	}
	return fault.Newf(fault.SetBusy, "%s is in use", owner).WithHint("Stop all processes of the app, and try again.").Because(err)
}
