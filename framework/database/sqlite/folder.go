package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

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
	path   string
	schema database.Schema
	sync   Sync // of the sets; the ledger's commits always outlive a loss of power

	opened *database.Opened
	owned  atomic.Bool // the app's own file is used
}

// templates are shared by all folders of the process: what a schema's empty file
// looks like does not depend on where it lies.
var templates sync.Map // int32 -> *[]byte

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
	f := &Folder{path: path, schema: schema, sync: sync}
	f.removeAbandoned()
	f.opened = database.NewOpened(maxOpen, f.open, func(d database.Database) error { return d.(*Database).close() })
	return f, nil
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

// Dialect implements database.Backend.
func (f *Folder) Dialect() sqltext.Dialect { return sqltext.SQLite{Folds: true} }

// Place implements database.Backend.
func (f *Folder) Place() string { return "SQLite in " + f.path }

// SpansSets implements database.Backend: each set is a file with a lock of its own.
func (f *Folder) SpansSets() bool { return false }

// Sets implements database.Backend.
func (f *Folder) Sets(context.Context) ([]string, error) {
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

// IsOpen implements database.Opener.
func (f *Folder) IsOpen(set string) bool { return f.opened.Has(set) }

// Use implements database.Backend.
func (f *Folder) Use(ctx context.Context, set string) (d database.Database, attached any, release func(), err error) {
	return f.opened.Use(ctx, set)
}

// Close closes all sets. Nobody may use them any more.
func (f *Folder) Close() error { return f.opened.Close() }

func (f *Folder) file(set string) string { return filepath.Join(f.path, set+suffix) }

// draft is where a set's file comes into being; no set's name has a dot.
func (f *Folder) draft(set string) string { return filepath.Join(f.path, ".creating-"+set) }

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

// turns is where the processes that write to a set take turns.
func (f *Folder) turns(set string) string { return filepath.Join(f.path, "."+set) }

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
		return f.withCreateLock(ctx, set, func() error { return f.create(ctx, set) })
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

// exists reports whether a set has a file. A file that cannot be a set's is a fault, and so is one
// that was there once and is gone.
func (f *Folder) exists(set string) (bool, error) {
	there, err := fileExists(f.file(set), database.Named(set))
	if err != nil || there {
		return there, err
	}
	return f.checkLost(set)
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

// create makes a set's file beside its place and moves it there when it is
// complete, so that no half-filled set ever has the name.
func (f *Folder) create(ctx context.Context, set string) error {
	if there, err := f.exists(set); err != nil || there {
		return err // somebody was faster
	}
	draft := f.draft(set)
	for _, tail := range []string{"", "-wal", "-shm", "-journal"} { // of a process that died here
		if err := os.Remove(draft + tail); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := f.writeNewSet(ctx, set, draft); err != nil {
		_ = os.Remove(draft)
		return err
	}
	return publish(draft, f.file(set))
}

// publish moves a complete file, which its maker has synced, to its place, where it outlives a
// loss of power.
func publish(draft, to string) error {
	if err := os.Rename(draft, to); err != nil {
		return err
	}
	return database.SyncFolder(filepath.Dir(to))
}

// writeNewSet writes a new set's file as it begins: with the app's first data in it. The
// image of that is the file.
func (f *Folder) writeNewSet(ctx context.Context, set, file string) error {
	if f.schema.Beginning == nil {
		return f.fillNewSet(ctx, set, file)
	}
	built := false
	image, err := f.schema.Beginning(ctx, set, func(keep bool) ([]byte, error) {
		built = true
		if err := f.fillNewSet(ctx, set, file); err != nil || !keep {
			return nil, err
		}
		if empty, err := isEmpty(ctx, file); err != nil || empty {
			return nil, err
		}
		return os.ReadFile(file)
	})
	if err != nil || built && image == nil {
		return err
	}
	return writeSynced(file, image)
}

// isEmpty reports whether an app has put nothing into the tables of a new set.
func isEmpty(ctx context.Context, file string) (bool, error) {
	db := sqlitedriver.Open(dsn(file, busyTimeout, SyncFull))
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT GLOB 'koan_*' AND name NOT GLOB 'sqlite_*'`)
	if err != nil {
		return false, err
	}
	defer rows.Close()
	any := "SELECT 0"
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return false, err
		}
		any += ` OR EXISTS (SELECT 1 FROM "` + strings.ReplaceAll(name, `"`, `""`) + `")`
	}
	if err := rows.Err(); err != nil {
		return false, err
	}
	var filled bool
	err = db.QueryRowContext(ctx, any).Scan(&filled)
	return !filled, err
}

// writeSynced writes a file that outlives a loss of power.
func writeSynced(path string, b []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	return errors.Join(err, file.Sync(), file.Close())
}

// fillNewSet writes a new set's file and has the app fill it.
func (f *Folder) fillNewSet(ctx context.Context, set, file string) error {
	empty, err := f.empty(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, empty, 0o600); err != nil {
		return err
	}
	if f.schema.Fill != nil {
		if err := f.fill(ctx, set, file); err != nil {
			return err
		}
	}
	return enableWAL(ctx, file)
}

// enableWAL marks a file as ours and puts it into WAL mode for good. Connections that found
// it in another mode would each try to change it, which SQLite refuses to all but one
// without waiting.
func enableWAL(ctx context.Context, file string) error {
	db := sqlitedriver.Open(dsn(file, busyTimeout, SyncFull))
	defer db.Close()
	if _, err := db.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID)); err != nil {
		return err
	}
	var mode string
	if err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode); err != nil {
		return err
	}
	if mode != "wal" {
		return fmt.Errorf("%s stays in journal mode %s: its file system does not support shared memory", file, mode)
	}
	return nil
}

// fill lets the app put its first data into a draft. Nobody else knows the file,
// so speed comes before safety; the last connection to close leaves one file.
func (f *Folder) fill(ctx context.Context, set, draft string) error {
	db := sqlitedriver.Open(dsn(draft, busyTimeout, syncOff, "_journal_mode=MEMORY"))
	d := &Database{set: set, db: db, runs: db, queue: queue{max: maxWaiters, patience: patience}}
	if err := f.schema.Fill(ctx, set, d); err != nil {
		_ = db.Close()
		return fmt.Errorf("fill the set %q: %w", set, err)
	}
	if err := db.Close(); err != nil {
		return err
	}
	file, err := os.OpenFile(draft, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}

// empty returns the bytes of an empty, migrated file; it is made once in a
// process.
func (f *Folder) empty(ctx context.Context) ([]byte, error) {
	if t, ok := templates.Load(f.schema.Version); ok {
		return *t.(*[]byte), nil
	}
	dir, err := os.MkdirTemp(f.path, ".template-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "template"+suffix)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	if err := change(ctx, file, f.schema.Version, func(c *sql.Conn) error { return f.schema.Create(ctx, singleConnDriver(c)) }); err != nil {
		return nil, err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	templates.Store(f.schema.Version, &b)
	return b, nil
}
