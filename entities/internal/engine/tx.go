package engine

import (
	"context"
	"errors"
	"fmt"

	"entgo.io/ent"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/changes"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/ledger"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/store"
)

// tx is one set's transaction in one attempt.
type tx struct {
	engine  *Engine
	attempt store.Attempt
	set     string
	sql     database.Tx
	client  shim.Client
	release func()
	draft   database.Draft // nil for a set that exists

	driver       *database.TxDriver
	ent          shim.Tx     // nil until the first write, or until rules are asked
	caller       *callerView // of the call that is being served
	reader       *callerView // of who gets what the run reports; nil before the first call
	log          changes.Log
	past         history                   // for an undo
	irreversible string                    // why an undo could not restore all of it, as of Images
	logged       ledger.Changes            // for the change log
	restored     map[changes.Row]*restored // in an undo
	weighing     weighing
	touched      bool                  // something was written, exposed or not
	chosen       choices               // of the write that the engine makes now
	counter      map[slot]int          // how many mutations a call made, by kind: slots of the tape
	counters     map[*model.Kind]int64 // the largest chosen ids that the database counts on from
	passing      int                   // bytes that are counted for the call that is being served
	ahead        int                   // bytes that are counted for what rows become, where the run records
	depth        int                   // mutations of the app's own code that are being made
}

// slot is a kind of mutation in one call.
type slot struct {
	at  run.Position
	typ string
	op  ent.Op
}

var (
	_ store.Tx     = (*tx)(nil)
	_ store.Imager = (*tx)(nil)
)

// begin begins the transaction in an open set, which is let go where that fails.
func (t *tx) begin(ctx context.Context, d database.Database, client any, release func(), write bool) error {
	inner, err := d.Begin(ctx, t.attempt, write)
	if err != nil {
		release()
		return database.Fault(t.engine.backend, t.set, err)
	}
	if t.attempt.Observed() {
		inner = observe(inner, t.attempt)
	}
	t.sql, t.client, t.release = inner, client.(shim.Client), release
	t.draft, _ = d.(database.Draft)
	return nil
}

// makeSet makes the set for a call that commits by itself: it could not be repeated if
// somebody else made the set at the same time. Nothing was done in its draft.
func (t *tx) makeSet(ctx context.Context) error {
	if err := t.Rollback(ctx); err != nil {
		return err
	}
	d, client, release, err := t.engine.backend.Use(ctx, t.set)
	if err != nil {
		return err
	}
	t.noteMade(ctx)
	return t.begin(ctx, d, client, release, false)
}

// noteMade notes that the caller has made the set.
func (t *tx) noteMade(ctx context.Context) {
	t.engine.Quota.RecordMaker(ctx, t.set)
	t.engine.Beginnings.Made(ctx, t.set)
}

// Write implements store.Tx.
func (t *tx) Write(ctx context.Context) error {
	if t.draft != nil {
		if err := t.engine.Quota.Admit(ctx, t.set); err != nil {
			return err
		}
		if t.attempt.CommitsByCall() {
			if err := t.makeSet(ctx); err != nil {
				return err
			}
		}
	}
	if _, err := t.attempt.Tape().Value("", writtenSet, func() (any, error) { return t.set, nil }); err != nil {
		return err
	}
	if err := t.sql.Write(ctx); err != nil {
		return t.verdict(err)
	}
	return t.bindClient(ctx)
}

// brief is the context for a statement about one row by its key. In a file it takes less time
// than watching for a cancel would; a server may never answer.
func (t *tx) brief(ctx context.Context) context.Context {
	if t.engine.backend.Dialect().Name() == dialect.SQLite {
		return context.WithoutCancel(ctx)
	}
	return ctx
}

// bindClient binds ent's client to the transaction.
func (t *tx) bindClient(ctx context.Context) error {
	if t.ent != nil {
		return nil
	}
	// What ent keeps of this context outlives the call that came first.
	ctx = context.WithoutCancel(ctx)
	t.driver = t.sql.Driver()
	t.driver.Guard = t.guard
	var err error
	t.ent, err = t.client.Begin(ctx, t.driver)
	return err
}

// once skips the transaction if the run is one call with one statement, unless a rule
// of the app has made statements before it.
func (t *tx) once(one bool) {
	if one && t.attempt.Single() {
		t.sql.Single()
	}
}

