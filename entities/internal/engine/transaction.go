package engine

import (
	"context"
	"errors"
	"fmt"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/write"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// Data is what the transactions of one app have in common.
type Data struct {
	Model   *model.Model
	Backend database.Backend
	Reader  *read.Engine
	Writer  *write.Writer
}

// transaction is one set's transaction in one attempt.
type transaction struct {
	*Data
	memory
	set     string
	sql     database.Tx
	client  shim.Client
	draft   database.Draft // nil for a set that exists
	ent     shim.Tx        // nil until the first write, or until rules are asked
	driver  *database.TxDriver
	hosts   hosts
	release func()
}

// hosts is how code of the app that works in a transaction reaches what made it.
type hosts interface {
	// guard admits a statement of ent's clients that are bound to the transaction; raw is one of the app's own.
	guard(ctx context.Context, query string, raw bool) error
	// enter returns the context in which code of the app finds the transaction. own says that it works by
	// itself, and not in a hook or a rule of what is carried out.
	enter(ctx context.Context, own bool) context.Context
}

// begin begins the transaction in an open set, which is let go where that fails.
func (t *transaction) begin(ctx context.Context, d database.Database, client any, release func(), write bool) error {
	inner, err := d.Begin(ctx, t.attempt, write)
	if err != nil {
		release()
		return database.Fault(t.Backend, t.set, err)
	}
	if t.attempt.Observed() {
		inner = observe(inner, t.attempt)
	}
	t.sql, t.client, t.release = inner, client.(shim.Client), release
	t.draft, _ = d.(database.Draft)
	return nil
}

// brief is the context for a statement about one row by its key. In a file it takes less time
// than watching for a cancel would; a server may never answer.
func (t *transaction) brief(ctx context.Context) context.Context {
	if t.Backend.Dialect().Name() == dialect.SQLite {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// bindClient binds ent's client to the transaction.
func (t *transaction) bindClient(ctx context.Context) error {
	if t.ent != nil {
		return nil
	}
	// What ent keeps of this context outlives the call that came first.
	ctx = context.WithoutCancel(ctx)
	t.driver = t.sql.Driver()
	t.driver.Guard = t.hosts.guard
	var err error
	t.ent, err = t.client.Begin(ctx, t.driver)
	return err
}

// context is the one that code of the app runs in: ent's own functions, the set's base client and
// the engine's hook all find the transaction in it.
func (t *transaction) context(ctx context.Context, own bool) context.Context {
	return t.hosts.enter(shim.WithClient(t.sql.With(t.ent.Context(ctx)), t.client, nil), own)
}

// once skips the transaction if the run is one call with one statement, unless a rule
// of the app has made statements before it.
func (t *transaction) once(one bool) {
	if one && t.attempt.Single() {
		t.sql.Single()
	}
}

// verdict is what a call's error means: a new attempt where the data has moved on,
// whatever the app's code made of that, and a fault where the database failed.
func (t *transaction) verdict(err error) error {
	if err != nil && !errors.Is(err, store.ErrStale) && t.sql.Stale(err) {
		return fmt.Errorf("%w: %w", store.ErrStale, err)
	}
	return database.Fault(t.Backend, t.set, err)
}

// commitFault says what a failed commit means. Some constraints are checked only then.
func (t *transaction) commitFault(err error) error {
	var known *fault.Fault
	if err == nil || errors.As(err, &known) || t.sql.Stale(err) {
		return err
	}
	if v := t.Backend.Violation(err); v != nil {
		what := v.Message
		if what == "" {
			what = "a constraint of the database that is checked at the commit refused it" + inParentheses(v.Name)
		}
		return fault.New(fault.InvalidPayload, what).WithHint("Nothing was kept. Check what the run would leave behind: references to rows it deleted, or rows that require others.").Because(err)
	}
	return t.verdict(err)
}

// receiptFault is the fault for a receipt that cannot be written.
func (t *transaction) receiptFault(err error) error {
	if v := t.Backend.Violation(err); v != nil && v.Rule == database.Unique {
		return fmt.Errorf("%w: %w", store.ErrCommitted, err)
	}
	return t.verdict(err)
}

// Rollback ends the transaction and keeps nothing of it.
func (t *transaction) Rollback(ctx context.Context) error {
	if t.ent == nil {
		return t.finish(t.sql.Rollback(ctx))
	}
	err := t.driver.End(ctx, t.ent.Rollback)
	// Whatever the app's hooks did, the transaction is over.
	return t.finish(errors.Join(err, t.sql.Rollback(ctx)))
}

// finish releases the set once the transaction is over.
func (t *transaction) finish(err error) error {
	if err == nil || t.sql.Ended() {
		t.release()
	}
	return err
}

// newStatement begins the text of a statement in the database's dialect.
func (t *transaction) newStatement() *sqltext.Builder {
	return &sqltext.Builder{Dialect: t.Backend.Dialect()}
}

// inParentheses puts the name of a rule behind a message, if it has one.
func inParentheses(rule string) string {
	if rule == "" {
		return ""
	}
	return " (" + rule + ")"
}
