// Package entities serves the entities of ent schemas: the provider of their operations.
// Package framework puts it into every app that has entities; apps import expose in their
// schemas, entgen in ent/entc.go, and what their generated code needs.
//
// What belongs here: settings, and what ties the engine, its databases, the ledger and
// migrations together. What must never: what they do.
package entities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/engine"
	"github.com/koan-go/koan/entities/internal/migrate"
	"github.com/koan-go/koan/entities/internal/migrations"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/appdb"
	"github.com/koan-go/koan/framework/database/postgres"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger/books"
	"github.com/koan-go/koan/framework/run"
)

// Options are what an app says about its entities beside their schemas. The zero value is
// right for most. The fields are those of framework.App, which says what they do.
type Options struct {
	Viewer     func(ctx context.Context, p auth.Principal) context.Context
	Open       func(ctx context.Context, set string) (dialect.Driver, error)
	Migrations fs.FS
}

// settingDatabase is the key of CONTRACT section 1.
const settingDatabase = "database"

// settingSync says which commits survive a power cut.
const settingSync = "database.sync"

// syncModes are the values of database.sync.
var syncModes = map[string]sqlite.Sync{"full": sqlite.SyncFull, "normal": sqlite.SyncNormal}

// settingKeepEvents is how long sets keep what their commits changed.
const settingKeepEvents = "events.keepHours"

// settingMaxEvents bounds what each set keeps of that.
const settingMaxEvents = "events.maxMb"

// Provider serves entities. Make one with Provide.
type Provider struct {
	app     *shim.App
	opts    Options
	engine  *engine.Engine
	ledger  ledgerPlace        // of an app that opens its databases itself, nil where it stands beside the sets
	books   *books.Books       // nil for the journal's own entities
	records *Provider          // of KoanRun and KoanCall; nil where they are not exposed
	schema  *migrations.Config // how sets are migrated; nil where the app sees to that
	offer   catalog.Offer
	folder  string // of the data, "" where a server has it
	sync    string // the value of database.sync, "" where a server has the data
	started bool
}

var (
	_ catalog.Provider     = (*Provider)(nil)
	_ catalog.Configurable = (*Provider)(nil)
	_ catalog.Checker      = (*Provider)(nil)
	_ catalog.Diagnoser    = (*Provider)(nil)
	_ catalog.Commander    = (*Provider)(nil)
	_ catalog.Reporter     = (*Provider)(nil)
	_ catalog.Readier      = (*Provider)(nil)
	_ run.Data             = (*Provider)(nil)
)

// Provide makes the provider of an app's entities; app is what the generated
// ent.Entities returns. A nil app is a programmer's mistake and panics; the zero one has
// no entities, and keeps keys, plans and the journal all the same.
func Provide(app *shim.App, o Options) *Provider {
	if app == nil {
		panic("entities: Provide needs the result of ent.Entities()")
	}
	if app.Graph == nil {
		empty := *app
		empty.Graph = &descriptor.Graph{}
		app = &empty
	}
	p := &Provider{app: app, opts: o}
	p.engine = engine.New(app, o.Viewer)
	p.offer = p.engine.Offer()
	return p
}

// Name implements catalog.Provider.
func (p *Provider) Name() string { return "entities" }

// Settings implements catalog.Configurable.
func (p *Provider) Settings() []catalog.Setting {
	if p.opts.Open != nil {
		return slices.Concat(ownSettings(), eventSettings(), books.JournalSettings())
	}
	return slices.Concat([]catalog.Setting{{
		Key: settingDatabase, Default: "", Check: checkPlace,
		Help: "where the data is kept: sqlite://FOLDER, one file per set, or postgres://USER:PASSWORD@HOST/DATABASE, one schema per set; empty is sqlite://$XDG_DATA_HOME/APP",
	}, {
		Key: settingSync, Default: "full", OneOf: []string{"full", "normal"},
		Help: "SQLite: full syncs each commit to the disk before it is acknowledged, so that it survives a power cut; normal syncs at checkpoints only, so that the last acknowledged commits may be lost",
	}}, eventSettings(), migrations.Settings(), books.JournalSettings(), books.SetSettings())
}

