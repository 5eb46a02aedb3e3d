// Package engine carries out the operations of an app's entities: in transactions that runs
// begin on sets, over SQLite or PostgreSQL.
//
// What belongs here: the operations over a transaction by the rules, writes through ent's builders,
// what the app's own code does through its clients, and what puts these together. Not here: a
// decision who may read or write what (package rules), surfaces, scripts, settings, or knowledge of one
// app.
package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/koan-go/koan/entities/internal/account"
	"github.com/koan-go/koan/entities/internal/changelog"
	"github.com/koan-go/koan/entities/internal/migrate"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/mutation"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/entities/internal/statement"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/ledger/books"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// Engine carries out the operations of an app's entities in the sets that a backend keeps
// them in, and is the store of runs. Once it is open it is immutable.
type Engine struct {
	*model.Model

	// Quota bounds the sets that one caller creates; nil where the app sees to its sets.
	// It is set before the first call.
	Quota *books.SetQuota

	// Beginnings keeps how sets begin that were read before they exist; nil where the app
	// fills no sets. It is set before the first call.
	Beginnings *books.Beginnings

	// Log keeps what commits changed, for those who follow changes.
	Log *changelog.Log

	// Commits keeps the receipts of commits; nil where sets have a place for them. It is set before
	// the first call.
	Commits Commits

	rules    *rules.Rules
	tables   account.Tables
	declared []string // the sets that are there from the start
	data     *transaction.Data
	way      migrate.Way // how sets come to the app's schema; nil where the app sees to that
	followed *logData    // by Log
	origin   *Engine     // the first of those that took each other's place; nil for itself
}

var (
	_ store.Store     = (*Engine)(nil)
	_ store.Spanning  = (*Engine)(nil)
	_ store.Continued = (*Engine)(nil)
	_ run.Data        = (*Engine)(nil)
)

// New returns the engine of an app, which has no data before Open.
func New(app *shim.App, viewer rules.Viewer) *Engine {
	m := model.New(app)
	e := &Engine{Model: m, rules: &rules.Rules{Model: m, Viewer: viewer}, tables: account.TablesOf(m), data: &transaction.Data{Model: m}, declared: model.DeclaredSets(app.Graph)}
	e.followed = &logData{}
	e.followed.engine.Store(e)
	e.Log = changelog.New(e.followed)
	return e
}

// Replace has an engine that was opened take the place of another one, over the same data, whose schema has
// changed. Runs that the other one has begun go on; those who follow changes see what this one sees.
func (e *Engine) Replace(old *Engine) {
	e.Log, e.Commits, e.followed, e.origin = old.Log, old.Commits, old.followed, old.Origin().(*Engine)
	e.followed.engine.Store(e)
}

// Origin implements store.Continued.
func (e *Engine) Origin() store.Store {
	if e.origin != nil {
		return e.origin
	}
	return e
}

// Way is how sets come to the app's schema, nil where the app sees to that.
func (e *Engine) Way() migrate.Way { return e.way }

// Backend returns what Open opened, nil before.
func (e *Engine) Backend() database.Backend { return e.data.Backend }

// Open opens the backend. way is how sets come to the app's schema, nil where the app sees
// to that. Sets are opened at their first use.
func (e *Engine) Open(way migrate.Way, open func(database.Schema) (database.Backend, error)) (err error) {
	e.way = way
	schema := database.Schema{Attach: func(d database.Database) (any, error) {
		client, err := e.connect(d)
		if err == nil {
			e.KeepClient(client)
		}
		return client, err
	}}
	if e.way != nil {
		schema.Version, schema.Create, schema.Migrate, schema.Fill = e.way.Mark(), e.way.Create, migrate.AtOpening(e.way), e.fill
		if len(e.App.Seeds) > 0 {
			schema.Beginning = e.beginning
		}
		for _, entity := range e.App.Graph.Entities {
			schema.Tables = append(schema.Tables, entity.Table)
		}
	}
	if e.data.Backend, err = open(schema); err != nil {
		return err
	}
	e.data.Reader = read.New(e.data.Backend.Dialect())
	e.data.Reader.Indexed = way != nil // an app that migrates its own tables has none of our indexes
	e.data.Writer = statement.New(e.data.Reader)
	return nil
}

