package entities

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/backup"
	"github.com/koan-go/koan/entities/internal/engine"
	"github.com/koan-go/koan/entities/internal/migrate"
	"github.com/koan-go/koan/entities/internal/migrations"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/appdb"
	"github.com/koan-go/koan/framework/database/postgres"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
)

// databases has the data of an app: in the place that its settings name, or in databases that it
// opens itself, with the ledger beside them.
type databases struct {
	app     *shim.App
	opts    Options
	engine  *engine.Engine
	ledger  ownLedger          // of an app that opens its databases itself
	schema  *migrations.Config // how sets are migrated; nil where the app sees to that
	below   string             // the data's folder in the app's own, for a program that serves several apps
	folder  string             // of the data, "" where a server has it
	sync    string             // the value of database.sync, "" where a server has the data
	started bool
}

// closeData closes the databases, and the place of the ledger.
func (d *databases) closeData() error {
	return errors.Join(d.engine.Backend().Close(), d.ledger.close())
}

// livesInDefaultSet reports whether an entity lives in the default set.
func (d *databases) livesInDefaultSet() bool {
	return slices.ContainsFunc(d.app.Graph.Entities, func(e *descriptor.Entity) bool { return model.LivesIn(&e.Resource, model.DefaultSet) })
}

// open opens the backend: the app's own, or the one that the settings name.
func (d *databases) open(ctx context.Context, host catalog.Host, e *engine.Engine) error {
	if d.opts.Open != nil {
		e.Log.InData = host.Settings().Bool(settingInData)
		if !e.Log.InData {
			d.ledger.foreign = d.app.Foreign
		}
		return e.Open(nil, d.appDatabases(ctx))
	}
	d.schema = d.migrations(host)
	way, err := d.schema.Way()
	if err != nil {
		return err
	}
	return e.Open(way, d.opener(host))
}

// named is what the settings say of the place of the data and, beside it, the ledger.
func (d *databases) named(host catalog.Host) string { return host.Settings().String(d.setting()) }

// setting is the key of that place.
func (d *databases) setting() string {
	if d.opts.Ledger {
		return settingLedger
	}
	return settingDatabase
}

func (d *databases) migrations(host catalog.Host) *migrations.Config {
	name := dialect.SQLite
	if onPostgres(d.named(host)) {
		name = dialect.Postgres
	}
	return migrations.Configure(d.app, d.opts.Migrations, name, host)
}

// openData opens the data for a command; it opens no set.
func (d *databases) openData(host catalog.Host, w migrate.Way) (database.Backend, error) {
	e := engine.New(d.app, d.opts.Viewer)
	err := e.Open(w, d.opener(host))
	return e.Backend(), err
}

// backedUp returns where the data is that `backup` copies.
func (d *databases) backedUp(host catalog.Host) (p backup.Place, err error) {
	v := host.Settings()
	switch {
	case d.opts.Open != nil:
		return p, backup.Unsupported("this app opens its databases itself", "Back them up as before, and the ledger as docs/howto/backup.md says.")
	case onPostgres(d.named(host)):
		return p, backup.Unsupported("this data is in PostgreSQL", "Use pg_dump and pg_restore, and copy the files as docs/howto/backup.md says.")
	}
	schema := d.migrations(host)
	way, err := schema.Way()
	if err != nil {
		return p, err
	}
	data, err := d.openData(host, way)
	if err != nil {
		return p, err
	}
	p = backup.Place{Data: data.(*sqlite.Folder).Copies(), Close: data.Close, Folder: d.folder, Key: d.keyFile(host), Files: filepath.Join(d.folder, "files")}
	if dir := v.String(settingFiles); dir != "" {
		p.Files = dir
	}
	if v.String(settingBucket) != "" {
		p.Files = ""
	}
	return p, nil
}

// The settings that say where files are kept, which are those of package framework/internal/files.
const (
	settingFiles  = "files.dir"
	settingBucket = "files.s3.bucket"
)

// appDatabases serves the databases that the app opens itself.
func (d *databases) appDatabases(ctx context.Context) func(database.Schema) (database.Backend, error) {
	return func(s database.Schema) (database.Backend, error) {
		if len(d.app.Seeds) > 0 {
			return nil, fault.New(fault.ServiceUnavailable, "OnCreateSet fills new sets, but an app that opens its own databases never creates one").
				WithHint("Leave out ent.OnCreateSet or Open of framework.App.")
		}
		var sets *appdb.Sets
		var err error
		if d.app.Foreign != "" && d.ledger.foreign != "" {
			sets, err = appdb.NewForeign(ctx, d.opts.Open, d.firstSet(), s, d.writtenTable())
		} else { // the tables of commits are in the database
			sets, err = appdb.New(ctx, d.opts.Open, d.firstSet(), s, d.ownTables)
		}
		if err != nil {
			return nil, err
		}
		if err := d.checkFolding(sets.Dialect()); err != nil {
			return nil, errors.Join(err, sets.Close())
		}
		if d.app.Foreign == "" {
			return sets, nil
		}
		return foreignBackend{sets, d.app.Foreign}, nil
	}
}

