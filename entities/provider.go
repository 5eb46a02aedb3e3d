// Package entities serves the entities of ent schemas: the provider of their operations.
// Package framework puts it into every app that has entities; apps import expose in their
// schemas, entgen in ent/entc.go, and what their generated code needs.
//
// What belongs here: settings, and what ties the engine, its databases, the ledger and
// migrations together. Not here: what they do.
package entities

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/backup"
	"github.com/koan-go/koan/entities/internal/engine"
	"github.com/koan-go/koan/entities/internal/migrations"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/ledger/books"
	"github.com/koan-go/koan/framework/position"
	"github.com/koan-go/koan/framework/run"
)

// Options are what an app says about its entities beside their schemas. The zero value is
// right for most. The fields are those of framework.App, which says what they do.
type Options struct {
	Viewer     func(ctx context.Context, p auth.Principal) context.Context
	Open       func(ctx context.Context, set string) (dialect.Driver, error)
	Migrations fs.FS
	// Ledger says that the provider has no entities but keeps the ledger, where the setting ledger.database
	// says. What `database` names is another program's, as where one koan.yaml is for `koan serve` too, and not
	// used.
	Ledger bool
}

// settingDatabase is the key of CONTRACT section 1.
const settingDatabase = "database"

// settingSync says which commits survive a power cut.
const settingSync = "database.sync"

// syncModes are the values of database.sync.
var syncModes = map[string]sqlite.Sync{"full": sqlite.SyncFull, "normal": sqlite.SyncNormal}

// settingReplicas are servers that follow the one with the data.
const settingReplicas = "database.replicas"

// settingKeepEvents is how long sets keep what their commits changed.
const settingKeepEvents = "events.keepHours"

// settingMaxEvents bounds what each set keeps of that.
const settingMaxEvents = "events.maxMb"

// Provider serves entities. Make one with Provide.
type Provider struct {
	databases
	bookkeeping
	offer  catalog.Offer
	unused bool // the setting `database` is set, and not used
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
	_ position.Keeper      = (*Provider)(nil)
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
	p := &Provider{databases: databases{app: app, opts: o, engine: engine.New(app, o.Viewer)}}
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
	if p.opts.Ledger {
		return slices.Concat([]catalog.Setting{
			{Key: settingDatabase, Default: "", Help: "not used: an app without entities has no data"},
			{Key: settingLedger, Default: "", Check: checkPlace, Help: "where keys, plans, tapes and the journal are kept: sqlite://FOLDER, or postgres://USER:PASSWORD@HOST/DATABASE; empty is sqlite://$XDG_DATA_HOME/APP"},
			settingOfSync(),
		}, eventSettings(), migrations.Settings(), books.JournalSettings(), books.SetSettings())
	}
	return slices.Concat([]catalog.Setting{{
		Key: settingDatabase, Default: "", Check: checkPlace,
		Help: "where the data is kept: sqlite://FOLDER, one file per set, or postgres://USER:PASSWORD@HOST/DATABASE, one schema per set; empty is sqlite://$XDG_DATA_HOME/APP",
	}, settingOfSync(), settingOfReplicas()}, eventSettings(), migrations.Settings(), books.JournalSettings(), books.SetSettings())
}

func settingOfReplicas() catalog.Setting {
	return catalog.Setting{
		Key: settingReplicas, Default: []string{}, Check: checkReplicas,
		Help: "PostgreSQL: postgres://USER:PASSWORD@HOST/DATABASE of servers that follow that of `database` by streaming replication; they answer calls that only read and say how far their caller has seen (docs/howto/cluster.md)",
	}
}

// checkReplicas checks the places of replicas.
func checkReplicas(v any) error {
	for i, place := range v.([]string) {
		if !onPostgres(place) {
			return fmt.Errorf("must be postgres://USER@HOST/DATABASE each; number %d is not", i+1)
		}
	}
	return nil
}

func settingOfSync() catalog.Setting {
	return catalog.Setting{
		Key: settingSync, Default: "full", OneOf: []string{"full", "normal"},
		Help: "SQLite: full syncs each commit to the disk before it is acknowledged, so that it survives a power cut; normal syncs at checkpoints only, so that the last acknowledged commits may be lost",
	}
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
	p.started, p.unused = true, p.opts.Ledger && host.Settings().IsSet(settingDatabase)
	if p.ledger.intents != nil {
		p.engine.Commits = p.ledger.intents
	}
	p.engine.Log.Logger = host.Log()
	p.engine.Log.Keep = time.Duration(host.Settings().Int(settingKeepEvents)) * time.Hour
	p.engine.Log.MaxMb = host.Settings().Int(settingMaxEvents)
	owner := database.Owner(p.ledger.place)
	if p.ledger.place == nil {
		owner = b.(database.Owner)
		p.engine.Quota = books.NewSetQuota(b, owner, host.Settings().Int(books.SettingSets), host.Log())
		if len(p.app.Seeds) > 0 {
			p.engine.Beginnings = books.NewBeginnings(b, owner, host.Log())
		}
	}
	if err := p.openBooks(ctx, host, &p.databases, owner); err != nil {
		return errors.Join(err, p.closeData())
	}
	p.offer = p.addTo(p.offer)
	return nil
}

// prepareSets creates the sets that entities name or, where the app has its own databases, opens
// the place of the ledger beside them.
func (p *Provider) prepareSets(ctx context.Context, host catalog.Host) error {
	if p.opts.Open == nil {
		return p.engine.CreateDeclaredSets(ctx)
	}
	return p.ledger.open(ctx, host, p.engine.Backend(), p.firstSet())
}

// Commands implements catalog.Commander. An app that opens its own databases migrates
// them by its own means.
func (p *Provider) Commands() []*catalog.Command {
	copies := backup.Commands{Place: p.backedUp}.List()
	if p.opts.Open != nil {
		return copies
	}
	return append(copies, migrations.Commands{Configure: p.migrations, Open: p.openData}.Command())
}

// Enter implements run.Data.
func (p *Provider) Enter(ctx context.Context, set string) (context.Context, error) {
	return p.engine.Enter(ctx, set)
}

// Positions implements position.Keeper.
func (p *Provider) Positions() position.Source {
	if k, ok := p.engine.Backend().(position.Keeper); ok {
		return k.Positions()
	}
	return nil
}

// Offer implements catalog.Provider.
func (p *Provider) Offer() catalog.Offer { return p.offer }

// Stop implements catalog.Provider.
func (p *Provider) Stop(ctx context.Context) error {
	if !p.started {
		return nil
	}
	err := p.closeBooks(ctx)
	p.engine.Log.Close()
	return errors.Join(err, p.closeRecords(), p.engine.Quota.Close(), p.engine.Beginnings.Close(), p.closeData())
}
