package entities

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/entities/internal/backup"
	"github.com/koan-go/koan/entities/internal/derive"
	"github.com/koan-go/koan/entities/internal/dynamic"
	"github.com/koan-go/koan/entities/internal/engine"
	"github.com/koan-go/koan/entities/internal/inspect"
	"github.com/koan-go/koan/entities/internal/migrations"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/postgres"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger/books"
)

// settingReadOnly has a database that exists served for reading only.
const settingReadOnly = "readOnly"

// Existing serves the tables and views of a database that another program keeps (CONTRACT section 12).
// What it offers is known when the database has been looked at, at its start.
type Existing struct {
	*Provider
	place    string // for people, and what names the database's ledger; without a password
	readOnly bool   // nothing is written
	found    *derive.Derived

	open    func(ctx context.Context, dir string) (*Schemas, error)
	schemas *Schemas // where a folder of schemas is served
}

var (
	_ catalog.Provider     = (*Existing)(nil)
	_ catalog.Configurable = (*Existing)(nil)
	_ catalog.Checker      = (*Existing)(nil)
	_ catalog.Commander    = (*Existing)(nil)
	_ catalog.Reporter     = (*Existing)(nil)
)

// ProvideExisting makes the provider of the database that the setting `database` names or, where the setting
// `schema` names one, of a folder of ent schemas, which open opens. It takes the place of Provide.
func ProvideExisting(open func(ctx context.Context, dir string) (*Schemas, error)) *Existing {
	e := &Existing{Provider: Provide(&shim.App{}, Options{}), open: open}
	e.opts.Open = func(context.Context, string) (dialect.Driver, error) {
		return nil, fault.New(fault.ServiceUnavailable, "the database has not been opened")
	}
	return e
}

// Settings implements catalog.Configurable.
func (e *Existing) Settings() []catalog.Setting {
	return slices.Concat([]catalog.Setting{{
		Key: settingDatabase, Default: "", Check: checkExisting,
		Help: "the database to serve: sqlite:FILE, or postgres://USER:PASSWORD@HOST/DATABASE; with schema, where its rows are kept: sqlite://FOLDER (empty is one in the data folder), or a server",
	}, {
		Key: settingSchema, Default: "",
		Help: "a folder of ent schemas to serve, such as ./ent/schema, for which no code has to be generated; needs the go command",
	}, {
		Key: settingReadOnly, Default: true,
		Help: "serve the database for reading only, which the database itself enforces; entities.NAME.readOnly says otherwise of one entity",
	}, {
		Key: derive.Section, Open: true, CheckKey: derive.CheckKey,
		Help: "what the entities of the database are called and show, by name: table, name, description, hidden, readOnly, operations, fields, relationships; `koan init` writes what it found",
	}, settingOfSync()}, ownSettings(), eventSettings(), migrations.Settings(), books.JournalSettings(), books.SetSettings())
}

// checkExisting checks the name of a database.
func checkExisting(v any) error {
	s, _ := v.(string)
	if _, ok := sqliteFile(s); s == "" || ok || onPostgres(s) {
		return nil
	}
	if scheme, _, ok := strings.Cut(s, "://"); ok {
		s = scheme + "://..." // the rest may have a password in it
	}
	return fmt.Errorf("must be sqlite:FILE or postgres://USER@HOST/DATABASE, not %q", s)
}

// sqliteFile returns the file that a setting names.
func sqliteFile(database string) (path string, ok bool) {
	for _, scheme := range []string{"sqlite://", "sqlite:", "file:"} {
		if path, ok = strings.CutPrefix(database, scheme); ok && path != "" {
			return path, true
		}
	}
	return "", false
}

// Start implements catalog.Provider.
func (e *Existing) Start(ctx context.Context, host catalog.Host) error {
	if dir := host.Settings().String(settingSchema); dir != "" {
		return e.startSchemas(ctx, host, dir)
	}
	db, name, err := e.look(ctx, host)
	if err != nil {
		return err
	}
	e.app = dynamic.App(e.found.Graph, dynamic.Options{Tables: e.found.Tables, Foreign: e.place})
	e.engine = engine.New(e.app, nil)
	e.offer = e.engine.Offer()
	e.opts.Open = func(_ context.Context, set string) (dialect.Driver, error) {
		if set != model.DefaultSet {
			return nil, fault.Newf(fault.UnknownSet, "there is no set %q: a database that exists is one set, default", set)
		}
		return entsql.OpenDB(name, db), nil
	}
	if err := e.Provider.Start(ctx, host); err != nil {
		return errors.Join(err, db.Close())
	}
	return nil
}

