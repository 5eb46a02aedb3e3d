// Package sqlite keeps sets in SQLite files: one file per set in a folder, opened
// at first use, with a fair queue for its writers and transactions that begin as
// readers.
//
// What belongs here: files, connections, locks and transactions. What must
// never: entities, ent's builders, or what the tables mean.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/mattn/go-sqlite3"

	"github.com/koan-go/koan/framework/fault"
)

const (
	busyTimeout = 5 * time.Second // how long another process may hold the file
	patience    = 20 * time.Second
	maxWaiters  = 128
	idleConns   = 4
	statements  = 128 // prepared statements that each connection keeps
)

// Database is one open set. It is safe for concurrent use.
type Database struct {
	set   string
	db    *sql.DB
	queue queue
}

func open(path, set string) (*Database, error) {
	db, err := sql.Open("sqlite3", dsn(path, "_journal_mode=WAL", "_synchronous=NORMAL"))
	if err != nil {
		return nil, err
	}
	db.SetMaxIdleConns(idleConns)
	return &Database{set: set, db: db, queue: queue{max: maxWaiters, patience: patience}}, nil
}

// dsn names a file with the settings that every connection has.
func dsn(path string, more ...string) string {
	s := fmt.Sprintf("file:%s?_foreign_keys=1&_txlock=immediate&_busy_timeout=%d&_stmt_cache_size=%d",
		(&url.URL{Path: path}).EscapedPath(), busyTimeout.Milliseconds(), statements)
	for _, m := range more {
		s += "&" + m
	}
	return s
}

// Set is the set's name.
func (d *Database) Set() string { return d.set }

// DB is the pool beneath, for what needs no transaction of a run.
func (d *Database) DB() *sql.DB { return d.db }

func (d *Database) close() error { return d.db.Close() }

// Stale tells whether an error means that a reading transaction cannot become a
// writing one any more, because the data has moved on or somebody else writes.
func Stale(err error) bool {
	var e sqlite3.Error
	return errors.As(err, &e) && e.Code == sqlite3.ErrBusy
}

// Constraint tells whether an error is a violated constraint, and which kind.
func Constraint(err error) (kind sqlite3.ErrNoExtended, ok bool) {
	var e sqlite3.Error
	if errors.As(err, &e) && e.Code == sqlite3.ErrConstraint {
		return e.ExtendedCode, true
	}
	return 0, false
}

// busy turns SQLITE_BUSY, after busyTimeout, into the fault that it is.
func (d *Database) busy(err error) error {
	if Stale(err) {
		return fault.Newf(fault.SetBusy, "another process holds the set %q for writing", d.set).Because(err)
	}
	return err
}

// Begin opens a transaction. With write it takes the write lock at once; else
// nothing happens in the database until the first statement.
func (d *Database) Begin(ctx context.Context, write bool) (*Tx, error) {
	t := &Tx{d: d}
	if write {
		if err := t.Write(ctx); err != nil {
			t.end(ctx, "")
			return nil, err
		}
	}
	return t, nil
}