// Savepoint implements store.Tx. Rolling back forgets the writes since.
func (t *tx) Savepoint(ctx context.Context, read bool) (func(ok bool) error, error) {
	end, err := t.sql.Savepoint(ctx, read)
	if err != nil {
		return nil, t.verdict(err)
	}
	mark, touched, unnamed := t.log.Len(), t.touched, t.past.unnamed
	dropAfter := run.RollBackAfterCommit(ctx)
	return func(ok bool) error {
		if !ok {
			t.undo(mark)
			dropAfter()
			t.touched, t.past.unnamed = touched, unnamed
		}
		return t.verdict(end(ok))
	}, nil
}

// undo takes back the writes since mark.
func (t *tx) undo(mark int) {
	t.releaseWrites(t.log.Len() - mark)
	t.log.Undo(mark)
}

// verdict is what a call's error means: a new attempt where the data has moved on,
// whatever the app's code made of that, and a fault where the database failed.
func (t *tx) verdict(err error) error {
	if err != nil && !errors.Is(err, store.ErrStale) && t.sql.Stale(err) {
		return fmt.Errorf("%w: %w", store.ErrStale, err)
	}
	return database.Fault(t.engine.backend, t.set, err)
}

// State implements store.Tx.
func (t *tx) State() (locked, wrote bool) { return t.sql.Writing(), t.touched }

// Commit implements store.Tx.
func (t *tx) Commit(ctx context.Context, r store.Receipt) error {
	if !t.sql.Writing() || t.ent == nil {
		return t.finish(t.verdict(t.sql.Commit(ctx)))
	}
	if t.touched {
		if err := t.writeReceipt(ctx, r); err != nil {
			return t.receiptFault(err)
		}
		if t.draft != nil {
			if err := t.draft.Publish(ctx); err != nil {
				return err
			}
		}
	}
	err := t.commitByEnt(ctx)
	if err == nil && t.draft != nil && t.touched {
		t.noteMade(ctx)
	}
	if fault.CodeOf(err) == fault.OutcomeUnknown && t.touched && t.engine.committed(ctx, t.set, r) {
		err = t.sql.Rollback(ctx) // of what is over: it gives back what is left of it
	}
	if err == nil && t.touched {
		t.engine.announce(t.set)
	}
	return t.finish(t.commitFault(err))
}

// commitByEnt commits through ent, whose hooks are the app's: the database has the last word on whether
// the transaction is committed.
func (t *tx) commitByEnt(ctx context.Context) error {
	err := t.driver.End(ctx, t.ent.Commit)
	switch committed := t.driver.Committed(); {
	case committed && err != nil:
		t.engine.Log.Logger.ErrorContext(ctx, "a hook of the app failed after the commit; the data stays committed", "set", t.set, "error", causeOf(err))
		return nil
	case !committed && err == nil:
		return fault.New(fault.ExecutionError, "a hook of the app ended the transaction without committing it").
			WithHint("Report it to the app's developer: a hook around Commit calls the next one, or returns an error.")
	}
	return err
}

// causeOf returns what a fault was made of, for logs.
func causeOf(err error) error {
	if cause := errors.Unwrap(err); cause != nil {
		return cause
	}
	return err
}

// commitFault says what a failed commit means. Some constraints are checked only then.
func (t *tx) commitFault(err error) error {
	var known *fault.Fault
	if err == nil || errors.As(err, &known) || t.sql.Stale(err) {
		return err
	}
	if v := t.engine.backend.Violation(err); v != nil {
		what := v.Message
		if what == "" {
			what = "a constraint of the database that is checked at the commit refused it" + inParentheses(v.Name)
		}
		return fault.New(fault.InvalidPayload, what).WithHint("Nothing was kept. Check what the run would leave behind: references to rows it deleted, or rows that require others.").Because(err)
	}
	return t.verdict(err)
}

// receiptFault is the fault for a receipt that cannot be written.
func (t *tx) receiptFault(err error) error {
	if v := t.engine.backend.Violation(err); v != nil && v.Rule == database.Unique {
		return fmt.Errorf("%w: %w", store.ErrCommitted, err)
	}
	return t.verdict(err)
}

// Rollback implements store.Tx.
func (t *tx) Rollback(ctx context.Context) error {
	if t.ent == nil {
		return t.finish(t.sql.Rollback(ctx))
	}
	err := t.driver.End(ctx, t.ent.Rollback)
	// Whatever the app's hooks did, the transaction is over.
	return t.finish(errors.Join(err, t.sql.Rollback(ctx)))
}

// finish releases the set once the transaction is over.
func (t *tx) finish(err error) error {
	if err == nil || t.sql.Ended() {
		t.release()
	}
	return err
}
