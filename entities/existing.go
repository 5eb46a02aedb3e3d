package entities

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/entities/internal/backup"
	"github.com/koan-go/koan/entities/internal/derive"
	"github.com/koan-go/koan/entities/internal/dynamic"
	"github.com/koan-go/koan/entities/internal/engine"
	"github.com/koan-go/koan/entities/internal/migrations"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger/books"
	"github.com/koan-go/koan/framework/run"
)

// settingReadOnly has a database that exists served for reading only.
const settingReadOnly = "readOnly"

// Existing serves the tables and views of a database that another program keeps (CONTRACT section 12).
// What it offers is known when the database has been looked at, at its start.
type Existing struct {
	*Provider
	place    string // for people, and what names the database's ledger; without a password
	readOnly bool   // nothing is written
	host     catalog.Host
	db       *sql.DB     // nil where a folder of schemas is served
	unbound  []string    // tables whose row level security does not bind the role, as of the start
	file     os.FileInfo // of a file of SQLite, as it was opened

	mu    sync.RWMutex // guards what Refresh replaces: found and, of the Provider, app, engine and offer
	found *derive.Derived

	open    func(ctx context.Context, dir string) (*Schemas, error)
	schemas *Schemas // where a folder of schemas is served
}

var (
	_ catalog.Provider     = (*Existing)(nil)
	_ catalog.Configurable = (*Existing)(nil)
	_ catalog.Checker      = (*Existing)(nil)
	_ catalog.Commander    = (*Existing)(nil)
	_ catalog.Reporter     = (*Existing)(nil)
	_ catalog.Readier      = (*Existing)(nil)
	_ catalog.Refresher    = (*Existing)(nil)
	_ run.Data             = (*Existing)(nil)
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
	}, settingOfSync(), settingOfReplicas()}, ownSettings(), eventSettings(), migrations.Settings(), books.JournalSettings(), books.SetSettings())
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
	if info, err := os.Stat(s); err == nil && info.Mode().IsRegular() {
		return fmt.Errorf("must be sqlite:FILE or postgres://USER@HOST/DATABASE, not %q; did you mean \"sqlite:%s\"?", s, s)
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
	e.host = host
	if dir := host.Settings().String(settingSchema); dir != "" {
		return e.startSchemas(ctx, host, dir)
	}
	if len(host.Settings().Strings(settingReplicas)) > 0 {
		return fault.Newf(fault.CapabilityUnsupported, "%s is for data that Koan keeps itself, not for the tables of a database that exists", settingReplicas).WithPath("/database/replicas").
			WithHint("Leave it out. To read from a replica of the database, name the replica in `database`.")
	}
	db, err := e.look(ctx)
	if err != nil {
		return err
	}
	e.db, e.place, e.file, e.unbound = db.pool, db.place, db.file, db.unbound
	e.app = dynamic.App(e.found.Graph, dynamic.Options{Tables: e.found.Tables, Foreign: e.place})
	e.engine = engine.New(e.app, nil)
	e.offer = e.engine.Offer()
	e.opts.Open = func(_ context.Context, set string) (dialect.Driver, error) {
		if set != model.DefaultSet {
			return nil, fault.Newf(fault.UnknownSet, "there is no set %q: a database that exists is one set, default", set)
		}
		return shared{entsql.OpenDB(db.dialect, e.db)}, nil
	}
	if err := e.Provider.Start(ctx, host); err != nil {
		return errors.Join(err, e.db.Close())
	}
	return nil
}

// shared is a driver over the pool that all engines of a database have.
type shared struct{ dialect.Driver }

// Close implements dialect.Driver. The pool is closed when the provider stops.
func (shared) Close() error { return nil }

// Stop implements catalog.Provider.
func (e *Existing) Stop(ctx context.Context) error {
	err := e.Provider.Stop(ctx)
	if e.started && e.db != nil {
		err = errors.Join(err, e.db.Close())
	}
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
	now, found := e.served()
	out := now.Checks(ctx)
	if e.schemas != nil {
		return append(out, e.checksOfSchemas()...)
	}
	if found == nil {
		return out
	}
	for _, o := range found.Omitted {
		out = append(out, catalog.Check{Name: "not served", OK: true, Detail: o.Name + ": " + o.Reason})
	}
	if !e.readOnly {
		for _, o := range found.Unwritable {
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
	now, found := e.served()
	line := fmt.Sprintf("Database: %s entities=%d links=%d notServed=%d readOnly=%t", e.place, len(now.app.Graph.Entities), len(found.Links), len(found.Omitted), e.readOnly)
	out := []string{line}
	if e.readOnly {
		out = append(out, "Database: it is served for reading only, which the database enforces; `readOnly: false` in koan.yaml lets callers write, there or under one entity")
	} else if len(found.Unwritable) > 0 {
		reasons := make([]string, len(found.Unwritable))
		for i, o := range found.Unwritable {
			reasons[i] = o.Name + ": " + o.Reason
		}
		out = append(out, "Database: what cannot be written is listed by `koan doctor`; "+migrations.ListSome(reasons))
	}
	if len(e.unbound) > 0 {
		out = append(out, fmt.Sprintf("Database: the role passes by row level security, as a superuser, an owner or by BYPASSRLS; callers see all rows of %s. Connect as another role to be bound by it", migrations.ListSome(e.unbound)))
	}
	if len(found.Omitted) > 0 {
		out = append(out, "Database: what is not served, and why, is listed by `koan doctor`")
	}
	return out
}
