package entities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/postgres"
	"github.com/koan-go/koan/framework/database/sqlite"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
)

// An app that opens its databases itself keeps in them what a commit has to write in its own
// transaction: its receipt, its reply and, if wanted, its changes. (See intents for those that belong to
// another program.) Keys, plans, tapes and the journal
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

// ownLedger is the ledger of an app that opens its databases itself.
type ownLedger struct {
	place   ledgerPlace // nil where the ledger stands beside the sets
	intents *intents    // nil where the sets have their receipts
	foreign string      // that of shim.App, where its database keeps nothing of the system
	folder  string      // of the place, "" where that is no folder
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

// open opens the place of the ledger. Where none is set, each database has one of its own, so that a program that is started for another database
// has another ledger.
func (l *ownLedger) open(ctx context.Context, host catalog.Host, b database.Backend, first string) error {
	id, err := l.identity(ctx, b, first)
	if err != nil {
		return err
	}
	where := host.Settings().String(settingLedger)
	path, err := folder(settingLedger, where, host.App())
	switch {
	case onPostgres(where):
		l.place, err = postgres.Open(where, host.App(), database.Schema{})
	case err != nil:
	case where == "":
		l.folder = filepath.Join(path, id)
		l.place, err = openLedgerFolder(l.folder)
	default:
		l.folder = path
		l.place, err = openLedgerFolder(path)
	}
	if err != nil {
		l.place, l.folder = nil, ""
		return err
	}
	if err := l.bind(ctx, host, b, first, id); err != nil {
		return errors.Join(err, l.place.Close())
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

// identity is the name of the database whose ledger it is: that of the first set, or what the app calls one
// that belongs to another program.
func (l *ownLedger) identity(ctx context.Context, b database.Backend, first string) (string, error) {
	if l.foreign != "" {
		sum := sha256.Sum256([]byte(l.foreign))
		return hex.EncodeToString(sum[:16]), nil
	}
	d, _, release, err := b.Use(ctx, first)
	if err != nil {
		return "", err
	}
	defer release()
	id, err := ledger.Identity(ctx, b.Dialect(), d.Driver())
	return id, database.Fault(b, d.Set(), err)
}

// bind refuses the ledger of another database, and warns where the database has had another ledger.
func (l *ownLedger) bind(ctx context.Context, host catalog.Host, b database.Backend, first, id string) error {
	db, err := l.place.Own(ctx, ledger.DataTables)
	if err != nil {
		return database.Fault(l.place, database.Ledger, err)
	}
	defer func() { _ = db.Close() }()
	whose, own, err := ledger.Bind(ctx, l.place.Dialect(), db, id)
	if err != nil {
		return database.Fault(l.place, database.Ledger, err)
	}
	if whose != id {
		return fault.Newf(fault.ServiceUnavailable, "the ledger in %s is that of another database", l.place.OwnPlace()).
			WithHint("Set `%s` to a place that has no ledger, or leave it out: then each database has a place of its own.", settingLedger)
	}
	if l.foreign != "" {
		l.intents, err = openIntents(ctx, host, l.place, first)
		return err
	}
	return l.attach(ctx, host, b, first, own)
}

// close closes the place.
func (l *ownLedger) close() error {
	if l.place == nil {
		return nil
	}
	if l.intents == nil {
		return l.place.Close()
	}
	return errors.Join(l.intents.close(), l.place.Close())
}

// attach notes in the first set which ledger it has. A database that cannot be written is served all the
// same.
func (l *ownLedger) attach(ctx context.Context, host catalog.Host, b database.Backend, first, own string) error {
	d, _, release, err := b.Use(ctx, first)
	if err != nil {
		return err
	}
	defer release()
	another, err := ledger.Attach(ctx, b.Dialect(), d.Driver(), own)
	switch {
	case err != nil:
		host.Log().WarnContext(ctx, "the database's ledger could not be noted in it", "error", err)
	case another:
		host.Log().WarnContext(ctx, "the database has had another ledger before: keys, plans and runs of that one are not known here", "ledger", l.place.OwnPlace())
	}
	return nil
}

// examine looks for what is wrong with the ledger itself.
func (l *ownLedger) examine(ctx context.Context) error {
	x, ok := l.place.(database.Examiner)
	if !ok {
		return nil
	}
	return x.Examine(ctx, database.Ledger)
}
