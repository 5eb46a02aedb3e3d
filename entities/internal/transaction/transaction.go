// Package transaction is one attempt's transaction of one set: its statements and savepoints, what its
// errors mean, the client of ent that is bound to it, and what it reads of rows as they are.
//
// What belongs here: what is so whoever asks. Not here: who asks and may read or write what
// (package rules), and what has been written so far.
package transaction

import (
	"context"
	"errors"
	"fmt"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/entities/internal/statement"
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
	Writer  *statement.Writer
}

// Tx is one set's transaction in one attempt.
type Tx struct {
	*Data
	Memory
	Set     string
	SQL     database.Tx
	Client  shim.Client
	Draft   database.Draft // nil for a set that exists
	Ent     shim.Tx        // nil until the first write, or until rules are asked
	Driver  *database.TxDriver
	host    Host
	release func()
}

// Host is how code of the app that works in a transaction reaches what made it.
type Host interface {
	// Guard admits a statement of ent's clients that are bound to the transaction; raw is one of the app's own.
	Guard(ctx context.Context, query string, raw bool) error
	// Enter returns the context in which code of the app finds the transaction. own says that it works by
	// itself, and not in a hook or a rule of what is carried out.
	Enter(ctx context.Context, own bool) context.Context
}

// New returns the transaction of an attempt in a set, which has not begun.
func New(d *Data, a store.Attempt, set string, h Host) *Tx {
	return &Tx{Data: d, Memory: Memory{Attempt: a}, Set: set, host: h}
}

// Begin begins the transaction in an open set, which is let go where that fails.
func (t *Tx) Begin(ctx context.Context, d database.Database, client any, release func(), write bool) error {
	inner, err := d.Begin(ctx, t.Attempt, write)
	if err != nil {
		release()
		return database.Fault(t.Backend, t.Set, err)
	}
	if t.Attempt.Observed() {
		inner = observe(inner, t.Attempt)
	}
	t.SQL, t.Client, t.release = inner, client.(shim.Client), release
	t.Draft, _ = d.(database.Draft)
	return nil
}

// RowContext is the context for a statement about one row by its key. In a file it takes less time
// than watching for a cancel would; a server may never answer.
func (t *Tx) RowContext(ctx context.Context) context.Context {
	if t.Backend.Dialect().Name() == dialect.SQLite {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// Bind binds ent's client to the transaction.
func (t *Tx) Bind(ctx context.Context) error {
	if t.Ent != nil {
		return nil
	}
	// What ent keeps of this context outlives the call that came first.
	ctx = context.WithoutCancel(ctx)
	t.Driver = t.SQL.Driver()
	t.Driver.Guard = t.host.Guard
	var err error
	t.Ent, err = t.Client.Begin(ctx, t.Driver)
	return err
}

// Context is the one that code of the app runs in: ent's own functions, the set's base client and
// the engine's hook all find the transaction in it.
func (t *Tx) Context(ctx context.Context, own bool) context.Context {
	return t.host.Enter(shim.WithClient(t.SQL.With(t.Ent.Context(ctx)), t.Client, nil), own)
}

// SkipIfSingle skips the transaction if the run is one call with one statement, unless a rule
// of the app has made statements before it.
func (t *Tx) SkipIfSingle(one bool) {
	if one && t.Attempt.Single() {
		t.SQL.Single()
	}
}

// Verdict is what a call's error means: a new attempt where the data has moved on,
// whatever the app's code made of that, and a fault where the database failed.
func (t *Tx) Verdict(err error) error {
	if err != nil && !errors.Is(err, store.ErrStale) && t.SQL.Stale(err) {
		return fmt.Errorf("%w: %w", store.ErrStale, err)
	}
	return database.Fault(t.Backend, t.Set, err)
}

// CommitFault says what a failed commit means. Some constraints are checked only then.
func (t *Tx) CommitFault(err error) error {
	var known *fault.Fault
	if err == nil || errors.As(err, &known) || t.SQL.Stale(err) {
		return err
	}
	if v := t.Backend.Violation(err); v != nil {
		what := v.Message
		if what == "" {
			what = "a constraint of the database that is checked at the commit refused it" + InParentheses(v.Name)
		}
		return fault.New(fault.InvalidPayload, what).WithHint("Nothing was kept. Check what the run would leave behind: references to rows it deleted, or rows that require others.").Because(err)
	}
	return t.Verdict(err)
}

// ReceiptFault is the fault for a receipt that cannot be written.
func (t *Tx) ReceiptFault(err error) error {
	if v := t.Backend.Violation(err); v != nil && v.Rule == database.Unique {
		return fmt.Errorf("%w: %w", store.ErrCommitted, err)
	}
	return t.Verdict(err)
}

// Rollback ends the transaction and keeps nothing of it.
func (t *Tx) Rollback(ctx context.Context) error {
	if t.Ent == nil {
		return t.Finish(t.SQL.Rollback(ctx))
	}
	err := t.Driver.End(ctx, t.Ent.Rollback)
	// Whatever the app's hooks did, the transaction is over.
	return t.Finish(errors.Join(err, t.SQL.Rollback(ctx)))
}

// Finish releases the set once the transaction is over.
func (t *Tx) Finish(err error) error {
	if err == nil || t.SQL.Ended() {
		t.release()
	}
	return err
}

// Statement begins the text of a statement in the database's dialect.
func (t *Tx) Statement() *sqltext.Builder {
	return &sqltext.Builder{Dialect: t.Backend.Dialect()}
}

// InParentheses puts the name of a rule behind a message, if it has one.
func InParentheses(rule string) string {
	if rule == "" {
		return ""
	}
	return " (" + rule + ")"
}

// HasHooks reports whether code of the app stands around the writes of a kind.
func (t *Tx) HasHooks(k *model.Kind) bool {
	return k.Entity.Hooked || t.Client.Hooked(k.Type) || t.Client.Ruled(k.Type)
}
