package entities

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/derive"
	"github.com/koan-go/koan/entities/internal/inspect"
	"github.com/koan-go/koan/framework/database/postgres"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/fault"
)

// inspected is a database that exists, open, with what it says of itself.
type inspected struct {
	pool    *sql.DB
	dialect string
	place   string      // for people, without a password
	file    os.FileInfo // nil of a server
	found   *inspect.Database
	// unbound are tables whose row level security does not bind the role that is connected.
	unbound []string
}

// look opens the database that the settings name, and finds out what can be served of it.
func (e *Existing) look(ctx context.Context) (*inspected, error) {
	v := e.host.Settings()
	place := v.String(settingDatabase)
	if place == "" {
		return nil, fault.New(fault.ServiceUnavailable, "no database is named, and no folder of schemas").WithPath("/database").
			WithHint("Name one: --database sqlite:FILE or --database postgres://USER@HOST/DATABASE, or `database` in koan.yaml; or --schema DIR.")
	}
	overlay, err := derive.ParseOverlay(v.Under(derive.Section))
	if err != nil {
		return nil, err
	}
	whole := v.Bool(settingReadOnly)
	e.readOnly = whole && !overlay.Writes()
	db, err := inspectDatabase(ctx, place, e.readOnly)
	if err != nil {
		return nil, err
	}
	if e.found, err = derive.Graph(db.found, derive.Options{ReadOnly: whole, Overlay: overlay}); err != nil {
		return nil, errors.Join(err, db.pool.Close())
	}
	return db, nil
}

// inspectDatabase opens a database and reads its catalog.
func inspectDatabase(ctx context.Context, place string, readOnly bool) (*inspected, error) {
	path, ok := sqliteFile(place)
	if !ok {
		return inspectServer(ctx, place, readOnly)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	db := &inspected{dialect: dialect.SQLite, place: "sqlite:" + path}
	if db.pool, err = sqlite.OpenExisting(ctx, path, readOnly); err != nil {
		return nil, err
	}
	if db.found, err = inspect.SQLite(ctx, db.pool); err == nil {
		db.file, err = os.Stat(path)
	}
	if err != nil {
		err = fault.Newf(fault.ServiceUnavailable, "the tables of %s cannot be read: %v", db.place, err).WithPath("/database").Because(err).
			WithHint("Check the file with `sqlite3 FILE .schema`; it may be damaged or locked.")
		return nil, errors.Join(err, db.pool.Close())
	}
	return db, nil
}

// inspectServer connects to a database of PostgreSQL and reads its catalogs, with names that the search path of
// its role has no part in.
func inspectServer(ctx context.Context, url string, readOnly bool) (*inspected, error) {
	server, err := postgres.OpenExisting(ctx, url, "koan", readOnly)
	if err != nil {
		return nil, err
	}
	db := &inspected{pool: server.DB, dialect: dialect.Postgres, place: server.Place}
	if db.found, err = inspectCatalogs(ctx, db.pool); err == nil {
		err = db.found.OmitUnreadable(ctx, db.pool)
	}
	if err == nil {
		db.unbound, err = unboundTables(ctx, db.pool)
	}
	if err != nil {
		err = fault.Newf(fault.ServiceUnavailable, "the catalogs of %s cannot be read: %v", db.place, err).WithPath("/database").Because(err).
			WithHint("Check the server's log, and that the role may connect and read the catalogs.")
		return nil, errors.Join(err, db.pool.Close())
	}
	return db, nil
}

func inspectCatalogs(ctx context.Context, db *sql.DB) (_ *inspect.Database, err error) {
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelRepeatableRead})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	if _, err := tx.ExecContext(ctx, "SET LOCAL search_path = pg_catalog"); err != nil {
		return nil, err
	}
	return inspect.PostgreSQL(ctx, tx)
}

// unboundTables returns the tables with row level security that the role passes by: as a superuser, by BYPASSRLS, or
// as their owner.
func unboundTables(ctx context.Context, db *sql.DB) (out []string, err error) {
	rows, err := db.QueryContext(ctx, "SELECT n.nspname || '.' || c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"+
		" WHERE c.relrowsecurity AND NOT pg_catalog.row_security_active(c.oid) ORDER BY 1")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		out = append(out, name)
	}
	return out, rows.Err()
}