// checkPlace checks where data or the ledger is to be kept.
func checkPlace(v any) error {
	s, _ := v.(string)
	if s == "" || strings.HasPrefix(s, "sqlite://") && s != "sqlite://" || onPostgres(s) {
		return nil
	}
	if scheme, _, ok := strings.Cut(s, "://"); ok {
		s = scheme + "://..." // the rest may have a password in it
	}
	return fmt.Errorf("must be sqlite://FOLDER or postgres://USER@HOST/DATABASE, not %q", s)
}

// eventSettings say what sets keep of their commits.
func eventSettings() []catalog.Setting {
	return []catalog.Setting{{
		Key: settingKeepEvents, Default: 168, Min: 1, Max: 87600, Unit: "hours",
		Help: "how long each set keeps what its commits changed, for listeners of /api/events that come back",
	}, {
		Key: settingMaxEvents, Default: 256, Min: 1, Max: 1 << 20, Unit: "MB",
		Help: "how much each set keeps of that; beyond it the oldest changes are removed",
	}}
}

// Start implements catalog.Provider. It opens the data folder, and the default
// set where an entity lives in it, so that an empty folder fills itself and one
// that cannot be written is known before the first call. It creates the other sets that
// entities name where they are missing.
func (p *Provider) Start(ctx context.Context, host catalog.Host) error {
	if err := p.open(ctx, host, p.engine); err != nil {
		return err
	}
	b := p.engine.Backend()
	if p.livesInDefaultSet() {
		_, _, release, err := b.Use(ctx, model.DefaultSet)
		if err != nil {
			_ = b.Close()
			return err
		}
		release()
	}
	if err := p.prepareSets(ctx, host); err != nil {
		return errors.Join(err, b.Close())
	}
	p.started = true
	p.engine.Log.Logger = host.Log()
	p.engine.Log.Keep = time.Duration(host.Settings().Int(settingKeepEvents)) * time.Hour
	p.engine.Log.MaxMb = host.Settings().Int(settingMaxEvents)
	owner := database.Owner(p.ledger)
	if p.ledger == nil {
		owner = b.(database.Owner)
		p.engine.Quota = books.NewSetQuota(b, owner, host.Settings().Int(books.SettingSets), host.Log())
		if len(p.app.Seeds) > 0 {
			p.engine.Beginnings = books.NewBeginnings(b, owner, host.Log())
		}
	}
	if err := p.openBooks(ctx, host, owner); err != nil {
		return errors.Join(err, p.closeData())
	}
	return nil
}

// prepareSets creates the sets that entities name or, where the app has its own databases, opens
// the place of the ledger beside them.
func (p *Provider) prepareSets(ctx context.Context, host catalog.Host) error {
	if p.opts.Open == nil {
		return p.engine.CreateDeclaredSets(ctx)
	}
	return p.openLedger(ctx, host)
}

// closeData closes the databases, and the place of the ledger.
func (p *Provider) closeData() error {
	err := p.engine.Backend().Close()
	if p.ledger != nil {
		err = errors.Join(err, p.ledger.Close())
	}
	return err
}

// livesInDefaultSet reports whether an entity lives in the default set.
func (p *Provider) livesInDefaultSet() bool {
	return slices.ContainsFunc(p.app.Graph.Entities, func(e *descriptor.Entity) bool { return model.LivesIn(&e.Resource, model.DefaultSet) })
}

// open opens the backend: the app's own, or the one that the settings name.
func (p *Provider) open(ctx context.Context, host catalog.Host, e *engine.Engine) error {
	if p.opts.Open != nil {
		e.Log.InData = host.Settings().Bool(settingInData)
		return e.Open(nil, p.appDatabases(ctx))
	}
	p.schema = p.migrations(host)
	way, err := p.schema.Way()
	if err != nil {
		return err
	}
	return e.Open(way, p.opener(host))
}

func (p *Provider) migrations(host catalog.Host) *migrations.Config {
	name := dialect.SQLite
	if onPostgres(host.Settings().String(settingDatabase)) {
		name = dialect.Postgres
	}
	return migrations.Configure(p.app, p.opts.Migrations, name, host)
}