// fill completes a new set: its page in the ledger, and the app's first rows.
func (e *Engine) fill(ctx context.Context, set string, d database.Database) error {
	if err := e.way.Made(ctx, d.Driver()); err != nil || len(e.App.Seeds) == 0 {
		return err
	}
	client, err := e.seedClient(set, d.Driver())
	if err != nil {
		return err
	}
	for _, seed := range e.App.Seeds {
		if err := fault.Guard(func() error { return seed(ctx, set, client) }); err != nil {
			return err
		}
	}
	return nil
}

// beginning is database.Schema.Beginning.
func (e *Engine) beginning(ctx context.Context, set string, build func(keep bool) ([]byte, error)) ([]byte, error) {
	if e.Beginnings == nil || slices.Contains(e.declared, set) {
		return build(false)
	}
	return e.Beginnings.Of(ctx, set, e.way.Mark(), func() ([]byte, error) { return build(true) })
}

// CreateDeclaredSets creates the sets that the app's entities name and that do not exist.
// Calls then make none of them.
func (e *Engine) CreateDeclaredSets(ctx context.Context) error {
	there, err := e.data.Backend.Sets(ctx)
	if err != nil {
		return err
	}
	for _, set := range e.declared {
		if slices.Contains(there, set) {
			continue // it is migrated at its first use
		}
		_, _, release, err := e.data.Backend.Use(ctx, set)
		if err != nil {
			return err
		}
		release()
	}
	return nil
}

// writtenSet is where the tape keeps the set that a run writes to, so that a later
// attempt takes its lock from the start, and no other's.
const writtenSet = "entities.writes"

var errNoWrites = errors.New("entities: this run has not written yet")

// SpansSets implements store.Spanning.
func (e *Engine) SpansSets() bool { return e.data.Backend.SpansSets() }

// Begin implements store.Store.
func (e *Engine) Begin(ctx context.Context, a store.Attempt, set string) (store.Tx, error) {
	t := e.newTx(a, set)
	write := a.WriteFirst()
	if write && a.Number() > 1 {
		known, err := a.Tape().Value("", writtenSet, func() (any, error) { return nil, errNoWrites })
		write = err == nil && known == set
	}
	d, client, release, err := e.draft(ctx, set)
	if err == nil && d == nil {
		d, client, release, err = e.data.Backend.Use(ctx, set)
	}
	if err != nil {
		return nil, database.Fault(e.data.Backend, set, err)
	}
	return t, t.Begin(ctx, d, client, release, write)
}

// newTx returns a transaction that has not begun.
func (e *Engine) newTx(a store.Attempt, set string) *tx {
	t := &tx{engine: e}
	inner := transaction.New(e.data, a, set, t)
	t.Mutations = mutation.Of(account.New(inner, e.tables, e.logsChanges()))
	return t
}

// draft returns a set that does not exist, nil for one that does. It comes into being
// with the first commit that wrote to it, so that neither reading nor a dry run makes any.
// Declared sets exist from the app's start.
func (e *Engine) draft(ctx context.Context, set string) (database.Database, any, func(), error) {
	drafter, ok := e.data.Backend.(database.Drafter)
	if !ok || slices.Contains(e.declared, set) {
		return nil, nil, nil, nil
	}
	d, client, release, err := drafter.Draft(ctx, set)
	if d == nil {
		return nil, nil, nil, err
	}
	return d, client, release, err
}

// The database may still be at a commit whose answer was lost: how often its receipt
// is looked for, and how long in between.
const (
	looks     = 10
	lookAgain = 100 * time.Millisecond
)

// committed reports whether the receipt of a commit is in the data.
func (e *Engine) committed(ctx context.Context, set string, r store.Receipt) bool {
	d, _, release, err := e.data.Backend.Use(ctx, set)
	if err != nil {
		return false
	}
	defer release()
	for range looks {
		found, err := ledger.Receipts(ctx, e.data.Backend.Dialect(), d.DB(), r.Run)
		if err == nil && slices.ContainsFunc(found, func(f store.Receipt) bool { return f.Sequence == r.Sequence && f.Attempt == r.Attempt }) {
			return true
		}
		time.Sleep(lookAgain)
	}
	return false
}
