package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
)

// applicationID marks the files in their header as ours, where every program that reads
// SQLite files finds it: "Koan" in ASCII. Files of earlier builds have none.
const applicationID = 0x4b6f616e

// The header of a SQLite file (https://www.sqlite.org/fileformat.html section 1.3).
const (
	headerSize   = 100
	magic        = "SQLite format 3\x00"
	headerIDFrom = 68
)

// fileExists reports whether a file is there. One that is there and cannot be a database
// of ours ends in service_unavailable: it is never filled again, since what was in it
// may be wanted back. owner is what database.Named returns.
//
// The header of a file that this process has open is not read: SQLite does that, and closing the
// file here would release its locks.
func fileExists(path, owner string) (bool, error) {
	var header []byte
	read, err := sqlitedriver.Apart(path, func() (err error) {
		header, err = headerOf(path)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return checkOrphanedLog(path, owner)
	case err != nil:
		return true, err
	case !read:
		info, err := os.Stat(path)
		if err == nil && info.Size() == 0 {
			return true, damagedFault(path, owner, wrongHeader(nil))
		}
		return true, err
	}
	if why := wrongHeader(header); why != "" {
		return true, damagedFault(path, owner, why)
	}
	return true, nil
}

// headerOf returns the header of a file, or as much of it as there is.
func headerOf(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	header := make([]byte, headerSize)
	n, err := io.ReadFull(file, header)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return header[:n], err
}

// checkOrphanedLog reports of a file that is not there whether its log is: SQLite would play it
// into any file that came to this place, and damage that.
func checkOrphanedLog(path, owner string) (bool, error) {
	log := path + "-wal"
	info, err := os.Stat(log)
	if errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return false, nil
	}
	if err != nil {
		return true, err
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return true, err // another process has just made it
	}
	return true, fault.Newf(fault.ServiceUnavailable, "the file of %s is missing, but its log is there", owner).
		WithHint("Put back the very file. Or stop the app, move %[1]s-wal and %[1]s-shm away from the data folder, and restore a backup. Without one, %[2]s.", filepath.Base(path), creatingAnew(path, owner)).
		Because(fmt.Errorf("%s exists without %s", log, path))
}

// wrongHeader says why the beginning of a file is not that of a database of ours, ""
// where it may be.
func wrongHeader(header []byte) string {
	switch {
	case len(header) == 0:
		return "is empty: something truncated it"
	case len(header) < headerSize, string(header[:len(magic)]) != magic:
		return "is not a SQLite database"
	}
	if id := binary.BigEndian.Uint32(header[headerIDFrom:]); id != 0 && id != applicationID {
		return fmt.Sprintf("belongs to another program: its application_id is %#x", id)
	}
	return ""
}

func damagedFault(path, owner, why string) error {
	return fault.Newf(fault.ServiceUnavailable, "the file of %s %s", owner, why).
		WithHint("Stop the app, move %[1]s, %[1]s-wal and %[1]s-shm away from the data folder, and restore a backup. Without one, %[2]s.", filepath.Base(path), creatingAnew(path, owner)).
		Because(fmt.Errorf("%s %s", path, why))
}

// receipts is the table that every set has.
const receipts = "koan_receipts"

// checkOurs refuses a database that has none of the tables that a set of the app has. One of
// an earlier version may have few of them, and one that the app made without us has no
// receipts.
func (f *Folder) checkOurs(ctx context.Context, set string, c *sql.Conn) error {
	rows, err := c.QueryContext(ctx, "SELECT name FROM sqlite_master WHERE type = 'table'")
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		if name == receipts || slices.Contains(f.schema.Tables, name) {
			return nil
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return damagedFault(f.file(set), database.Named(set), "belongs to another program: the app's tables are not in it")
}

// recently is for how long reads trust a check of the file. They lose nothing by that: they get what
// they would have got if they had come so much earlier.
const recently = 50 * time.Millisecond

// checkRecently is checkSameFile for what only reads, unless it was done just now.
func (d *Database) checkRecently() error {
	if at := d.checked.Load(); at != 0 && time.Since(time.Unix(0, at)).Abs() < recently {
		return nil
	}
	return d.checkSameFile()
}

// checkSameFile refuses to work with a set whose file was taken away, or replaced by another,
// while it is open: what was written to the open one would be lost.
func (d *Database) checkSameFile() error {
	path := *d.file.Load()
	now, err := os.Stat(path)
	if d.identity == nil || err == nil && os.SameFile(d.identity, now) {
		d.checked.Store(time.Now().UnixNano())
		return nil
	}
	d.checked.Store(0)
	why := "was replaced by another file"
	if errors.Is(err, fs.ErrNotExist) {
		why = "is gone"
	} else if err != nil {
		return faultOr("the file of "+database.Named(d.set)+" cannot be used", err)
	}
	return fault.Newf(fault.ServiceUnavailable, "the file of %s %s while the app had it open", database.Named(d.set), why).
		WithHint("Restore the same file; or stop the app, move %[1]s-wal and %[1]s-shm away, restore a backup, and start it again.", filepath.Base(path)).
		Because(fmt.Errorf("%s %s", path, why))
}
