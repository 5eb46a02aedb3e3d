package postgres

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"

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

// rowQuerier is what a version is read from.
type rowQuerier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// isCurrent reports whether a set exists with the schema's version.
func (s *Server) isCurrent(ctx context.Context, q rowQuerier, d *Database) (yes bool, err error) {
	rows, err := q.QueryContext(ctx, "SELECT version FROM "+s.table()+" WHERE name = $1 AND EXISTS (SELECT FROM pg_namespace WHERE nspname = $2)", d.set, d.schema)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var version int32
		if err := rows.Scan(&version); err != nil {
			return false, err
		}
		yes = version == s.schema.Version
	}
	return yes, rows.Err()
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
		err = s.create(ctx, made)
	}
	if err != nil {
		return fmt.Errorf("prepare the set %q: %w", d.set, err)
	}
	return s.mark(ctx, made)
}

// mark notes that a set has the schema's version.
func (s *Server) mark(ctx context.Context, w within) error {
	_, err := w.t.ExecContext(ctx, "INSERT INTO "+s.table()+" AS s (name, version) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET version = $2, migrated_at = now()", w.set, s.schema.Version)
	return err
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

// exists reports whether a set has a schema, whatever its version. One that had a schema, which is
// gone, is a fault: a new one would hide that its data is gone.
func (s *Server) exists(ctx context.Context, q rowQuerier, d *Database) (there bool, err error) {
	rows, err := q.QueryContext(ctx, "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $2), EXISTS (SELECT FROM "+s.table()+" WHERE name = $1)", d.set, d.schema)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	known := false
	for rows.Next() {
		if err := rows.Scan(&there, &known); err != nil {
			return false, err
		}
	}
	if err := rows.Err(); err != nil || there || !known {
		return there, err
	}
	return false, s.lost(d)
}

// lost is the fault of a set whose schema is gone.
func (s *Server) lost(d *Database) *fault.Fault {
	return fault.Newf(fault.ServiceUnavailable, "the schema of %s, %s, is missing", database.Named(d.set), d.schema).WithRetry(fault.Never).
		WithHint("Stop the app and restore the schema from a backup. To give up the set's data instead, run DELETE FROM %s WHERE name = '%s', and a new schema is created.", s.table(), d.set).
		Because(fmt.Errorf("%s lists it, but it is gone from %s", s.table(), serverAddress(s.config)))
}

// Lost implements database.LossReporter.
func (s *Server) Lost(ctx context.Context) (lost []*fault.Fault, err error) {
	names, err := s.listed(ctx, "NOT EXISTS")
	for _, name := range names {
		lost = append(lost, s.lost(s.database(name)))
	}
	return lost, err
}

// scripts are what makes the tables of a schema's version in an empty set; they
// are found out once in a process, since that takes far longer than running them.
var scripts sync.Map // int32 -> string

// create makes a set that is not there, as it begins.
func (s *Server) create(ctx context.Context, w within) error {
	if err := s.createEmpty(ctx, w); err != nil || s.schema.Fill == nil {
		return err
	}
	fill := func() error {
		if err := s.schema.Fill(ctx, w.set, w); err != nil {
			return fmt.Errorf("fill the set %q: %w", w.set, err)
		}
		return nil
	}
	if s.schema.Beginning == nil {
		return fill()
	}
	var filled []byte
	begins, err := s.schema.Beginning(ctx, w.set, func(keep bool) (_ []byte, err error) {
		if err := fill(); err != nil || !keep {
			return nil, err
		}
		filled, err = w.take(ctx)
		return filled, err
	})
	switch {
	case err != nil || bytes.Equal(begins, filled):
		return err
	case filled != nil: // somebody else was faster, whose rows come instead
		if _, err := w.t.ExecContext(ctx, "DROP SCHEMA "+quoted(w.schema)+" CASCADE"); err != nil {
			return err
		}
		if err := s.createEmpty(ctx, w); err != nil {
			return err
		}
	}
	return w.restore(ctx, begins)
}

// createEmpty makes a schema and its tables.
func (s *Server) createEmpty(ctx context.Context, w within) error {
	if _, err := w.t.ExecContext(ctx, "CREATE SCHEMA "+quoted(w.schema)); err != nil {
		return err
	}
	return s.tables(ctx, w)
}

// tables makes the tables of an empty set.
func (s *Server) tables(ctx context.Context, w within) error {
	if script, ok := scripts.Load(s.schema.Version); ok {
		_, err := w.t.ExecContext(ctx, script.(string))
		return err
	}
	heard := &recorder{}
	if err := s.schema.Create(ctx, recording{w.Driver(), heard}); err != nil {
		return err
	}
	if script, ok := heard.script(w.schema); ok {
		scripts.Store(s.schema.Version, script)
	}
	return nil
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

// recorder hears what a migration executes.
type recorder struct {
	statements []string
	arguments  bool // some statement had arguments, and cannot be repeated as text
}

// script returns the statements as one text, if they can be run in another schema
// than the one they were heard in.
func (r *recorder) script(schema string) (string, bool) {
	text := strings.Join(r.statements, ";\n")
	return text, !r.arguments && text != "" && !strings.Contains(text, schema)
}

func (r *recorder) record(query string, args any) {
	list, _ := args.([]any)
	r.arguments = r.arguments || len(list) > 0
	r.statements = append(r.statements, query)
}

// recording is a driver that is listened to.
type recording struct {
	dialect.Driver
	*recorder
}

func (r recording) Exec(ctx context.Context, query string, args, v any) error {
	r.record(query, args)
	return r.Driver.Exec(ctx, query, args, v)
}

func (r recording) Tx(ctx context.Context) (dialect.Tx, error) {
	t, err := r.Driver.Tx(ctx)
	if err != nil {
		return nil, err
	}
	return recordingTx{t, r.recorder}, nil
}

type recordingTx struct {
	dialect.Tx
	*recorder
}

func (r recordingTx) Exec(ctx context.Context, query string, args, v any) error {
	r.record(query, args)
	return r.Tx.Exec(ctx, query, args, v)
}
