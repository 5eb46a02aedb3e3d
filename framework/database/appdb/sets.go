// Package appdb serves sets through drivers that the app opens itself: its own
// files, its own pools, its own wrappers, which see every statement.
//
// What belongs here: transactions over ent's dialect.Driver. Not here: a
// change to the app's tables; they are the app's, and so is their migration.
package appdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// Open returns the driver of a set. It is called once for each set, at its first
// use; the driver is closed when the app stops. A set that the app does not have
// ends in an error, best in a fault of the code unknown_set.
type Open func(ctx context.Context, set string) (dialect.Driver, error)

// Sets are what an app opened. It is safe for concurrent use.
type Sets struct {
	open    Open
	attach  func(d database.Database) (any, error)
	ledger  func(ctx context.Context, drv dialect.Driver) error
	foreign bool   // the databases belong to another program
	locked  string // the table by which writers lock a set, "" where they do not
	dialect sqltext.Dialect
	opened  *database.Opened

	mu    sync.Mutex
	names []string
}

var (
	_ database.Backend = (*Sets)(nil)
	_ database.Finder  = (*Sets)(nil)
)

// New opens the first set, which tells the dialect of all. ledger makes the tables
// that are the system's own; it runs for every set that is opened.
func New(ctx context.Context, open Open, first string, schema database.Schema, ledger func(ctx context.Context, drv dialect.Driver) error) (*Sets, error) {
	return newSets(ctx, &Sets{open: open, attach: schema.Attach, ledger: ledger, locked: "koan_receipts"}, first)
}

// NewForeign opens the first set of databases that belong to another program: no table is made in
// them. table is one of theirs, by which writers of SQLite take its lock. On PostgreSQL they take none: what
// other programs write keeps to no lock of ours, and the database finds out who was in whose way.
func NewForeign(ctx context.Context, open Open, first string, schema database.Schema, table string) (*Sets, error) {
	nothing := func(context.Context, dialect.Driver) error { return nil }
	s := &Sets{open: open, attach: schema.Attach, ledger: nothing, foreign: true, locked: table}
	return newSets(ctx, s, first)
}

func newSets(ctx context.Context, s *Sets, first string) (*Sets, error) {
	// Who opened a driver may use it as well, so none is closed for being idle.
	s.opened = database.NewOpened(math.MaxInt, s.openSet, func(d database.Database) error { return d.(*Database).drv.Close() })
	_, _, release, err := s.opened.Use(ctx, first)
	if err != nil {
		return nil, err
	}
	release()
	return s, nil
}

// openSet is called by Opened, by one goroutine for each set.
func (s *Sets) openSet(ctx context.Context, set string) (database.Database, any, error) {
	var drv dialect.Driver
	err := fault.Guard(func() (err error) {
		drv, err = s.open(ctx, set)
		return err
	})
	if err != nil {
		return nil, nil, openFault(set, err)
	}
	if drv == nil {
		return nil, nil, fault.Newf(fault.ServiceUnavailable, "the app's Open returned no driver for the set %q", set)
	}
	attached, d, err := s.take(ctx, set, drv)
	if err != nil {
		return nil, nil, errors.Join(err, drv.Close())
	}
	return d, attached, nil
}

func (s *Sets) take(ctx context.Context, set string, drv dialect.Driver) (any, *Database, error) {
	if err := reach(ctx, drv); err != nil {
		return nil, nil, fault.Newf(fault.ServiceUnavailable, "the database of the set %q cannot be reached: %v", set, err).
			WithHint("Check that it runs, and the address and the password by which Open of the app (framework.App) connects to it.").Because(err)
	}
	spoken, err := dialectOf(ctx, drv)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	if s.dialect == nil {
		s.dialect = spoken
	}
	other := s.dialect.Name() != spoken.Name()
	s.mu.Unlock()
	if other {
		return nil, nil, fault.Newf(fault.ServiceUnavailable, "the set %q is opened as %s, but others as %s", set, spoken.Name(), s.dialect.Name()).
			WithHint("All sets of an app must be in the same kind of database.")
	}
	d := &Database{set: set, drv: drv, name: spoken.Name(), lock: s.lock(spoken), turn: make(chan struct{}, 1)}
	if err := s.ledger(ctx, d.Driver()); err != nil {
		return nil, nil, fault.Newf(fault.ServiceUnavailable, "the tables koan_... cannot be created in the set %q: %v", set, err).
			WithHint("Let the app's user create tables, or create them by hand; docs/howto/existing-project.md has the statements.").Because(err)
	}
	attached, err := s.attach(d)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	s.names = append(s.names, set)
	s.mu.Unlock()
	return attached, d, nil
}

