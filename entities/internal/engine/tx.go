package engine

import (
	"context"
	"errors"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/mutation"
	"github.com/koan-go/koan/entities/internal/refusal"
	"github.com/koan-go/koan/entities/internal/restore"
	"github.com/koan-go/koan/entities/internal/rules"
	"github.com/koan-go/koan/entities/internal/write"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// tx is one set's transaction in one attempt, and what its calls do in it.
type tx struct {
	*mutation.Mutations
	engine *Engine
	caller *rules.View   // of the call that is being served
	undo   *restore.Undo // nil until the first call that restores rows
	depth  int           // mutations of the app's own code that are being made
}

var (
	_ store.Tx      = (*tx)(nil)
	_ store.Imager  = (*tx)(nil)
	_ store.Checker = (*tx)(nil)
)

// rows returns the rows of a kind, for the caller of the call that is being served.
func (t *tx) rows(k *model.Kind) write.Rows { return write.Of(t.Mutations, t.caller, k) }

// faults says what errors of writes mean to the caller of the call that is being served.
func (t *tx) faults() *refusal.Faults { return refusal.For(t.Tx, t.caller) }

// mutate makes a mutation as a part of the run.
func (t *tx) mutate(ctx context.Context, k *model.Kind, m ent.Mutation, next ent.Mutator) (ent.Value, error) {
	defer func() {
		t.caller.Forget()
		t.ReportedTo.Forget()
	}()
	v, err := t.Mutations.Mutate(ctx, k, m, next)
	if err != nil && k.Entity != nil && m.Op().Is(ent.OpUpdate|ent.OpUpdateOne) {
		err = t.faults().OfAppend(k, m, err)
	}
	return v, err
}

// makeSet makes the set for a call that commits by itself: it could not be repeated if
// somebody else made the set at the same time. Nothing was done in its draft.
func (t *tx) makeSet(ctx context.Context) error {
	if err := t.Rollback(ctx); err != nil {
		return err
	}
	d, client, release, err := t.Backend.Use(ctx, t.Set)
	if err != nil {
		return err
	}
	t.noteMade(ctx)
	return t.Begin(ctx, d, client, release, false)
}

// noteMade notes that the caller has made the set.
func (t *tx) noteMade(ctx context.Context) {
	t.engine.Quota.RecordMaker(ctx, t.Set)
	t.engine.Beginnings.Made(ctx, t.Set)
}

// Write implements store.Tx.
func (t *tx) Write(ctx context.Context) error {
	if t.Draft != nil {
		if err := t.engine.Quota.Admit(ctx, t.Set); err != nil {
			return err
		}
		if t.Attempt.CommitsByCall() {
			if err := t.makeSet(ctx); err != nil {
				return err
			}
		}
	}
	if _, err := t.Attempt.Tape().Value("", writtenSet, func() (any, error) { return t.Set, nil }); err != nil {
		return err
	}
	if err := t.SQL.Write(ctx); err != nil {
		return t.Verdict(err)
	}
	return t.Bind(ctx)
}

// State implements store.Tx.
func (t *tx) State() (locked, wrote bool) { return t.SQL.Writing(), t.Touched }

// Commit implements store.Tx.
func (t *tx) Commit(ctx context.Context, r store.Receipt) error {
	if !t.SQL.Writing() || t.Ent == nil {
		return t.Finish(t.Verdict(t.SQL.Commit(ctx)))
	}
	if t.Touched {
		if err := t.writeReceipt(ctx, r); err != nil {
			return t.ReceiptFault(err)
		}
		if t.Draft != nil {
			if err := t.Draft.Publish(ctx); err != nil {
				return err
			}
		}
	}
	err := t.settle(ctx, r, t.commitByEnt(ctx))
	if err == nil && t.Draft != nil && t.Touched {
		t.noteMade(ctx)
	}
	if fault.CodeOf(err) == fault.OutcomeUnknown && t.Touched && t.engine.Commits == nil && t.engine.committed(ctx, t.Set, r) {
		err = t.SQL.Rollback(ctx) // of what is over: it gives back what is left of it
	}
	if err == nil && t.Touched && t.engine.logsChanges() {
		t.engine.Log.Announce(t.Set)
	}
	return t.Finish(t.CommitFault(err))
}

// commitByEnt commits through ent, whose hooks are the app's: the database has the last word on whether
// the transaction is committed.
func (t *tx) commitByEnt(ctx context.Context) error {
	err := t.Driver.End(ctx, t.Ent.Commit)
	switch committed := t.Driver.Committed(); {
	case committed && err != nil:
		t.engine.Log.Logger.ErrorContext(ctx, "a hook of the app failed after the commit; the data stays committed", "set", t.Set, "error", causeOf(err))
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
