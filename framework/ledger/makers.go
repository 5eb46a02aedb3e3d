package ledger

import (
	"context"
	"database/sql"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// MakerTables make the table of who made which set, where it is missing. It is the
// app's and stands in no set.
var MakerTables = []string{
	`CREATE TABLE IF NOT EXISTS koan_set_makers (
	name TEXT NOT NULL PRIMARY KEY,
	subject TEXT NOT NULL
)`,
	`CREATE INDEX IF NOT EXISTS koan_set_makers_subject ON koan_set_makers (subject)`,
}

// Makers knows who made which set.
type Makers struct{ place }

// NewMakers returns the makers in a database that has MakerTables. On SQLite its
// transactions must begin with the write lock.
func NewMakers(db *sql.DB, d sqltext.Dialect) *Makers { return &Makers{place{db: db, dialect: d}} }

// Note notes who made a set that is there now.
func (m *Makers) Note(ctx context.Context, set, subject string) error {
	return m.durably(ctx, func(tx *sql.Tx) error {
		b := m.statement("INSERT INTO koan_set_makers (name, subject) VALUES (").Arg(set).Raw(", ").Arg(subject).
			Raw(") ON CONFLICT (name) DO UPDATE SET subject = excluded.subject")
		_, err := exec(ctx, tx, b)
		return err
	})
}

// MadeBy returns the sets that a subject made.
func (m *Makers) MadeBy(ctx context.Context, subject string) (sets []string, err error) {
	b := m.statement("SELECT name FROM koan_set_makers WHERE subject = ").Arg(subject)
	err = m.each(ctx, b, func(rows *sql.Rows) error {
		var set string
		err := rows.Scan(&set)
		sets = append(sets, set)
		return err
	})
	return sets, err
}
