package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

const (
	suffix  = ".db"
	maxOpen = 64 // open sets; about seven file descriptors each
)

var (
	_ database.Backend = (*Folder)(nil)
	_ database.Reacher = (*Folder)(nil)
)

// Folder has the sets' files. It is safe for concurrent use, and other processes
// may use the same folder.
type Folder struct {
	files
	ledgerFile
	birth  birth
	schema database.Schema
	sync   Sync // of the sets; the ledger's commits always outlive a loss of power

	opened *database.Opened
}

// OpenFolder makes the folder where it is missing, and checks that it can be
// written. Its error is for people: it names the folder and what to do.
func OpenFolder(path string, schema database.Schema, sync Sync) (*Folder, error) {
	returnLargeBlocks()
	if err := makeFolder(path); err != nil {
		return nil, unwritableFault(path, err)
	}
	probe, err := os.CreateTemp(path, ".probe-*")
	if err != nil {
		return nil, unwritableFault(path, err)
	}
	_ = probe.Close()
	if err := os.Remove(probe.Name()); err != nil {
		return nil, unwritableFault(path, err)
	}
	at := files{path}
	f := &Folder{files: at, ledgerFile: ledgerFile{files: at}, birth: birth{files: at, schema: schema}, schema: schema, sync: sync}
	f.removeAbandoned()
	f.opened = database.NewOpened(maxOpen, f.open, func(d database.Database) error { return d.(*Database).close() })
	return f, nil
}

// Dialect implements database.Backend.
func (f *Folder) Dialect() sqltext.Dialect { return sqltext.SQLite{Folds: true} }

// Place implements database.Backend.
func (f *Folder) Place() string { return "SQLite in " + f.path }

// SpansSets implements database.Backend: each set is a file with a lock of its own.
func (f *Folder) SpansSets() bool { return false }

// IsOpen implements database.Opener.
func (f *Folder) IsOpen(set string) bool { return f.opened.Has(set) }

// Use implements database.Backend.
func (f *Folder) Use(ctx context.Context, set string) (d database.Database, attached any, release func(), err error) {
	return f.opened.Use(ctx, set)
}

// Close closes all sets. Nobody may use them any more.
func (f *Folder) Close() error { return f.opened.Close() }

func (f *Folder) open(ctx context.Context, set string) (database.Database, any, error) {
	if err := f.prepare(ctx, set); err != nil {
		return nil, nil, f.openFault(set, err)
	}
	if err := f.mark(set); err != nil {
		return nil, nil, f.openFault(set, err)
	}
	d := open(f.file(set), set, f.turns(set), f.sync)
	attached, err := f.migrateOpened(d)
	if err != nil {
		return nil, nil, err
	}
	return d, attached, nil
}

// migrateOpened makes what the schema keeps with an open set, which is closed where that
// fails.
func (f *Folder) migrateOpened(d *Database) (any, error) {
	if f.schema.Attach == nil {
		return nil, nil
	}
	attached, err := f.schema.Attach(d)
	if err != nil {
		_ = d.close()
	}
	return attached, err
}

// openFault says what stands in the way of opening a set.
func (f *Folder) openFault(set string, err error) error {
	var known *fault.Fault
	if err == nil || errors.As(err, &known) {
		return err
	}
	at := fmt.Errorf("%s: %w", f.file(set), err)
	if as := fileFault(database.Named(set), at); errors.As(as, &known) {
		return as
	}
	return fault.Newf(fault.ServiceUnavailable, "the set %q cannot be opened", set).WithHint(look).Because(at)
}

// prepare creates a set or brings it to the schema, where it is not there yet.
func (f *Folder) prepare(ctx context.Context, set string) error {
	if there, err := f.exists(set); err != nil {
		return err
	} else if !there {
		return f.withCreateLock(ctx, set, func() error { return f.birth.create(ctx, set) })
	}
	marked, err := f.isCurrent(ctx, set)
	if err != nil || marked {
		return err
	}
	return change(ctx, f.file(set), f.schema.Version, func(c *sql.Conn) error {
		if v, err := version(ctx, c); err != nil || v == f.schema.Version {
			return err // somebody was faster
		}
		if err := f.checkOurs(ctx, set, c); err != nil {
			return err
		}
		return f.schema.Migrate(ctx, set, singleConnDriver(c))
	})
}

// isCurrent reports whether a set's file carries the schema's version.
func (f *Folder) isCurrent(ctx context.Context, set string) (bool, error) {
	db := sqlitedriver.Open(dsn(f.file(set), busyTimeout, SyncFull))
	defer db.Close()
	v, err := version(ctx, db)
	return v == f.schema.Version, err
}

// version reads a file's mark.
func version(ctx context.Context, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
},
) (v int32, err error) {
	err = q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&v)
	return v, err
}
