package engine

import (
	"context"
	"database/sql"
	"regexp"
	"strings"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/entities/internal/mutation"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// clientDriver is the driver of a set's base client. A statement in the context of a run goes to the
// run's transaction, another one to that of the mutation that it is a part of, or to
// the set.
type clientDriver struct {
	dialect.Driver
	place *place
}

// rawQuerier runs statements of the app, for ent's feature sql/execquery.
type rawQuerier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// route returns where a statement goes.
func (d *clientDriver) route(ctx context.Context, write bool) (context.Context, dialect.ExecQuerier, *session, error) {
	ctx, s, err := d.place.enter(ctx, write)
	if err != nil || s != nil {
		return ctx, d.Driver, s, err
	}
	if u := d.place.unit(ctx); u != nil {
		return ctx, u, nil, nil
	}
	return ctx, d.Driver, nil, nil
}

// Exec implements dialect.ExecQuerier.
func (d *clientDriver) Exec(ctx context.Context, query string, args, v any) error {
	ctx, to, s, err := d.route(ctx, true)
	if err == nil && s != nil {
		err = s.t.BeforeUpsert(ctx, query)
	}
	if err != nil {
		return err
	}
	return s.failure(ctx, to.Exec(ctx, query, args, v))
}

// Query implements dialect.ExecQuerier.
func (d *clientDriver) Query(ctx context.Context, query string, args, v any) error {
	ctx, to, s, err := d.route(ctx, false)
	if err == nil && s != nil {
		err = s.t.BeforeUpsert(ctx, query)
	}
	if err != nil {
		return err
	}
	return s.failure(ctx, to.Query(ctx, query, args, v))
}

// ExecContext implements rawQuerier.
func (d *clientDriver) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, to, s, err := d.routeRaw(ctx, query)
	if err != nil {
		return nil, err
	}
	r, err := to.ExecContext(ctx, query, args...)
	return r, s.failure(ctx, err)
}

// QueryContext implements rawQuerier.
func (d *clientDriver) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	ctx, to, s, err := d.routeRaw(ctx, query)
	if err != nil {
		return nil, err
	}
	rows, err := to.QueryContext(ctx, query, args...)
	return rows, s.failure(ctx, err)
}

func (d *clientDriver) routeRaw(ctx context.Context, query string) (context.Context, rawQuerier, *session, error) {
	ctx, to, s, err := d.route(ctx, writes(query))
	if err != nil {
		return ctx, nil, nil, err
	}
	if s != nil {
		return ctx, s.t.Driver, s, nil
	}
	raw, ok := to.(rawQuerier)
	if !ok {
		return ctx, nil, nil, fault.New(fault.CapabilityUnsupported, "the driver of this set runs no statements of the app")
	}
	return ctx, raw, nil, nil
}

// failure is what an error of a statement means to code that works by itself.
func (s *session) failure(ctx context.Context, err error) error {
	switch {
	case err == nil, s == nil:
		return err
	case s.own && s.t.SQL.Stale(err):
		return run.Restart(ctx, s.t.Verdict(err))
	}
	if large := database.Fault(s.t.Backend, s.t.Set, err); database.IsStatementTooLarge(large) {
		return run.NoteFault(ctx, large)
	}
	return err
}

// Tx begins a transaction of the app: in a run, and in a mutation, a savepoint.
func (d *clientDriver) Tx(ctx context.Context) (dialect.Tx, error) {
	ctx, to, s, err := d.route(ctx, true)
	if err != nil {
		return nil, err
	}
	if s != nil {
		end, err := s.t.Savepoint(ctx, false)
		if err != nil {
			return nil, s.failure(ctx, err)
		}
		return &savepointTx{TxDriver: s.t.Driver, end: end}, nil
	}
	if u, ok := to.(*unit); ok {
		return u.nested(ctx)
	}
	return d.place.begin(ctx)
}

// BeginTx is Tx, for ent's Client.BeginTx. How transactions are isolated is not for the app to
// choose.
func (d *clientDriver) BeginTx(ctx context.Context, o *entsql.TxOptions) (dialect.Tx, error) {
	if o != nil && (o.Isolation != sql.LevelDefault || o.ReadOnly) {
		return nil, fault.New(fault.CapabilityUnsupported, "the client of a set begins no transactions with options").
			WithHint("Leave the options out; runs are serializable anyway.")
	}
	return d.Tx(ctx)
}

// savepointTx is a transaction of the app in one of a run.
type savepointTx struct {
	*database.TxDriver
	end func(ok bool) error // nil after the end
}

// Commit implements driver.Tx.
func (s *savepointTx) Commit() error { return s.close(true) }

// Rollback implements driver.Tx.
func (s *savepointTx) Rollback() error { return s.close(false) }

func (s *savepointTx) close(ok bool) error {
	if s.end == nil {
		return sql.ErrTxDone
	}
	end := s.end
	s.end = nil
	return end(ok)
}

// guard admits statements of ent's clients that are bound to the run's transaction. A write with
// another context than the run's would be missing from what the run reports, and one in SQL
// can be told as a write to something that has no name only.
func (t *tx) Guard(ctx context.Context, query string, raw bool) error {
	if !writes(query) {
		return nil
	}
	s, _ := ctx.Value(sessionKey{t.engine, t.Set}).(*session)
	switch {
	case s == nil || s.t != t:
		return fault.New(fault.InvalidRequest, "something was written in a run's transaction with a context that is not the run's").
			WithHint("Pass on the context that the action, hook or function of Instance.Tx got.")
	case !raw:
		return t.BeforeUpsert(ctx, query)
	case s.own:
		if _, err := run.Join(ctx, t.engine, t.Set, true); err != nil {
			return err
		}
	case !t.SQL.Writing():
		return mutation.ErrReading
	}
	t.Touched = true
	t.Past.Unnamed++
	return nil
}

var (
	writing = regexp.MustCompile(`\b(INSERT|UPDATE|DELETE|MERGE|REPLACE\s+INTO)\b`)
	// writingLater finds a later statement of several that writes.
	writingLater = regexp.MustCompile(`;\s*(WITH|INSERT|UPDATE|DELETE|MERGE|REPLACE|TRUNCATE|CREATE|ALTER|DROP|CALL|DO)\b`)
)

// writes reports whether a statement may write.
func writes(query string) bool {
	text := strings.ToUpper(strings.TrimLeft(query, " \t\r\n("))
	switch {
	case strings.HasPrefix(text, "SELECT"), strings.HasPrefix(text, "VALUES"):
		return strings.Contains(text, ";") && writingLater.MatchString(text)
	case strings.HasPrefix(text, "EXPLAIN"): // PostgreSQL carries out what it analyses
		return strings.Contains(text, "ANALY") && writing.MatchString(text) || writingLater.MatchString(text)
	case strings.HasPrefix(text, "WITH"):
		return writing.MatchString(text) || writingLater.MatchString(text)
	}
	return true
}
