package entities

import (
	"context"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/records"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/appdb"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/ledger/books"
)

var _ books.Keeper = (*Provider)(nil)

// bookkeeping has the books of an app.
type bookkeeping struct {
	books   *books.Books // nil for the journal's own entities
	records *Provider    // of KoanRun and KoanCall; nil where they are not exposed
}

// Books implements books.Keeper.
func (k *bookkeeping) Books() *books.Books { return k.books }

// openBooks opens the books in a place.
func (k *bookkeeping) openBooks(ctx context.Context, host catalog.Host, d *databases, owner database.Owner) error {
	o := books.Options{
		Settings: host.Settings(), Testing: host.Testing(), Log: host.Log(),
		Data: d.engine, Backend: d.engine.Backend(), Owner: owner, KeyFile: d.keyFile(host),
	}
	if i := d.ledger.intents; i != nil {
		o.Backend, o.Commits = i.receipts, i.commits
	}
	b := books.New(o)
	d.logChanges(b)
	if j := b.Journal; j != nil && j.Exposed() {
		if err := j.CreateTables(ctx); err != nil {
			return err
		}
		var err error
		if k.records, err = journalEntities(ctx, j, owner); err != nil {
			return err
		}
	}
	b.Start(ctx)
	k.books = b
	return nil
}

// addTo adds to an offer what the books have: their documents and, where that is wanted, the journal as
// entities.
func (k *bookkeeping) addTo(offer catalog.Offer) catalog.Offer {
	if k.records != nil {
		offer.Operations = append(offer.Operations, k.records.offer.Operations...)
		offer.Resources = append(offer.Resources, k.records.offer.Resources...)
	}
	offer.Documents = append(offer.Documents, k.books.Documents()...)
	return offer
}

// closeBooks ends the books, but not the journal's own entities, which may still be read.
func (k *bookkeeping) closeBooks(ctx context.Context) error {
	if k.books == nil {
		return nil
	}
	return k.books.Close(ctx)
}

// closeRecords ends the journal's own entities.
func (k *bookkeeping) closeRecords() error {
	if k.records == nil {
		return nil
	}
	return k.records.engine.Backend().Close()
}

// logChanges has commits followed where the journal keeps what they changed.
func (d *databases) logChanges(b *books.Books) {
	log := d.engine.Log
	switch j := b.Journal; {
	case j == nil:
		log.Off = "journal.enabled was false"
		return
	case !j.KeepsChanges():
		log.Off = "journal.changes was false"
	case d.opts.Open == nil || log.InData:
		b.ChangeLog = log
	}
	log.Sealing = b.Journal.Sealing()
}

// journalEntities makes the provider of the journal's own entities: the same engine over
// the place where the journal lies.
func journalEntities(ctx context.Context, j *books.Journal, owner database.Owner) (*Provider, error) {
	p := Provide(records.Entities(readableRuns), Options{})
	err := p.engine.Open(nil, func(schema database.Schema) (database.Backend, error) {
		open := func(ctx context.Context, set string) (dialect.Driver, error) {
			if err := model.CheckSet(&p.app.Graph.Entities[0].Resource, set); err != nil {
				return nil, err
			}
			return owner.Observe(ctx)
		}
		nothing := func(context.Context, dialect.Driver) error { return nil }
		b, err := appdb.New(ctx, open, model.DefaultSet, schema, nothing)
		if err != nil {
			return nil, err
		}
		return flushingBackend{b, j}, nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// readableRuns implements records.Readable.
func readableRuns(ctx context.Context, name, column string) shim.Rows {
	d := sqltext.Dialect(sqltext.SQLite{})
	if name == dialect.Postgres {
		d = sqltext.PostgreSQL{}
	}
	return ledger.ReadableRuns(d, column, auth.From(ctx))
}

// flushingBackend shows readers of the journal every run that ended before they began
// to read.
type flushingBackend struct {
	database.Backend
	journal *books.Journal
}

func (f flushingBackend) Use(ctx context.Context, set string) (d database.Database, attached any, release func(), err error) {
	f.journal.Flush(ctx)
	return f.Backend.Use(ctx, set)
}
