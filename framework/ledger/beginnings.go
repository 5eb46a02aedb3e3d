package ledger

import (
	"bytes"
	"compress/flate"
	"context"
	"database/sql"
	"io"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/journal"
)

// BeginningTables make the table of how sets begin that were read and do not exist, where it
// is missing. body is compressed; made is when the set came into being, 0 before.
func BeginningTables(d sqltext.Dialect) []string {
	blob := "bytea"
	if d.Name() == dialect.SQLite {
		blob = "blob"
	}
	return []string{`CREATE TABLE IF NOT EXISTS koan_beginnings (
	name text NOT NULL PRIMARY KEY,
	version bigint NOT NULL,
	at bigint NOT NULL,
	made bigint NOT NULL DEFAULT 0,
	size bigint NOT NULL,
	body ` + blob + ` NOT NULL
)`}
}

// Beginnings keeps how sets begin. It is safe for concurrent use, by several processes too.
type Beginnings struct{ place }

// NewBeginnings returns the beginnings in a database that has BeginningTables. On SQLite its
// transactions must begin with the write lock.
func NewBeginnings(db *sql.DB, d sqltext.Dialect) *Beginnings {
	return &Beginnings{place{db: db, dialect: d}}
}

// Get returns how a set of a schema's version begins, nil where that is not known.
func (b *Beginnings) Get(ctx context.Context, set string, version int32) (image []byte, err error) {
	q := b.statement("SELECT body FROM koan_beginnings WHERE name = ").Arg(set).Raw(" AND version = ").Arg(int64(version))
	err = b.each(ctx, q, func(rows *sql.Rows) error {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return err
		}
		var err error
		image, err = io.ReadAll(flate.NewReader(bytes.NewReader(body)))
		return err
	})
	return image, err
}

// Keep keeps how a set of a schema's version begins, unless that is known.
func (b *Beginnings) Keep(ctx context.Context, set string, version int32, image []byte) error {
	body, err := journal.Compress(image)
	if err != nil {
		return err
	}
	return b.durably(ctx, func(tx *sql.Tx) error {
		q := b.statement("INSERT INTO koan_beginnings (name, version, at, size, body) VALUES (").Arg(set).Raw(", ").Arg(int64(version)).Raw(", " + b.clock() + ", ").
			Arg(int64(len(body))).Raw(", ").Arg(body).Raw(") ON CONFLICT (name) DO UPDATE SET version = excluded.version, at = excluded.at, made = 0, size = excluded.size, body = excluded.body" +
			" WHERE koan_beginnings.version <> excluded.version")
		_, err := exec(ctx, tx, q)
		return err
	})
}

// Made notes that a set exists. Who has just found that it does not may still ask for its
// beginning, so that is not removed at once.
func (b *Beginnings) Made(ctx context.Context, set string) error {
	return execBuilder(ctx, b.db, b.statement("UPDATE koan_beginnings SET made = "+b.clock()+" WHERE made = 0 AND name = ").Arg(set))
}

// Prune removes the beginnings of sets that have existed for so many milliseconds, and beyond
// so many bytes of all others the oldest.
func (b *Beginnings) Prune(ctx context.Context, existing, most int64) error {
	return b.durably(ctx, func(tx *sql.Tx) error {
		if _, err := exec(ctx, tx, b.statement("DELETE FROM koan_beginnings WHERE made > 0 AND made < "+b.clock()+" - ").Arg(existing)); err != nil {
			return err
		}
		_, err := exec(ctx, tx, b.statement("DELETE FROM koan_beginnings WHERE name IN (SELECT name FROM (SELECT name, SUM(size) OVER (ORDER BY at DESC, name) AS total FROM koan_beginnings) AS newest WHERE total > ").Arg(most).Raw(")"))
		return err
	})
}
