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

// Books implements books.Keeper.
func (p *Provider) Books() *books.Books { return p.books }

// openBooks opens the books in a place, and offers the journal where that is wanted.
func (p *Provider) openBooks(ctx context.Context, host catalog.Host, owner database.Owner) error {
	b := books.New(books.Options{
		Settings: host.Settings(), Testing: host.Testing(), Log: host.Log(),
		Data: p.engine, Backend: p.engine.Backend(), Owner: owner, KeyFile: p.keyFile(host),
	})
	p.logChanges(b)
	if err := p.offerJournal(ctx, b.Journal, owner); err != nil {
		return err
	}
	b.Start(ctx)
	p.books = b
	p.offer.Documents = append(p.offer.Documents, b.Documents()...)
	return nil
}

// logChanges has commits followed where the journal keeps what they changed.
func (p *Provider) logChanges(b *books.Books) {
	log := p.engine.Log
	switch j := b.Journal; {
	case j == nil:
		log.Off = "journal.enabled was false"
		return
	case !j.KeepsChanges():
		log.Off = "journal.changes was false"
	case p.opts.Open == nil || log.InData:
		b.ChangeLog = log
	}
	log.Sealing = b.Journal.Sealing()
}

// offerJournal offers the journal as entities.
func (p *Provider) offerJournal(ctx context.Context, j *books.Journal, owner database.Owner) (err error) {
	if j == nil || !j.Exposed() {
		return nil
	}
	if err := j.CreateTables(ctx); err != nil {
		return err
	}
	if p.records, err = journalEntities(ctx, j, owner); err != nil {
		return err
	}
	offer := p.records.Offer()
	p.offer.Operations = append(p.offer.Operations, offer.Operations...)
	p.offer.Resources = append(p.offer.Resources, offer.Resources...)
	return nil
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
