package sqlite

import (
	"context"
	"database/sql"

	"github.com/koan-go/koan/framework/database"
)

var _ database.Examiner = (*Folder)(nil)

// Examine implements database.Examiner. It goes over a connection of its own, which has none of
// the file's pages yet.
func (f *Folder) Examine(ctx context.Context, set string) error {
	file, owner := f.file(set), database.Named(set)
	if set == database.Ledger {
		file = f.ledger()
	}
	there, err := fileExists(file, owner)
	if err != nil || !there {
		return err
	}
	return fileFault(owner, withConnection(ctx, dsn(file, busyTimeout, SyncFull), func(c *sql.Conn) error { return quickCheck(ctx, c, owner) }))
}
