package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"strings"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// probeSize is how much is written to see whether the disk takes anything.
const probeSize = 64 << 10

// wholly is up to which size the app's own file is checked page by page; of a larger
// one, the first page of each table is.
const wholly = 1 << 20

// defaultSet is the one set whose file says whether the app can serve: of many sets, one
// that is damaged is that set's trouble.
const defaultSet = "default"

// Reach implements database.Reacher: what of the folder, the default set and the app's own
// file cannot be used, in words for everybody. A set that does not exist yet is no
// trouble.
func (f *Folder) Reach(ctx context.Context) error {
	var problems []error
	if err := f.writable(); err != nil {
		problems = append(problems, fault.Newf(fault.ServiceUnavailable, "the data folder cannot be written: %s", withoutPaths(err)).Because(err))
	}
	if err := f.defaultUsable(ctx); err != nil {
		problems = append(problems, faultOr("the file of "+database.Named(defaultSet)+" cannot be used", err))
	}
	if err := f.ledgerFile.readable(ctx); err != nil {
		problems = append(problems, faultOr("the ledger cannot be used", err))
	}
	return errors.Join(problems...)
}

// defaultUsable looks at the default set's file: that it is one of ours, takes writes,
// and is still the one that is open.
func (f *Folder) defaultUsable(ctx context.Context) error {
	there, err := f.exists(defaultSet)
	if err != nil {
		return err
	}
	if d, _ := f.opened.Database(defaultSet).(*Database); d != nil {
		if err := d.checkSameFile(); err != nil {
			return err
		}
	}
	if !there {
		return nil
	}
	// Over a connection of its own, which has none of its pages yet.
	err = withConnection(ctx, dsn(f.file(defaultSet), busyTimeout, SyncFull), func(c *sql.Conn) error {
		var tables int
		if err := c.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master").Scan(&tables); err != nil {
			return err
		}
		return canWrite(ctx, c)
	})
	return fileFault(database.Named(defaultSet), err)
}

// faultOr is a fault as it is, or else what with the reason.
func faultOr(what string, err error) error {
	var known *fault.Fault
	if errors.As(err, &known) {
		return known
	}
	return fault.Newf(fault.ServiceUnavailable, "%s: %s", what, withoutPaths(err)).Because(err)
}

// withoutPaths is an error without the paths that it came along.
func withoutPaths(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err.Error()
	}
	return err.Error()
}

// quickCheck reads all pages of a file, and looks whether it can be written. owner is what
// database.Named returns.
func quickCheck(ctx context.Context, c *sql.Conn, owner string) error {
	var found string
	if err := c.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return fault.Newf(fault.ServiceUnavailable, "the file of %s is damaged", owner).
			WithHint(restore).Because(errors.New(strings.ReplaceAll(found, "\n", " ")))
	}
	return canWrite(ctx, c)
}

// firstPages reads the first page of each table.
func firstPages(ctx context.Context, c *sql.Conn) error {
	rows, err := c.QueryContext(ctx, "SELECT name FROM sqlite_master WHERE type = 'table'")
	if err != nil {
		return err
	}
	defer rows.Close()
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return err
		}
		tables = append(tables, name)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, name := range tables {
		var one int
		err := c.QueryRowContext(ctx, `SELECT 1 FROM "`+strings.ReplaceAll(name, `"`, `""`)+`" LIMIT 1`).Scan(&one)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
	}
	return canWrite(ctx, c)
}

// canWrite writes to the first page and takes it back: of a file that is not for this user to
// write, SQLite takes no lock, and lets a writing transaction begin. Where somebody else has
// the lock, it can be had.
func canWrite(ctx context.Context, c *sql.Conn) error {
	_, err := c.ExecContext(ctx, "PRAGMA busy_timeout = 0; BEGIN IMMEDIATE; PRAGMA user_version = 0; ROLLBACK")
	if err == nil || Stale(err) {
		return nil
	}
	_, _ = c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") // it has none where it could not begin
	return err
}