// Commands implements catalog.Commander. An app that opens its own databases migrates
// them by its own means.
func (p *Provider) Commands() []*catalog.Command {
	if p.opts.Open != nil {
		return nil
	}
	return []*catalog.Command{migrations.Commands{Configure: p.migrations, Open: p.openData}.Command()}
}

// openData opens the data for a command; it opens no set.
func (p *Provider) openData(host catalog.Host, w migrate.Way) (database.Backend, error) {
	e := engine.New(p.app, p.opts.Viewer)
	err := e.Open(w, p.opener(host))
	return e.Backend(), err
}

// appDatabases serves the databases that the app opens itself.
func (p *Provider) appDatabases(ctx context.Context) func(database.Schema) (database.Backend, error) {
	return func(s database.Schema) (database.Backend, error) {
		if len(p.app.Seeds) > 0 {
			return nil, fault.New(fault.ServiceUnavailable, "OnCreateSet fills new sets, but an app that opens its own databases never creates one").
				WithHint("Leave out ent.OnCreateSet or Open of framework.App.")
		}
		return appdb.New(ctx, p.opts.Open, p.firstSet(), s, p.ownTables)
	}
}

// firstSet is a set that is there from the start: the default one, else one that an
// entity names.
func (p *Provider) firstSet() string {
	first := model.DefaultSet
	if p.livesInDefaultSet() {
		return first
	}
	for _, e := range p.app.Graph.Entities {
		for _, set := range e.Resource.Sets {
			if !strings.HasSuffix(set, "*") {
				first = set
			}
		}
	}
	return first
}

// opener chooses the backend that the setting names.
func (p *Provider) opener(host catalog.Host) func(database.Schema) (database.Backend, error) {
	place, app := host.Settings().String(settingDatabase), host.App()
	return func(s database.Schema) (database.Backend, error) {
		if onPostgres(place) {
			return postgres.Open(place, app, s)
		}
		if err := p.checkWordIndexes(); err != nil {
			return nil, err
		}
		path, err := folder(settingDatabase, place, app)
		if err != nil {
			return nil, err
		}
		p.folder, p.sync = path, host.Settings().String(settingSync)
		return sqlite.OpenFolder(path, s, syncModes[p.sync])
	}
}

// checkWordIndexes rejects entities whose word index a build without cgo can neither make
// nor keep: in a file that has one, each write would end in an error of SQLite.
func (p *Provider) checkWordIndexes() error {
	if sqlitedriver.HasFTS4 {
		return nil
	}
	var searched []string
	for _, e := range p.app.Graph.Entities {
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

// Folder is where SQLite has the data: "" until the provider has started, and where the
// data is elsewhere.
func (p *Provider) Folder() string { return p.folder }

// keyFile is where the key is kept that seals secret values in the journal: never in the
// database that has the journal, unless that is a file itself. It is "" where there is no place
// for it.
func (p *Provider) keyFile(host catalog.Host) string {
	if f, ok := p.ledger.(*sqlite.Folder); ok {
		return filepath.Join(filepath.Dir(f.OwnPlace()), "journal.key")
	}
	place := ""
	if p.opts.Open == nil {
		place = host.Settings().String(settingDatabase)
	}
	if onPostgres(place) {
		place = ""
	}
	dir, err := folder(settingDatabase, place, host.App())
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "journal.key")
}

// Enter implements run.Data.
func (p *Provider) Enter(ctx context.Context, set string) (context.Context, error) {
	return p.engine.Enter(ctx, set)
}

// Offer implements catalog.Provider.
func (p *Provider) Offer() catalog.Offer { return p.offer }

// Stop implements catalog.Provider.
func (p *Provider) Stop(ctx context.Context) error {
	if !p.started {
		return nil
	}
	var err error
	if p.books != nil {
		err = p.books.Close(ctx)
	}
	p.engine.Log.Close()
	if p.records != nil {
		err = errors.Join(err, p.records.engine.Backend().Close())
	}
	return errors.Join(err, p.engine.Quota.Close(), p.engine.Beginnings.Close(), p.closeData())
}
