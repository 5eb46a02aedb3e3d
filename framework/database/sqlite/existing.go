package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
)

// OpenExisting opens a file that another program keeps. Nothing of it is created, converted or set: its
// journal mode stays what it is. A file that is opened for reading only is so for SQLite itself, whatever
// statement arrives.
func OpenExisting(ctx context.Context, path string, readOnly bool) (*sql.DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := checkFile(abs, readOnly); err != nil {
		return nil, err
	}
	mode := "mode=rw&_foreign_keys=1"
	if readOnly {
		mode = "mode=ro&_query_only=1"
	}
	db := sqlitedriver.Open(fmt.Sprintf("file:%s?%s&_busy_timeout=%d&_stmt_cache_size=%d", (&url.URL{Path: abs}).EscapedPath(), mode, busyTimeout.Milliseconds(), statements))
	db.SetMaxIdleConns(idleConns)
	var tables int
	if err := db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&tables); err != nil {
		return nil, errors.Join(existingFault(abs, err), db.Close())
	}
	return db, nil
}

func checkFile(path string, readOnly bool) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return existingFault(path, errors.New("there is no such file")).
			WithHint("Check the path: it is relative to the working directory. Koan makes no file there.")
	case err != nil:
		return existingFault(path, err)
	case info.IsDir():
		return existingFault(path, errors.New("it is a folder")).WithHint("Name the file of the database: sqlite:FILE.")
	}
	mode := os.O_RDWR
	if readOnly {
		mode = os.O_RDONLY
	}
	f, err := os.OpenFile(path, mode, 0)
	if err != nil && !readOnly {
		return existingFault(path, err).WithHint("Let the user of this program write the file and its folder, or leave `readOnly: false` out.")
	}
	if err != nil {
		return existingFault(path, err)
	}
	return f.Close()
}

// existingFault says that a file cannot be opened, and why.
func existingFault(path string, err error) *fault.Fault {
	f := fault.Newf(fault.ServiceUnavailable, "the database %s cannot be opened: %v", path, err).WithPath("/database").Because(err)
	e, ok := sqlitedriver.FailureOf(err)
	switch {
	case ok && e.Code == sqlitedriver.NotADB:
		return f.WithHint("The file is not a SQLite database, or it is encrypted. Decrypt it with the program that made it, or name another file.")
	case ok && e.Code == sqlitedriver.Busy:
		return f.WithHint("Another program has locked the file; try again when it has finished.")
	case ok && e.Code == sqlitedriver.Corrupt:
		return f.WithHint("The file is damaged: restore a backup of it.")
	case ok && e.Code == sqlitedriver.CantOpen:
		return f.WithHint("Let the user of this program read the file and, where it has a write-ahead log (-wal), write to its folder.")
	}
	return f.WithHint("Let the user of this program read the file.")
}
