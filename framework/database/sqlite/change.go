package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
)

// longest is how long somebody may wait until another process has created or
// migrated the same set.
const longest = 10 * time.Minute

// Look implements database.Backend.
func (f *Folder) Look(ctx context.Context, set string, fn func(ctx context.Context, drv dialect.Driver) error) error {
	if err := f.mustExist(set); err != nil {
		return err
	}
	return f.openFault(set, withConnection(ctx, dsn(f.file(set), busyTimeout, SyncFull, "_query_only=1"), func(c *sql.Conn) error {
		if err := f.checkOurs(ctx, set, c); err != nil {
			return err
		}
		return fn(ctx, singleConnDriver(c))
	}))
}

// Change implements database.Backend. The set's lock is the write lock of its file.
func (f *Folder) Change(ctx context.Context, set string, fn func(ctx context.Context, drv dialect.Driver) error) error {
	if err := f.mustExist(set); err != nil {
		return err
	}
	err := change(ctx, f.file(set), f.schema.Version, func(c *sql.Conn) error {
		if err := f.checkOurs(ctx, set, c); err != nil {
			return err
		}
		return fn(ctx, singleConnDriver(c))
	})
	if Violation(err) != nil { // it can be opened: what fn did broke a rule
		return err
	}
	return f.openFault(set, err)
}

// Scratch implements database.Backend.
func (f *Folder) Scratch(ctx context.Context, fn func(ctx context.Context, drv dialect.Driver) error) error {
	return withConnection(ctx, "file::memory:?_foreign_keys=0", func(c *sql.Conn) error { return fn(ctx, singleConnDriver(c)) })
}

// mustExist refuses a set that has no file.
func (f *Folder) mustExist(set string) error {
	there, err := f.exists(set)
	if err != nil {
		return f.openFault(set, err)
	}
	if !there {
		return fault.Newf(fault.UnknownSet, "the set %q has no data", set)
	}
	return nil
}

// singleConnDriver returns a driver over one connection; its transactions join the one that is open there.
func singleConnDriver(c *sql.Conn) dialect.Driver {
	return joined{entsql.NewDriver(dialect.SQLite, entsql.Conn{ExecQuerier: inUTC{c}})}
}

type joined struct{ *entsql.Driver }

func (j joined) Tx(context.Context) (dialect.Tx, error) { return dialect.NopTx(j), nil }

// withConnection runs fn on a connection of its own.
func withConnection(ctx context.Context, dsn string, fn func(c *sql.Conn) error) (err error) {
	db := sqlitedriver.Open(dsn)
	defer func() { err = errors.Join(err, db.Close()) }()
	c, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	return fn(c)
}

// change runs fn in one writing transaction on a file and marks the file with a
// version. Foreign keys are off, since a table that is rebuilt is dropped in
// between; what they say is checked before the commit.
func change(ctx context.Context, file string, version int32, fn func(c *sql.Conn) error) error {
	return withConnection(ctx, dsn(file, busyStep, SyncFull), func(c *sql.Conn) (err error) {
		if _, err := c.ExecContext(ctx, "PRAGMA foreign_keys = OFF"); err != nil {
			return err
		}
		if err := lockFileForWriting(ctx, c, longest); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				_, _ = c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			}
		}()
		before, err := fingerprint(ctx, c)
		if err != nil {
			return err
		}
		if err := fn(c); err != nil {
			return err
		}
		after, err := fingerprint(ctx, c)
		if err != nil {
			return err
		}
		if before != after {
			if err := checkForeignKeys(ctx, c); err != nil {
				return err
			}
		}
		if _, err := c.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
			return err
		}
		_, err = c.ExecContext(ctx, "COMMIT")
		return err
	})
}

// lockFileForWriting takes a file's write lock, in steps between which a cancel is heard.
func lockFileForWriting(ctx context.Context, c *sql.Conn, patience time.Duration) error {
	for deadline := time.Now().Add(patience); ; {
		_, err := c.ExecContext(ctx, "BEGIN IMMEDIATE")
		if !Stale(err) || time.Now().After(deadline) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// fingerprint changes when a connection writes.
func fingerprint(ctx context.Context, c *sql.Conn) (out [2]int64, err error) {
	if err := c.QueryRowContext(ctx, "PRAGMA schema_version").Scan(&out[0]); err != nil {
		return out, err
	}
	err = c.QueryRowContext(ctx, "SELECT total_changes()").Scan(&out[1])
	return out, err
}

// checkForeignKeys fails where a row refers to one that is not there.
func checkForeignKeys(ctx context.Context, c *sql.Conn) error {
	var table, parent string
	var row, key any
	err := c.QueryRowContext(ctx, "PRAGMA foreign_key_check").Scan(&table, &row, &parent, &key)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return fmt.Errorf("rows of %s would refer to rows of %s that do not exist", table, parent)
}