// checkFolding rejects fields that need what a database which the app opens does not have: a function of SQLite for
// accents, or an index for keys whose case is ignored.
func (d *databases) checkFolding(in sqltext.Dialect) error {
	fields := func(way descriptor.Folding) (out []string) {
		for _, e := range d.app.Graph.Entities {
			for _, c := range e.Columns {
				if c.Folds(way) {
					out = append(out, e.Resource.Name+"."+c.Field)
				}
			}
		}
		return out
	}
	if keys := fields(descriptor.FoldsKey); len(keys) > 0 {
		return fault.Newf(fault.CapabilityUnsupported, "this app opens its databases itself, and nobody puts the unique indexes into them that ignore case, which these fields need: %s", strings.Join(keys, ", ")).
			WithHint("Leave out expose.IgnoreCase, or let Koan open the databases (without Open of framework.App).")
	}
	accents := fields(descriptor.FoldsAccents)
	if lite, ok := in.(sqltext.SQLite); len(accents) == 0 || !ok || lite.Folds {
		return nil
	}
	return fault.Newf(fault.CapabilityUnsupported, "the SQLite files that the app opens have no function that leaves accents out, which these fields need: %s", strings.Join(accents, ", ")).
		WithHint("Leave out Fold of expose.Field, or let Koan open the files (without Open of framework.App).")
}

// writtenTable is a table of an entity that callers write, "" where there is none.
func (d *databases) writtenTable() string {
	for _, e := range d.app.Graph.Entities {
		if !e.Resource.ReadOnly {
			return e.Table
		}
	}
	return ""
}

// firstSet is a set that is there from the start: the default one, else one that an
// entity names.
func (d *databases) firstSet() string {
	first := model.DefaultSet
	if d.livesInDefaultSet() {
		return first
	}
	for _, e := range d.app.Graph.Entities {
		for _, set := range e.Resource.Sets {
			if !strings.HasSuffix(set, "*") {
				first = set
			}
		}
	}
	return first
}

// opener chooses the backend that the setting names.
func (d *databases) opener(host catalog.Host) func(database.Schema) (database.Backend, error) {
	place, app := d.named(host), host.App()
	var replicas []string
	if !d.opts.Ledger {
		replicas = host.Settings().Strings(settingReplicas)
	}
	return func(s database.Schema) (database.Backend, error) {
		switch {
		case onPostgres(place):
			return postgres.Open(place, app, s, replicas...)
		case len(replicas) > 0:
			return nil, fault.Newf(fault.ServiceUnavailable, "%s is set, but the data is in SQLite, whose files have no replicas", settingReplicas).
				WithPath("/database/replicas").WithHint("Leave it out, or set `database` to postgres://USER:PASSWORD@HOST/DATABASE.")
		}
		if err := d.checkWordIndexes(); err != nil {
			return nil, err
		}
		path, err := folder(d.setting(), place, filepath.Join(app, d.below))
		if err != nil {
			return nil, err
		}
		d.folder, d.sync = path, host.Settings().String(settingSync)
		return sqlite.OpenFolder(path, s, syncModes[d.sync])
	}
}

// checkWordIndexes rejects entities whose word index a build without cgo can neither make
// nor keep: in a file that has one, each write would end in an error of SQLite.
func (d *databases) checkWordIndexes() error {
	if sqlitedriver.HasFTS4 {
		return nil
	}
	var searched []string
	for _, e := range d.app.Graph.Entities {
		if len(e.Searched) > 0 {
			searched = append(searched, e.Resource.Name)
		}
	}
	if len(searched) == 0 {
		return nil
	}
	return fault.Newf(fault.CapabilityUnsupported, "this program was built without cgo, and its SQLite (%s) has no index of words, which these entities need: %s", sqlitedriver.Name, strings.Join(searched, ", ")).
		WithHint("Build it with a C compiler (CGO_ENABLED=1), keep the data in PostgreSQL, or make no field searchable.")
}

// Folder is where SQLite has the data, or the ledger of an app that opens its databases itself: "" until
// the provider has started, and where they are elsewhere.
func (d *databases) Folder() string { return cmp.Or(d.folder, d.ledger.folder) }

// keyFile is where the key is kept that seals secret values in the journal: never in the
// database that has the journal, unless that is a file itself. It is "" where there is no place
// for it.
func (d *databases) keyFile(host catalog.Host) string {
	if f, ok := d.ledger.place.(*sqlite.Folder); ok {
		return filepath.Join(filepath.Dir(f.OwnPlace()), "journal.key")
	}
	place := ""
	if d.opts.Open == nil {
		place = d.named(host)
	}
	if onPostgres(place) {
		place = ""
	}
	dir, err := folder(d.setting(), place, filepath.Join(host.App(), d.below))
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "journal.key")
}

// ownTables makes the tables that commits write to in a database of the app's own. Where the first
// has changes of commits already, another process of the app keeps them: one that did not would leave
// gaps.
func (d *databases) ownTables(ctx context.Context, drv dialect.Driver) error {
	if !d.started && !d.engine.Log.InData {
		there, err := ledger.KeepsChanges(ctx, drv)
		if err != nil {
			return err
		}
		d.engine.Log.InData = there
	}
	return ledger.MigrateCommits(ctx, drv, d.engine.Log.InData)
}

func onPostgres(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// folder reads the value of a setting that may name a SQLite folder.
func folder(setting, value, app string) (string, error) {
	if path := strings.TrimPrefix(value, "sqlite://"); path != "" {
		return filepath.Abs(path)
	}
	home := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(home) { // what is relative is to be ignored, says the specification of these folders
		user, err := os.UserHomeDir()
		if err != nil {
			return "", fault.New(fault.ServiceUnavailable, "there is no home directory to keep data in").
				WithHint("Set `%s` to sqlite://FOLDER.", setting).Because(err)
		}
		home = filepath.Join(user, ".local", "share")
	}
	return filepath.Abs(filepath.Join(home, app))
}
