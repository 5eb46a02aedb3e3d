package entities

import (
	"context"
	"errors"
	"path/filepath"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/postgres"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
)

// An app that opens its databases itself keeps in them what a commit has to write in its own
// transaction: its receipt, its reply and, if wanted, its changes. Keys, plans, tapes and the journal
// stand in a place beside them. After a crash between the two, the receipts say what is true.

// settingLedger is the key of CONTRACT section 1 for that place.
const settingLedger = "ledger.database"

// settingInData has the sets of such an app keep the changes of each commit.
const settingInData = "ledger.inData"

// ledgerPlace keeps what is the app's and no set's.
type ledgerPlace interface {
	database.Owner
	Close() error
}

// ownSettings are those of an app that opens its databases itself.
func ownSettings() []catalog.Setting {
	return []catalog.Setting{{
		Key: settingLedger, Default: "", Check: checkPlace,
		Help: "where keys, plans, tapes and the journal are kept: sqlite://FOLDER, or postgres://USER:PASSWORD@HOST/DATABASE where several servers share it; empty is a folder for each database in $XDG_DATA_HOME/APP",
	}, {
		Key: settingInData, Default: false,
		Help: "keep the changes of each commit in the app's own databases too, in the table koan_changes: /api/events and listeners of resources need them. Where the table is, they are kept",
	}}
}

// openLedger opens the place of the ledger of an app that opens its databases itself. Where no place
// is set, each database has one of its own, so that a program that is started for another database
// has another ledger.
func (p *Provider) openLedger(ctx context.Context, host catalog.Host) error {
	id, err := p.identity(ctx)
	if err != nil {
		return err
	}
	where := host.Settings().String(settingLedger)
	path, err := folder(settingLedger, where, host.App())
	switch {
	case onPostgres(where):
		p.ledger, err = postgres.Open(where, host.App(), database.Schema{})
	case err != nil:
	case where == "":
		p.ledger, err = openLedgerFolder(filepath.Join(path, id))
	default:
		p.ledger, err = openLedgerFolder(path)
	}
	if err != nil {
		p.ledger = nil
		return err
	}
	if err := p.bind(ctx, host, id); err != nil {
		return errors.Join(err, p.ledger.Close())
	}
	return nil
}

func openLedgerFolder(path string) (ledgerPlace, error) {
	f, err := sqlite.OpenFolder(path, database.Schema{}, sqlite.SyncFull)
	if known, ok := errors.AsType[*fault.Fault](err); ok {
		err = known.WithHint("The ledger is kept there, beside the app's own databases. Set `%s` to a folder that can be written, or to postgres://...", settingLedger)
	}
	return f, err
}

// identity is the name of the database whose ledger it is: that of the first set.
func (p *Provider) identity(ctx context.Context) (string, error) {
	b := p.engine.Backend()
	d, _, release, err := b.Use(ctx, p.firstSet())
	if err != nil {
		return "", err
	}
	defer release()
	id, err := ledger.Identity(ctx, b.Dialect(), d.Driver())
	return id, database.Fault(b, d.Set(), err)
}

// bind refuses the ledger of another database, and warns where the database has had another ledger.
func (p *Provider) bind(ctx context.Context, host catalog.Host, id string) error {
	db, err := p.ledger.Own(ctx, ledger.DataTables)
	if err != nil {
		return database.Fault(p.ledger, database.Ledger, err)
	}
	defer func() { _ = db.Close() }()
	whose, own, err := ledger.Bind(ctx, p.ledger.Dialect(), db, id)
	if err != nil {
		return database.Fault(p.ledger, database.Ledger, err)
	}
	if whose != id {
		return fault.Newf(fault.ServiceUnavailable, "the ledger in %s is that of another database", p.ledger.OwnPlace()).
			WithHint("Set `%s` to a place that has no ledger, or leave it out: then each database has a place of its own.", settingLedger)
	}
	return p.attach(ctx, host, own)
}

// attach notes in the first set which ledger it has. A database that cannot be written is served all the
// same.
func (p *Provider) attach(ctx context.Context, host catalog.Host, own string) error {
	b := p.engine.Backend()
	d, _, release, err := b.Use(ctx, p.firstSet())
	if err != nil {
		return err
	}
	defer release()
	another, err := ledger.Attach(ctx, b.Dialect(), d.Driver(), own)
	switch {
	case err != nil:
		host.Log().WarnContext(ctx, "the database's ledger could not be noted in it", "error", err)
	case another:
		host.Log().WarnContext(ctx, "the database has had another ledger before: keys, plans and runs of that one are not known here", "ledger", p.ledger.OwnPlace())
	}
	return nil
}

// ownTables makes the tables that commits write to in a database of the app's own. Where the first
// has changes of commits already, another process of the app keeps them: one that did not would leave
// gaps.
func (p *Provider) ownTables(ctx context.Context, drv dialect.Driver) error {
	if !p.started && !p.engine.Log.InData {
		there, err := ledger.KeepsChanges(ctx, drv)
		if err != nil {
			return err
		}
		p.engine.Log.InData = there
	}
	return ledger.MigrateCommits(ctx, drv, p.engine.Log.InData)
}

// checkLedger looks for what is wrong with the ledger itself.
func (p *Provider) checkLedger(ctx context.Context) error {
	x, ok := p.ledger.(database.Examiner)
	if !ok {
		return nil
	}
	return x.Examine(ctx, database.Ledger)
}