// look opens the database and finds out what can be served of it.
func (e *Existing) look(ctx context.Context, host catalog.Host) (db *sql.DB, name string, err error) {
	place := host.Settings().String(settingDatabase)
	if place == "" {
		return nil, "", fault.New(fault.ServiceUnavailable, "no database is named, and no folder of schemas").WithPath("/database").
			WithHint("Name one: --database sqlite:FILE or --database postgres://USER@HOST/DATABASE, or `database` in koan.yaml; or --schema DIR.")
	}
	overlay, err := derive.ParseOverlay(host.Settings().Under(derive.Section))
	if err != nil {
		return nil, "", err
	}
	whole := host.Settings().Bool(settingReadOnly)
	e.readOnly = whole && !overlay.Writes()
	db, found, err := e.inspect(ctx, place)
	if err != nil {
		return nil, "", err
	}
	if e.found, err = derive.Graph(found, derive.Options{ReadOnly: whole, Overlay: overlay}); err != nil {
		return nil, "", errors.Join(err, db.Close())
	}
	if onPostgres(place) {
		return db, dialect.Postgres, nil
	}
	return db, dialect.SQLite, nil
}

// inspect opens a database and reads its catalog.
func (e *Existing) inspect(ctx context.Context, place string) (*sql.DB, *inspect.Database, error) {
	path, ok := sqliteFile(place)
	if !ok {
		return e.inspectServer(ctx, place)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, err
	}
	e.place = "sqlite:" + path
	db, err := sqlite.OpenExisting(ctx, path, e.readOnly)
	if err != nil {
		return nil, nil, err
	}
	found, err := inspect.SQLite(ctx, db)
	if err != nil {
		err = fault.Newf(fault.ServiceUnavailable, "the tables of %s cannot be read: %v", e.place, err).WithPath("/database").Because(err).
			WithHint("Check the file with `sqlite3 FILE .schema`; it may be damaged or locked.")
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, found, nil
}

// inspectServer connects to a database of PostgreSQL and reads its catalogs, with names that the search path of
// its role has no part in.
func (e *Existing) inspectServer(ctx context.Context, url string) (*sql.DB, *inspect.Database, error) {
	db, err := postgres.OpenExisting(ctx, url, "koan", e.readOnly)
	if err != nil {
		return nil, nil, err
	}
	e.place = db.Place
	found, err := inspectCatalogs(ctx, db.DB)
	if err == nil {
		err = found.OmitUnreadable(ctx, db.DB)
	}
	if err != nil {
		err = fault.Newf(fault.ServiceUnavailable, "the catalogs of %s cannot be read: %v", e.place, err).WithPath("/database").Because(err).
			WithHint("Check the server's log, and that the role may connect and read the catalogs.")
		return nil, nil, errors.Join(err, db.Close())
	}
	return db.DB, found, nil
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

// Stop implements catalog.Provider.
func (e *Existing) Stop(ctx context.Context) error {
	err := e.Provider.Stop(ctx)
	if e.schemas != nil {
		err = errors.Join(err, e.schemas.Close())
	}
	return err
}

// Commands implements catalog.Commander: those of an app, for a folder of schemas.
func (e *Existing) Commands() []*catalog.Command {
	all := append(backup.Commands{Place: e.backedUp}.List(), migrations.Commands{Configure: e.migrations, Open: e.openData}.Command())
	for _, c := range all {
		e.loadFirst(c)
	}
	return all
}

// Checks implements catalog.Checker.
func (e *Existing) Checks(ctx context.Context) []catalog.Check {
	out := e.Provider.Checks(ctx)
	if e.schemas != nil {
		return append(out, e.checksOfSchemas()...)
	}
	if e.found == nil {
		return out
	}
	for _, o := range e.found.Omitted {
		out = append(out, catalog.Check{Name: "not served", OK: true, Detail: o.Name + ": " + o.Reason})
	}
	if !e.readOnly {
		for _, o := range e.found.Unwritable {
			out = append(out, catalog.Check{Name: "read-only", OK: true, Detail: o.Name + ": " + o.Reason})
		}
	}
	return out
}

// Report implements catalog.Reporter.
func (e *Existing) Report(catalog.Boot) []string {
	if e.schemas != nil {
		return e.reportSchemas()
	}
	line := fmt.Sprintf("Database: %s entities=%d links=%d notServed=%d readOnly=%t", e.place, len(e.app.Graph.Entities), len(e.found.Links), len(e.found.Omitted), e.readOnly)
	out := []string{line}
	if e.readOnly {
		out = append(out, "Database: it is served for reading only, which the database enforces; `readOnly: false` in koan.yaml lets callers write, there or under one entity")
	} else if len(e.found.Unwritable) > 0 {
		out = append(out, "Database: what cannot be written, and why, is listed by `koan doctor`")
	}
	if len(e.found.Omitted) > 0 {
		out = append(out, "Database: what is not served, and why, is listed by `koan doctor`")
	}
	return out
}
