package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
)

// birth makes the files of new sets: empty ones of the schema, which the app fills.
type birth struct {
	files  files
	schema database.Schema
}

// templates are shared by all folders of the process: what a schema's empty file
// looks like does not depend on where it lies.
var templates sync.Map // int32 -> *[]byte

// create makes a set's file beside its place and moves it there when it is
// complete, so that no half-filled set ever has the name.
func (b birth) create(ctx context.Context, set string) error {
	if there, err := b.files.exists(set); err != nil || there {
		return err // somebody was faster
	}
	draft, err := b.files.clearDraft(set)
	if err != nil {
		return err
	}
	if err := b.writeNewSet(ctx, set, draft); err != nil {
		_ = os.Remove(draft)
		return err
	}
	return publish(draft, b.files.file(set))
}

// writeNewSet writes a new set's file as it begins: with the app's first data in it. The
// image of that is the file.
func (b birth) writeNewSet(ctx context.Context, set, file string) error {
	if b.schema.Beginning == nil {
		return b.fillNewSet(ctx, set, file)
	}
	built := false
	image, err := b.schema.Beginning(ctx, set, func(keep bool) ([]byte, error) {
		built = true
		if err := b.fillNewSet(ctx, set, file); err != nil || !keep {
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

// fillNewSet writes a new set's file and has the app fill it.
func (b birth) fillNewSet(ctx context.Context, set, file string) error {
	empty, err := b.empty(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, empty, 0o600); err != nil {
		return err
	}
	if b.schema.Fill != nil {
		if err := b.fill(ctx, set, file); err != nil {
			return err
		}
	}
	return enableWAL(ctx, file)
}

// fill lets the app put its first data into a draft. Nobody else knows the file,
// so speed comes before safety; the last connection to close leaves one file.
func (b birth) fill(ctx context.Context, set, draft string) error {
	db := sqlitedriver.Open(dsn(draft, busyTimeout, syncOff, "_journal_mode=MEMORY"))
	d := &Database{set: set, db: db, runs: db, queue: queue{max: maxWaiters, patience: patience}}
	if err := b.schema.Fill(ctx, set, d); err != nil {
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
func (b birth) empty(ctx context.Context) ([]byte, error) {
	if t, ok := templates.Load(b.schema.Version); ok {
		return *t.(*[]byte), nil
	}
	dir, err := os.MkdirTemp(b.files.path, ".template-*")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "template"+suffix)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return nil, err
	}
	if err := change(ctx, file, b.schema.Version, func(c *sql.Conn) error { return b.schema.Create(ctx, singleConnDriver(c)) }); err != nil {
		return nil, err
	}
	image, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	templates.Store(b.schema.Version, &image)
	return image, nil
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
