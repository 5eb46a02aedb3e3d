// Package postgres keeps sets in one PostgreSQL database: one schema per set, one
// pool of connections for all of them, and one transaction per attempt of a run,
// over all sets that it uses.
//
// What belongs here: connections, schemas, locks and transactions. Not here:
// entities, ent's builders, or what the tables mean.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/position"
)

// maxOpen is how many sets are known at once. None of them has a connection of
// its own.
const maxOpen = 1000

// keepers is how many connections there are for what is done to sets.
const keepers = 2

// How long a connection lives, and how long without work.
const (
	oldest = 30 * time.Minute
	idlest = 5 * time.Minute
)

var (
	_ database.Backend = (*Server)(nil)
	_ database.Reacher = (*Server)(nil)
	_ position.Keeper  = (*Server)(nil)
)

// Server has the sets of one app in one database. It is safe for concurrent use,
// and other processes may use the same database.
type Server struct {
	setList
	birth   birth
	pool    *sql.DB
	version string
	opened  *database.Opened
	// replicas answer what only reads; nil for none.
	replicas *Replicas
	// patience is how long a statement waits for a lock.
	patience time.Duration

	attempts attempts
}

// Open connects to the database that a URL names and makes the table of sets where
// it is missing. Replicas are the URLs of servers that follow it. Its error is for people: it names the server and
// what to do.
func Open(url, app string, schema database.Schema, replicas ...string) (*Server, error) {
	a, err := parse(url, app)
	if err != nil {
		return nil, err
	}
	pool := a.open(a.conns)
	following, err := openReplicas(a, pool, app, replicas)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	s := &Server{
		setList: setList{address: a, keeper: a.open(keepers), schema: schema}, birth: birth{schema}, pool: pool,
		replicas: following, patience: patience,
	}
	s.opened = database.NewOpened(maxOpen, s.open, func(database.Database) error { return nil })
	if err := s.begin(context.Background()); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// open makes a pool.
func (a *address) open(conns int) *sql.DB {
	pool := openPool(*a.config)
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	// A server's process remembers the tables of every schema it has served, so none
	// gets old.
	pool.SetConnMaxLifetime(oldest)
	pool.SetConnMaxIdleTime(idlest)
	return pool
}

// begin looks at the server, and makes the table of sets.
func (s *Server) begin(ctx context.Context) error {
	var encoding string
	var sets, timelines sql.NullString
	err := s.keeper.QueryRowContext(ctx, "SELECT current_setting('server_version'), current_setting('server_encoding'), to_regclass($1)::text, to_regclass($2)::text", s.table(), timelineTable(s.address)).
		Scan(&s.version, &encoding, &sets, &timelines)
	if err != nil {
		return unreachableError(s.config, err)
	}
	if encoding != "UTF8" {
		return fault.Newf(fault.ServiceUnavailable, "the database %s has the encoding %s", s.config.Database, encoding).
			WithHint("Use a database that was created with ENCODING 'UTF8'.")
	}
	make := s.replicas.makeTable()
	if !sets.Valid {
		make = fmt.Sprintf(`CREATE SCHEMA IF NOT EXISTS %s;
CREATE TABLE IF NOT EXISTS %s (name text PRIMARY KEY, version integer NOT NULL, created_at timestamptz NOT NULL DEFAULT now(), migrated_at timestamptz NOT NULL DEFAULT now());`, quoted(s.prefix), s.table()) + make
	}
	if !sets.Valid || s.replicas != nil && !timelines.Valid {
		err = s.withSetLock(ctx, s.prefix, func(t *Tx) error {
			_, err := t.ExecContext(ctx, make)
			return err
		})
	}
	if err == nil {
		err = s.replicas.begin(ctx)
	}
	if err != nil {
		return s.openFault(s.prefix, err)
	}
	return nil
}

// Dialect implements database.Backend.
func (s *Server) Dialect() sqltext.Dialect { return sqltext.PostgreSQL{Folds: true} }

// Place implements database.Backend.
func (s *Server) Place() string {
	return fmt.Sprintf("PostgreSQL %s at %s, schemas %s.*", s.version, serverAddress(s.config), s.prefix)
}

// SpansSets implements database.Backend.
func (s *Server) SpansSets() bool { return true }

// Positions implements position.Keeper.
func (s *Server) Positions() position.Source {
	if s.replicas == nil {
		return nil
	}
	return s.replicas
}

// Reach implements database.Reacher, by a connection of its own: those of the pools may
// all be at work. What it says is for everybody: addresses are in the cause.
func (s *Server) Reach(ctx context.Context) error {
	c, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return unreachableFault(s.config, err)
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }()
	var readOnly, there bool
	err = c.QueryRow(ctx, "SELECT current_setting('transaction_read_only')::bool, EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = $1)", s.prefix).Scan(&readOnly, &there)
	switch {
	case err != nil:
		return fault.New(fault.ServiceUnavailable, "the database does not answer").Because(err)
	case readOnly:
		return fault.New(fault.ServiceUnavailable, "the database is read-only").Because(errors.New(serverAddress(s.config) + " is read-only: it may be a standby"))
	case !there:
		return fault.New(fault.ServiceUnavailable, "the ledger is missing").Because(errors.New("there is no schema " + s.prefix + " at " + serverAddress(s.config)))
	}
	return nil
}

// IsOpen implements database.Opener.
func (s *Server) IsOpen(set string) bool { return s.opened.Has(set) }

// Use implements database.Backend.
func (s *Server) Use(ctx context.Context, set string) (d database.Database, attached any, release func(), err error) {
	return s.opened.Use(ctx, set)
}

// Close implements database.Backend.
func (s *Server) Close() error {
	return errors.Join(s.opened.Close(), s.replicas.close(), s.pool.Close(), s.keeper.Close())
}

// pathKey is where a connection keeps whose schema its session looks into.
const pathKey = "koan.schema"

// session returns a connection whose session looks into the set's schema. It costs a
// round trip only where the connection served another set before.
func (d *Database) session(ctx context.Context) (*sql.Conn, error) {
	conn, err := d.server.replicas.connect(ctx, d.server.pool, nil)
	if err != nil {
		return nil, err
	}
	if err := lookInto(ctx, conn, d); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// lookInto has a connection's session look into a set's schema.
func lookInto(ctx context.Context, conn *sql.Conn, d *Database) error {
	var data map[string]any
	if err := conn.Raw(func(raw any) error { data = native(raw).PgConn().CustomData(); return nil }); err != nil {
		return err
	}
	if data[pathKey] == d.schema {
		return nil
	}
	delete(data, pathKey)
	if _, err := conn.ExecContext(ctx, "SET search_path TO "+quoted(d.schema)); err != nil {
		return err
	}
	data[pathKey] = d.schema
	return nil
}

func native(raw any) *pgx.Conn { return raw.(*stdlib.Conn).Conn() }
