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
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/ledger/books"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/framework/run/follow"
	"github.com/koan-go/koan/framework/run/once"
	"github.com/koan-go/koan/framework/run/record"
	"github.com/koan-go/koan/framework/run/replay"
	"github.com/koan-go/koan/framework/run/undo"
	"github.com/koan-go/koan/framework/seal"
)

var (
	_ once.Keeper    = (*Provider)(nil)
	_ approve.Keeper = (*Provider)(nil)
	_ replay.Keeper  = (*Provider)(nil)
	_ record.Keeper  = (*Provider)(nil)
	_ undo.Keeper    = (*Provider)(nil)

	_ journal.ReadKeeper = (*Provider)(nil)
	_ follow.Keeper      = (*Provider)(nil)
	_ seal.Keeper        = (*Provider)(nil)
)

// Ledger implements once.Keeper.
func (p *Provider) Ledger() once.Ledger {
	if p.keys == nil {
		return nil
	}
	return p.keys
}

// KeptSecret implements seal.Keeper. It stands where the keys are.
func (p *Provider) KeptSecret(ctx context.Context) (string, error) {
	if p.keys == nil {
		return "", nil
	}
	return p.keys.Secret(ctx)
}

// Plans implements approve.Keeper.
func (p *Provider) Plans() approve.Plans {
	if p.keys == nil {
		return nil
	}
	return p.keys.Plans()
}

// Grants implements approve.Keeper.
func (p *Provider) Grants() approve.Grants {
	if p.keys == nil {
		return nil
	}
	return p.keys.Grants()
}

// Shelf implements replay.Keeper.
func (p *Provider) Shelf() replay.Shelf {
	if p.tapes == nil {
		return nil
	}
	return p.tapes
}

// Journal implements record.Keeper. Without one, runs are lines in the log.
func (p *Provider) Journal() journal.Sink {
	if p.journal == nil {
		return nil
	}
	return p.journal.Sink()
}

// Archive implements undo.Keeper.
func (p *Provider) Archive() undo.Archive {
	if p.journal == nil {
		return nil
	}
	return p.journal
}

// Reader implements journal.ReadKeeper.
func (p *Provider) Reader() journal.Reader {
	if p.journal == nil {
		return nil
	}
	return p.journal
}

// Changes implements record.Keeper.
func (p *Provider) Changes() bool { return p.changes }

// ChangeLog implements follow.Keeper. Commits are followed where the journal keeps what
// they changed.
func (p *Provider) ChangeLog() follow.Log {
	if p.journal == nil || !p.changes || p.opts.Open != nil && !p.engine.Log.InData {
		return nil
	}
	return &p.engine.Log
}

// startJournal opens the journal beside the start, and offers it where that is wanted.
func (p *Provider) startJournal(ctx context.Context, host catalog.Host, owner database.Owner) error {
	if !books.WantsJournal(host.Settings(), host.Testing()) {
		p.engine.Log.Off = "journal.enabled was false"
		return nil
	}
	j := books.NewJournal(host.Settings(), p.engine.Backend(), owner, p.keys, p.tapes, host.Log())
	if p.changes = books.KeepsChanges(host.Settings()); !p.changes {
		p.engine.Log.Off = "journal.changes was false"
	}
	j.KeepKey(p.keyFile(host), host.Settings().Strings("server.secret"))
	p.engine.Log.Sealing = j.Sealing()
	if books.Exposed(host.Settings()) {
		if err := j.CreateTables(ctx); err != nil {
			return err
		}
		var err error
		if p.records, err = journalEntities(ctx, j, owner); err != nil {
			return err
		}
		offer := p.records.Offer()
		p.offer.Operations = append(p.offer.Operations, offer.Operations...)
		p.offer.Resources = append(p.offer.Resources, offer.Resources...)
	}
	j.Recover(ctx)
	j.Start()
	p.journal = j
	p.offer.Documents = append(p.offer.Documents, j.ReportDocument())
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

// noJournal is the journal's line of `doctor` where nothing is kept.
func (p *Provider) noJournal() catalog.Check {
	return catalog.Check{Name: "journal", OK: true, Detail: "not kept: journal.enabled is false"}
}
