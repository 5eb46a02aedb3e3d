package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
)

// ownFile is the app's own file beside those of the sets.
const ownFile = database.Ledger

// ledgerName is how messages name whose file that is.
var ledgerName = database.Named(database.Ledger)

var _ database.Owner = (*Folder)(nil)

// Own implements database.Owner. Writers of one process take turns on one
// connection, and those of several wait for the file.
func (f *Folder) Own(ctx context.Context, statements []string) (*sql.DB, error) {
	file := filepath.Join(f.path, ownFile)
	f.owned.Store(true)
	there, err := fileExists(file, ledgerName)
	if err == nil && !there {
		err = f.withCreateLock(ctx, ownFile, func() error { return f.createOwn(ctx, file) })
	}
	if err != nil {
		return nil, fileFault(ledgerName, err)
	}
	db := sqlitedriver.Open(dsn(file, busyTimeout, SyncFull, "_journal_mode=WAL"))
	db.SetMaxOpenConns(1)
	if err := execStatements(ctx, db, statements); err != nil {
		return nil, errors.Join(fileFault(ledgerName, err), db.Close())
	}
	return db, nil
}

// Observe implements database.Owner.
func (f *Folder) Observe(context.Context) (dialect.Driver, error) {
	reading := strings.Replace(dsn(filepath.Join(f.path, ownFile), busyTimeout, SyncFull, "_query_only=1"), "_txlock=immediate", "_txlock=deferred", 1)
	db := sqlitedriver.Open(reading)
	db.SetMaxIdleConns(idleConns)
	return entsql.OpenDB(dialect.SQLite, db), nil
}

// OwnPlace implements database.Owner.
func (f *Folder) OwnPlace() string { return filepath.Join(f.path, ownFile) }

// createOwn makes the file beside its place, in the mode that it stays in.
func (f *Folder) createOwn(ctx context.Context, file string) error {
	if there, err := fileExists(file, ledgerName); err != nil || there {
		return err // somebody was faster
	}
	draft := f.draft(ownFile)
	for _, tail := range []string{"", "-wal", "-shm", "-journal"} { // of a process that died here
		if err := os.Remove(draft + tail); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.WriteFile(draft, nil, 0o600); err != nil {
		return err
	}
	if err := enableWAL(ctx, draft); err != nil {
		_ = os.Remove(draft)
		return err
	}
	return publish(draft, file)
}

// execStatements runs statements in one transaction. A column that is to be added and there, or
// to be dropped and gone, is not an error: SQLite has no condition for either.
func execStatements(ctx context.Context, db *sql.DB, statements []string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil && !isAlreadyDone(s, err) {
			_ = tx.Rollback()
			return err
		}
	}
	return tx.Commit()
}

// isAlreadyDone reports whether a statement failed since the table is as it makes it.
func isAlreadyDone(statement string, err error) bool {
	f, ok := sqlitedriver.FailureOf(err)
	return ok && strings.HasPrefix(statement, "ALTER TABLE ") &&
		(strings.HasPrefix(f.Text, "duplicate column name: ") || strings.HasPrefix(f.Text, "no such column: "))
}
