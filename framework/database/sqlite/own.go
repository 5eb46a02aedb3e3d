package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
)

// ownFile is the app's own file beside those of the sets.
const ownFile = database.Ledger

// ledgerName is how messages name whose file that is.
var ledgerName = database.Named(database.Ledger)

var _ database.Owner = (*Folder)(nil)

// ledgerFile is the app's own file of a folder.
type ledgerFile struct {
	files files
	used  atomic.Bool
}

// Own implements database.Owner. Writers of one process take turns on one
// connection, and those of several wait for the file.
func (l *ledgerFile) Own(ctx context.Context, statements []string) (*sql.DB, error) {
	file := l.files.ledger()
	l.used.Store(true)
	there, err := fileExists(file, ledgerName)
	if err == nil && !there {
		err = l.files.withCreateLock(ctx, ownFile, func() error { return l.create(ctx, file) })
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
func (l *ledgerFile) Observe(context.Context) (dialect.Driver, error) {
	reading := strings.Replace(dsn(l.files.ledger(), busyTimeout, SyncFull, "_query_only=1"), "_txlock=immediate", "_txlock=deferred", 1)
	db := sqlitedriver.Open(reading)
	db.SetMaxIdleConns(idleConns)
	return entsql.OpenDB(dialect.SQLite, db), nil
}

// OwnPlace implements database.Owner.
func (l *ledgerFile) OwnPlace() string { return l.files.ledger() }

// create makes the file beside its place, in the mode that it stays in.
func (l *ledgerFile) create(ctx context.Context, file string) error {
	if there, err := fileExists(file, ledgerName); err != nil || there {
		return err // somebody was faster
	}
	draft, err := l.files.clearDraft(ownFile)
	if err != nil {
		return err
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

// readable looks at the app's own file over a connection of its own, which has none of
// its pages yet.
func (l *ledgerFile) readable(ctx context.Context) error {
	if !l.used.Load() {
		return nil
	}
	path := l.files.ledger()
	there, err := fileExists(path, ledgerName)
	if err != nil {
		return err
	}
	if !there {
		return fault.Newf(fault.ServiceUnavailable, "the file of %s is missing", ledgerName).
			WithHint("Restore it and restart the app: what the app writes now is lost.").Because(fmt.Errorf("%s is gone", path))
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	return withConnection(ctx, dsn(path, busyTimeout, SyncFull), func(c *sql.Conn) error {
		if info.Size() <= wholly {
			return quickCheck(ctx, c, ledgerName)
		}
		return firstPages(ctx, c)
	})
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