// lock is the table by which writers lock a set, as statements name it.
func (s *Sets) lock(in sqltext.Dialect) string {
	if s.locked == "" || s.foreign && in.Name() != dialect.SQLite {
		return ""
	}
	b := sqltext.Builder{Dialect: in}
	return string(b.Name(s.locked).Text())
}

// reach reports why a database does not answer: most drivers connect at their first statement.
func reach(ctx context.Context, drv dialect.Driver) error {
	var rows entsql.Rows
	if err := drv.Query(ctx, "SELECT 1", []any{}, &rows); err != nil {
		return err
	}
	return errors.Join(rows.Err(), rows.Close())
}

// openFault says that the app's Open failed. Its own words are the app's.
func openFault(set string, err error) error {
	var known *fault.Fault
	if errors.As(err, &known) {
		return err
	}
	return fault.Newf(fault.ServiceUnavailable, "the set %q cannot be opened: %v", set, err).
		WithHint("Check what Open of the app (framework.App) does.").Because(err)
}

// dialectOf returns the dialect of a driver that can be reached. SQLite has the functions that statements call where
// Koan opened it: what `koan serve` serves.
func dialectOf(ctx context.Context, drv dialect.Driver) (sqltext.Dialect, error) {
	switch name := drv.Dialect(); name {
	case dialect.SQLite:
		var rows entsql.Rows
		if err := drv.Query(ctx, sqltext.CallFunctions, []any{}, &rows); err != nil {
			return sqltext.SQLite{}, ctx.Err()
		}
		return sqltext.SQLite{Folds: true}, rows.Close()
	case dialect.Postgres:
		return sqltext.PostgreSQL{}, nil
	default:
		return nil, fault.Newf(fault.CapabilityUnsupported, "the app's Open returned a driver for %q", name).
			WithHint("Entities are served from SQLite and PostgreSQL.")
	}
}

// Dialect implements database.Backend.
func (s *Sets) Dialect() sqltext.Dialect { return s.dialect }

// Place implements database.Backend.
func (s *Sets) Place() string {
	if s.foreign {
		return fmt.Sprintf("a database of another program (%s)", s.dialect.Name())
	}
	return fmt.Sprintf("the app's own databases (%s)", s.dialect.Name())
}

// Sets implements database.Backend: those that were used. Which others there are is
// known to the app alone.
func (s *Sets) Sets(context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.names)
	slices.Sort(out)
	return out, nil
}

// Use implements database.Backend.
func (s *Sets) Use(ctx context.Context, set string) (d database.Database, attached any, release func(), err error) {
	return s.opened.Use(ctx, set)
}

// Has implements database.Finder.
func (s *Sets) Has(ctx context.Context, set string) (bool, error) {
	_, _, release, err := s.opened.Use(ctx, set)
	if err != nil {
		if fault.CodeOf(err) == fault.UnknownSet {
			err = nil
		}
		return false, err
	}
	release()
	return true, nil
}

// errMigratedByApp is what stands where a set's tables would be changed.
func errMigratedByApp() error {
	return fault.New(fault.CapabilityUnsupported, "the app opens its databases itself, so it also migrates their tables").
		WithHint("Use the app's own migrations.")
}

// Look implements database.Backend. The set is opened, and stays open as every other.
func (s *Sets) Look(ctx context.Context, set string, fn func(context.Context, dialect.Driver) error) error {
	d, _, release, err := s.opened.Use(ctx, set)
	if err != nil {
		return err
	}
	defer release()
	return fn(ctx, d.Driver())
}

// Change implements database.Backend.
func (s *Sets) Change(context.Context, string, func(context.Context, dialect.Driver) error) error {
	return errMigratedByApp()
}

// Scratch implements database.Backend.
func (s *Sets) Scratch(context.Context, func(context.Context, dialect.Driver) error) error {
	return errMigratedByApp()
}

// SpansSets implements database.Backend: each set has a driver of its own.
func (s *Sets) SpansSets() bool { return false }

// Close implements database.Backend.
func (s *Sets) Close() error { return s.opened.Close() }
