package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// open returns a set, creating or migrating it where it has to be.
func (s *Server) open(ctx context.Context, set string) (database.Database, any, error) {
	d := s.database(set)
	current, err := s.isCurrent(ctx, s.keeper, d)
	if err == nil && !current {
		prepare := func() error { return s.withSetLock(ctx, d.schema, func(t *Tx) error { return s.prepare(ctx, t, d) }) }
		if err = prepare(); isMadeMeanwhile(err) { // by a run's first write
			err = prepare()
		}
	}
	if err != nil {
		return nil, nil, s.openFault(set, err)
	}
	var attached any
	if s.schema.Attach != nil {
		if attached, err = s.schema.Attach(d); err != nil {
			return nil, nil, err
		}
	}
	return d, attached, nil
}

func (s *Server) database(set string) *Database {
	return &Database{server: s, set: set, schema: s.schemaOf(set)}
}

// openFault says what stands in the way of opening a set.
func (s *Server) openFault(set string, err error) error {
	var known *fault.Fault
	if errors.As(err, &known) {
		return err
	}
	if known, mine := s.Trouble(set, err); mine {
		return known
	}
	return fault.Newf(fault.ServiceUnavailable, "the set %q cannot be opened", set).
		WithHint("Check the server's log, and that the app's role may create schemas and tables.").
		Because(fmt.Errorf("PostgreSQL at %s: %w", serverAddress(s.config), err))
}

// withSetLock runs fn in a transaction of its own while nobody else, in any process,
// creates or migrates what has this name.
func (s *Server) withSetLock(ctx context.Context, name string, fn func(*Tx) error) error {
	t := s.beginOwn(s.keeper, "ISOLATION LEVEL READ COMMITTED")
	defer func() { _ = t.Rollback(context.WithoutCancel(ctx)) }()
	sum := sha256.Sum256([]byte("koan " + name))
	if _, err := t.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", int64(binary.BigEndian.Uint64(sum[:8]))); err != nil {
		return err
	}
	if err := fn(t); err != nil {
		return err
	}
	return t.Commit(ctx)
}

// prepare creates or migrates a set, under its lock. All of it takes effect at
// once, or nothing does.
func (s *Server) prepare(ctx context.Context, t *Tx, d *Database) error {
	current, err := s.isCurrent(ctx, t, d)
	if err != nil || current {
		return err
	}
	there, err := s.exists(ctx, t, d)
	if err != nil {
		return err
	}
	made := inside(d, t)
	if there {
		err = s.schema.Migrate(ctx, d.set, made.Driver())
	} else {
		err = s.birth.create(ctx, made)
	}
	if err != nil {
		return fmt.Errorf("prepare the set %q: %w", d.set, err)
	}
	return s.mark(ctx, made)
}

// Look implements database.Backend.
func (s *Server) Look(ctx context.Context, set string, fn func(ctx context.Context, drv dialect.Driver) error) error {
	d := s.database(set)
	t := s.beginOwn(s.keeper, "ISOLATION LEVEL REPEATABLE READ READ ONLY")
	defer func() { _ = t.Rollback(context.WithoutCancel(ctx)) }()
	if err := s.mustExist(ctx, t, d); err != nil {
		return err
	}
	return fn(ctx, inside(d, t).Driver())
}

// Change implements database.Backend.
func (s *Server) Change(ctx context.Context, set string, fn func(ctx context.Context, drv dialect.Driver) error) error {
	d := s.database(set)
	err := s.withSetLock(ctx, d.schema, func(t *Tx) error {
		if err := s.mustExist(ctx, t, d); err != nil {
			return err
		}
		w := inside(d, t)
		if err := fn(ctx, w.Driver()); err != nil {
			return err
		}
		return s.mark(ctx, w)
	})
	if err == nil {
		return nil
	}
	if known, mine := s.Trouble(set, err); mine {
		return known
	}
	return err
}

// Scratch implements database.Backend: a schema that no transaction but this one
// ever sees.
func (s *Server) Scratch(ctx context.Context, fn func(ctx context.Context, drv dialect.Driver) error) error {
	t := s.beginOwn(s.keeper, "ISOLATION LEVEL READ COMMITTED")
	defer func() { _ = t.Rollback(context.WithoutCancel(ctx)) }()
	d := s.database(":" + rand.Text()) // no set has this name
	if _, err := t.ExecContext(ctx, "CREATE SCHEMA "+quoted(d.schema)); err != nil {
		return s.openFault(d.set, err)
	}
	return fn(ctx, inside(d, t).Driver())
}

// mustExist ends in unknown_set where a set has no data.
func (s *Server) mustExist(ctx context.Context, t *Tx, d *Database) error {
	if database.ValidSet(d.set) {
		there, err := s.exists(ctx, t, d)
		if err != nil {
			return s.openFault(d.set, err)
		}
		if there {
			return nil
		}
	}
	return fault.Newf(fault.UnknownSet, "there is no set %q at %s", d.set, serverAddress(s.config))
}

// within is a set while it is being made or looked at: all that is done to it is
// part of one transaction.
type within struct {
	*Database
	t *Tx
}

// inside returns a set within a transaction.
func inside(d *Database, t *Tx) within { return within{d, &Tx{d: d, c: t.c}} }

// Driver implements database.Database.
func (w within) Driver() dialect.Driver {
	return database.NewBaseDriver(dialect.Postgres, w, func(ctx context.Context) (dialect.Tx, error) { return database.Nested(ctx, w.t) })
}

// DB implements database.Database.
func (w within) DB() database.Querier { return w.t }
